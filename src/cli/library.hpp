// SPDX-License-Identifier: Apache-2.0
// Finds libprof.so for `prof run`, and tries it before the user's command gets it: the loader kills a program whose
// preloaded library needs a newer libc, and ignores one of another machine type with a line of its own. One thread.
#pragma once

#include <string>

#include "base/outcome.hpp"

namespace prof {

// The path of libprof.so that belongs to this executable, in the build tree or the installed one. It may not exist.
std::string library_beside_executable();

// Likewise the folder of sitecustomize.py, which makes PyTorch's ranges observable in Python programs.
std::string python_folder_beside_executable();

// Fails if the folder has no such file, or a path that PYTHONPATH cannot hold.
outcome try_python_folder(const std::string& folder);

// Loads the library in a child process of its own. Fails if it cannot be used. About 2 ms.
outcome try_library(const std::string& path);

}  // namespace prof
