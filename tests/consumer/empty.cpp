// The main function is in the library that the program links.
