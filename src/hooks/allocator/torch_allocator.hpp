// SPDX-License-Identifier: Apache-2.0
// Observes PyTorch's caching allocator: each block that it gives to the program and that comes back, and each request
// that it cannot fulfil, is a record of the thread that asked.
//
// The allocator (libc10_cuda.so) reports these to PyTorch's profiler by two functions of libc10.so, whose names and
// signatures are the same since PyTorch 2.4 or before. libprof replaces the entries of its import table by which it
// calls them, and passes every call on to the function that it would have called. So it does not matter how libprof
// came into the process, no symbol of C++ is exported, and at the end the entries are what they were before.
//
// The allocator calls under its lock of the device: records are in the order of what happened. A call costs one record
// in a window, and else a comparison and a jump. When it has had more memory of the driver, when a request fails, and
// about once a second, the driver is asked on the same thread how much of the GPU is in use at all (gpu_memory.hpp).
// The allocator itself calls the driver there and under the same lock.
//
// The functions do not tell: the size asked for before rounding, the stream, the pool. They are not called where the
// program has chosen cudaMallocAsync as the allocator, nor for memory that is not the allocator's.
#pragma once

namespace prof {

// From here on the allocator is observed, if that is wanted and it is loaded. Called again where it may have been
// loaded since. Calls of one thread at a time; not on a hook: it reads the loader's tables, and may ask the kernel for
// leave to write there.
void follow_torch_allocator(bool wanted) noexcept;
// The entries of the import table lead where they led before. Calls that are under way end as usual.
void leave_torch_allocator() noexcept;

// Whether the allocator is observed, or was before.
bool was_torch_allocator_followed() noexcept;

}  // namespace prof
