// SPDX-License-Identifier: Apache-2.0
// The scenario's two kernels. On a GPU they are real (kernels.cu); on the simulated one they are names with a duration
// (kernels_simulated.cpp). Called from the program's main thread or one of its own.
#pragma once

#include <cuda_runtime_api.h>

// For cudaLaunchKernel: conformance_touch(float* data, int n), and conformance_spin(unsigned long long ns), which runs
// that long.
const void* touch_kernel();
const void* spin_kernel();

// What the simulated GPU cannot know from the arguments: how long the next launch of spin_kernel() will take.
void announce_spin(unsigned long long ns);

// conformance_touch<<<4, 64, 0, stream>>>(data, n), as nvcc compiles it.
void launch_with_chevrons(cudaStream_t stream, float* data, int n);
