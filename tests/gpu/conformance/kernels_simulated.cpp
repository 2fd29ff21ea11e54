// SPDX-License-Identifier: Apache-2.0
#include <driver_types.h>

#include "fakes/fake_gpu.h"
#include "kernels.hpp"

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                                          cudaStream_t stream);

namespace {

constexpr char touch = 0;
constexpr char spin = 0;

[[maybe_unused]] const bool are_registered = [] {
    fake_gpu_register_kernel(&touch, "conformance_touch", 2'000);
    fake_gpu_register_kernel(&spin, "conformance_spin", 0);
    return true;
}();

}  // namespace

const void* touch_kernel() { return &touch; }

const void* spin_kernel() { return &spin; }

void announce_spin(unsigned long long ns) { fake_gpu_next_kernel_duration_ns(ns); }

void launch_with_chevrons(cudaStream_t stream, float* data, int n) {
    void* args[] = {&data, &n};
    __cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(const_cast<char*>(&touch)), dim3(4), dim3(64), args, 0, stream);
}
