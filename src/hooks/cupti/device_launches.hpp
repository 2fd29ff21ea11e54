// SPDX-License-Identifier: Apache-2.0
// Whether a module's kernels can launch kernels (dynamic parallelism); CUPTI has no records of such launches. A module
// that can is linked with the device part of the runtime (cudadevrt), whose launch function is among the module's
// symbols. Whether a kernel really calls it, and how often, cannot be found out.
#pragma once

#include <cstddef>

namespace prof {

// `image` is an ELF file in memory. Returns false for anything else, and for a truncated file. Reads the string tables.
bool can_launch_kernels(const char* image, std::size_t bytes) noexcept;

}  // namespace prof
