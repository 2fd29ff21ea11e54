// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's memory is in use, by whomever: the allocator, CUDA's context, libraries, other processes. From
// the driver (cuMemGetInfo).
#pragma once

#include <cstdint>

namespace prof {

struct gpu_memory {
    std::uint32_t device = 0;  // the driver's ordinal number, which is that of the runtime
    std::uint64_t used = 0;    // bytes
    std::uint64_t total = 0;
};

// Looks for the driver's functions among the loaded libraries. Not for hooks: it reads the loader's tables. One thread
// at a time.
void find_gpu_memory() noexcept;

// Of the GPU whose context is current on this thread. False: it cannot be told, as in a forked child. It is a call of
// the driver: some 10 us, and longer if another thread holds the driver's lock. REQUIRES: the thread may call the
// driver, as one that has just had memory of it.
bool read_gpu_memory(gpu_memory& out) noexcept;

}  // namespace prof
