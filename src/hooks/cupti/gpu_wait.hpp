// SPDX-License-Identifier: Apache-2.0
// Waits for the GPU, like cudaDeviceSynchronize, from a thread that may have no CUDA context of its own.
#pragma once

#include "hooks/cupti/cupti_library.hpp"

namespace prof {

// Returns when the work submitted to the primary context of every device (the CUDA runtime's) and to the calling
// thread's current context is done. Returns at once if `f` is not complete, before cuInit, and for a context that has
// failed. Does not invalidate a stream capture. Any thread, but not in a CUPTI callback. Blocks for as long as the GPU
// takes.
void wait_for_gpu(const driver_functions& f) noexcept;

}  // namespace prof
