// The variables by which NVTX and CUDA's driver find the tool that they load: ours, unless they are another's.
#pragma once

#include <string>

namespace prof {

// This copy of libprof came second: another, from the file `path`, has the session of this process, and gets what the
// driver and NVTX hand to this one.
void yield_to_first_copy(const char* path);
const char* first_copy() noexcept;  // null if this one has the session
// Null if it cannot be found any more.
void* function_of_first_copy(const char* name) noexcept;

// When the library is loaded, by its constructor: sets those that are not set. What is set stays.
void take_injection_variables(const std::string& own_path);

// NVTX has found us, by whatever way.
void note_nvtx_attached() noexcept;

// "" or one line: what another tool's variable keeps from the recording. `wants_gpu`: it lacks GPU work that it wants.
std::string taken_by_others(bool wants_gpu);

}  // namespace prof
