// The variables by which NVTX and CUDA's driver find the tool that they load: ours, unless they are another's.
#pragma once

#include <string>

namespace prof {

// When the library is loaded, by its constructor: sets those that are not set. What is set stays.
void take_injection_variables(const std::string& own_path);

// NVTX has found us, by whatever way.
void nvtx_has_come() noexcept;

// "" or one line: what another tool's variable keeps from the recording. `wants_gpu`: it lacks GPU work that it wants.
std::string taken_by_others(bool wants_gpu);

}  // namespace prof
