// SPDX-License-Identifier: Apache-2.0
// NVTX in programs that used it before libprof was loaded. An instance of NVTX (each shared object has its own) looks
// for a tool once, at its first call. One that found none calls no tool for the rest of the process, unless the tool
// finds the instance. That is done here: the instance's static data begins with a fixed sequence of sizes, a version
// and functions, so it is searched for in the writable data of all loaded objects.
//
// Setup code for a process into which libprof came late, by dlopen. Any thread, except where a function states
// otherwise.
#pragma once

#include <string>
#include <vector>

namespace prof {

// From libprof's constructor: whether the program was running already, so that NVTX may have been used. False in a
// program that is linked to libprof or preloads it. (True also for an object that is linked at third hand: then there
// is a search, which finds nothing.)
bool is_loaded_late() noexcept;

struct earlier_instance {
    std::string object;        // the file's name without directories; of the program, "the program"
    bool is_attached = false;  // hooks are installed in it
};

// Finds the instances that looked for a tool and found none, and installs the hooks in them. Reads all writable data of
// all objects: some milliseconds for a gigabyte of libraries. Memory that cannot be read is passed over. The caller is
// in no hook.
std::vector<earlier_instance> attach_to_earlier_instances();

}  // namespace prof
