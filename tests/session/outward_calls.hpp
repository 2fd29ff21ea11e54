// SPDX-License-Identifier: Apache-2.0
// Watches which functions of other libraries a loaded library calls, and on which threads. x86-64 only.
#pragma once

#include <string>
#include <vector>

namespace prof::test {

// From now on every function that the loaded library `file` ("libprof.so.0.2.0") imports is called through a check. The
// program must not call the library meanwhile. Returns how many functions these are; 0: the library was not found, or
// this is another processor.
int watch_outward_calls(const char* file);

// A call that is made between these two, on any thread but the library's own (whose names begin with "prof-"), is noted
// with `where`, unless the function is one of a few that only touch memory or read a clock. `where` must live on.
void begin_watch(const char* where);
void end_watch();

// "where: function", in the order of the calls, each once.
std::vector<std::string> noted_calls();

}  // namespace prof::test
