// SPDX-License-Identifier: Apache-2.0
// What the driver keeps for the process and for each thread, beside the GPU itself.
#pragma once

#include <cuda.h>

#include "fakes/gpu/simulated_gpu.hpp"

// As in <cudaProfiler.h>, which not every package of headers has.
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

namespace fake {

// What every API function calls first. The first call of the process loads CUDA_INJECTION64_PATH, as the real driver
// does; a child forked after that gets CUDA_ERROR_NOT_INITIALIZED from every call.
CUresult ensure_initialized();

// True in a child that was forked after the driver was initialised.
bool is_forked_child();

int current_device();
CUresult set_current_device(int device);

// The current device's context, created if it must be.
CUcontext current_context();

// The current device's context if the calling thread has used it, else null.
CUcontext thread_context();
// Counts the current device's context, if there is one, as used by the calling thread.
void adopt_context();

// Blocks until all of it has ended (see simulated_gpu) and hands its records on. `end_ns` of FAKE_GPU_NEVER is
// CUDA_ERROR_LAUNCH_TIMEOUT at once.
CUresult wait_for(std::uint64_t end_ns);

void reset_driver();

}  // namespace fake
