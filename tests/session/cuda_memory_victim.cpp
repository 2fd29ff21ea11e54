// SPDX-License-Identifier: Apache-2.0
// Programs that have memory of CUDA themselves, one scene a run, for cuda_memory_test.cpp.
//
//   cuda_memory_victim SCENE
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "session/scenes.hpp"

extern "C" int memory_user_begin(void** kept, cudaStream_t stream);
extern "C" int memory_user_end(void** kept, cudaStream_t stream);

namespace {

using prof::test::expect;
using prof::test::of_libprof;

constexpr std::size_t mib = std::size_t{1} << 20;
const char kernel = 0;

void step() {
    if (auto* const count = of_libprof<int()>("prof_step")) (void)count();
}

[[gnu::noinline]] void* block(std::size_t bytes) {
    void* out = nullptr;
    expect(cudaMalloc(&out, bytes) == cudaSuccess, "there is memory");
    return out;
}

// The program's own pieces and a library's; what comes back on another thread.
void pieces() {
    fake_gpu_register_kernel(&kernel, "kernel", 5'000);
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    cudaStream_t stream = nullptr;
    expect(cudaStreamCreate(&stream) == cudaSuccess, "a stream");
    nvtxRangePushA("setup");
    void* const weights = block(32 * mib);
    std::array<void*, 4> kept{};
    expect(memory_user_begin(kept.data(), stream) == 0, "the library has memory");
    nvtxRangePop();
    for (int i = 0; i < 6; ++i) {
        step();
        nvtxRangePushA("forward");
        void* const activation = block(8 * mib);
        (void)cudaLaunchKernel(&kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr);
        nvtxRangePop();
        nvtxRangePushA("backward");
        std::thread([&] { expect(cudaFree(activation) == cudaSuccess, "it comes back"); }).join();
        nvtxRangePop();
    }
    step();
    nvtxRangePushA("too large");
    void* none = nullptr;
    expect(cudaMalloc(&none, std::size_t{1} << 40) == cudaErrorMemoryAllocation, "there is not so much");
    nvtxRangePop();
    expect(memory_user_end(kept.data(), stream) == 0, "and gives some back");
    expect(cudaFree(weights) == cudaSuccess, "the weights");
    expect(cudaFree(nullptr) == cudaSuccess, "nothing");
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA ends");
}

}  // namespace

int main(int count, char** arguments) {
    return prof::test::play(count > 1 ? arguments[1] : nullptr, {{"pieces", pieces}});
}
