// SPDX-License-Identifier: Apache-2.0
// The main function is in the library that the program links.
