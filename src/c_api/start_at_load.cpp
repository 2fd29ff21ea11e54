// SPDX-License-Identifier: Apache-2.0
// The object that prof::prof adds to a program, in libprof_autostart.a. Its reference to prof_autostart keeps
// libprof.so in the program under --as-needed. It goes into C programs, too: it uses nothing of C++'s runtime.
#include <prof/prof.h>

// By this name the linker takes the object from the archive. Hidden: a program and its libraries may each have one.
extern "C" [[gnu::visibility("hidden")]] const char prof_autostart_marker = 0;

namespace {

// Runs after the constructors of libprof.so, which this object needs, and before those of the program, which may make
// ranges.
[[gnu::constructor(101)]] void start_at_load() { static_cast<void>(prof_autostart()); }

}  // namespace
