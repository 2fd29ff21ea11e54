// SPDX-License-Identifier: Apache-2.0
// A plugin of plugins_victim.cpp, which loads it, has it work, and lets it go. It is built several times, each with
// another PLUGIN: all of its names then differ in that letter only, and stand at the same places.
#include <cuda_runtime_api.h>
#include <prof/range.hpp>

#include "fakes/fake_gpu.h"

namespace {

void kernel() {}

[[gnu::constructor]] void register_kernel() {
    fake_gpu_register_kernel(reinterpret_cast<const void*>(kernel), "kernel_of_" PLUGIN, 2'000);
}

}  // namespace

// Three ranges and a kernel. Their names lie in the plugin's own memory.
extern "C" __attribute__((visibility("default"))) int plugin_work() {
    PROF_RANGE("site of " PLUGIN);
    const prof::scoped_range by_address("text of " PLUGIN);
    nvtxRangePushA("plain of " PLUGIN);
    const cudaError_t result =
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0, nullptr);
    nvtxRangePop();
    return result == cudaSuccess ? 0 : 1;
}
