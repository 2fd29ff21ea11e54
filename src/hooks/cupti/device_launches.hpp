// Whether a module's kernels can launch kernels (dynamic parallelism), of which CUPTI has no records: such a module is
// linked with the device's part of the runtime (cudadevrt), whose function to launch stands among the module's symbols.
// That a kernel calls it, or how often, cannot be told.
#pragma once

#include <cstddef>

namespace prof {

// `image` is an ELF file in memory; false for anything else, and where it is cut short. Reads its string tables.
bool can_launch_kernels(const char* image, std::size_t bytes) noexcept;

}  // namespace prof
