// libprof.so as `prof run` finds it, and a trial before it is put into somebody's command: the loader kills a program
// whose preloaded library wants a newer libc, and drops one of another machine type with a line of its own.
#pragma once

#include <string>

namespace prof {

// Where libprof.so stands beside this very executable (build tree and installed tree alike).
std::string library_beside_executable();

// The folder of sitecustomize.py, by which Python programs have PyTorch's ranges heard; likewise.
std::string python_folder_beside_executable();

// "" or one line that says why it cannot be used: it is not there, or stands where PYTHONPATH cannot name it.
std::string try_python_folder(const std::string& folder);

// Loads the library in a child process of its own. Returns "" or one line that says why it cannot be used. About 2 ms.
std::string try_library(const std::string& path);

}  // namespace prof
