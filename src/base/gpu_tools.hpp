// SPDX-License-Identifier: Apache-2.0
// NVIDIA's tools that use the GPU's interfaces for profilers and debuggers themselves, so that libprof cannot. Nsight
// Compute ends with an error where CUDA_INJECTION64_PATH is set for the program that it profiles.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace prof {

// What libprof gives the processes under such a tool, besides what the tool gives them.
constexpr const char* beside_variable = "PROF_RUN_BESIDE";

// The tool whose program has this name or path, or is the script that a shell runs; "": none.
std::string_view gpu_tool_of(std::string_view program) noexcept;
std::string_view gpu_tool_of(std::span<const char* const> arguments) noexcept;

// The tool under which this process runs, by its environment; "": none.
std::string_view gpu_tool_around() noexcept;

// Likewise, by the names of the processes above this one. Reads /proc.
std::string_view gpu_tool_above();

// One line: what is not recorded under the tool.
std::string gpu_tool_notice(std::string_view tool);

}  // namespace prof
