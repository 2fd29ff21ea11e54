// Finds libprof.so for `prof run`, and tries it before the user's command gets it: the loader kills a program whose
// preloaded library needs a newer libc, and ignores one of another machine type with a line of its own. One thread.
#pragma once

#include <string>

namespace prof {

// The path of libprof.so that belongs to this executable, in the build tree or the installed one. It may not exist.
std::string library_beside_executable();

// Likewise the folder of sitecustomize.py, which makes PyTorch's ranges observable in Python programs.
std::string python_folder_beside_executable();

// "", or one line: why the folder cannot be used. It has no such file, or a path that PYTHONPATH cannot hold.
std::string try_python_folder(const std::string& folder);

// Loads the library in a child process of its own. Returns "", or one line: why it cannot be used. About 2 ms.
std::string try_library(const std::string& path);

}  // namespace prof
