// SPDX-License-Identifier: Apache-2.0
// The environment variables by which NVTX and CUDA's driver find the tool that they load: libprof, unless a variable
// names another tool.
#pragma once

#include <string>
#include <string_view>

namespace prof {

// This copy of libprof was loaded second: another copy, from the file `path`, has the session of this process. Calls of
// the driver and of NVTX to this copy are passed on to it.
void yield_to_first_copy(const char* path);
const char* first_copy() noexcept;  // null if this one has the session
// A function of the first copy; null if it cannot be found any more.
void* function_of_first_copy(const char* name) noexcept;

// In the process of a tool that uses the GPU's interfaces itself (base/gpu_tools.hpp): the processes that it starts get
// what it sets, and know about it. Once, by the constructor, instead of the next function.
void stand_aside_for(std::string_view tool);

// When the library is loaded, by its constructor: sets the variables that are not set. A variable that is set stays.
void take_injection_variables(const std::string& own_path);

// Likewise NCCL_PROFILER_PLUGIN, by which NCCL finds its profiler plugin at its first communicator: it names libprof
// from here on. A plugin that it named before is called by libprof (hooks/nccl/chained_plugin.hpp); its name stays in
// PROF_NCCL_REPLACED, for child processes as well. With PROF_NCCL=off the variable is the user's.
void take_nccl_variable(const std::string& own_path);
// "" or one line: why NCCL's collectives are not recorded, or that another plugin is called, too.
std::string nccl_notice();

// Whether the last part of the path is libprof.so's.
bool names_libprof(std::string_view path) noexcept;
// Whether one of the variables names libprof. Before take_injection_variables() this is the user's doing, or that of a
// process whose environment was inherited.
bool is_injected_by_environment();

// NVTX has loaded libprof, in any way.
void note_nvtx_attached() noexcept;

// "" or one line: what is not recorded because a variable names another tool. `wants_gpu`: GPU work was to be recorded,
// and is not.
std::string taken_variables_notice(bool wants_gpu);

}  // namespace prof
