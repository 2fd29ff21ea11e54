// SPDX-License-Identifier: Apache-2.0
// C++ programs with a flaw on a known line, for lines.py: a flaw's line ends with a comment, the flaw's name.
//
// Usage: lines_native FLAW
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

__global__ void work(float* values, int count, int rounds) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count) return;
    float value = values[i];
    for (int k = 0; k < rounds; ++k) value = value * 1.0001F + 0.5F;
    values[i] = value;
}

namespace {

constexpr int count = 1 << 20;
constexpr int steps = 40;

void spin(double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

struct training {
    training() { cudaMalloc(&values, count * sizeof(float)); }
    ~training() { cudaFree(values); }
    void step() const {
        for (int i = 0; i < 10; ++i) work<<<count / 256, 256>>>(values, count, 2000);
    }
    float* values = nullptr;
};

[[gnu::noinline]] float native_copy(const training& of) {
    float sum = 0;
    for (int i = 0; i < steps; ++i) {
        of.step();
        float loss = 0;
        cudaMemcpy(&loss, of.values, sizeof loss, cudaMemcpyDeviceToHost);  // native_copy
        sum += loss;
        spin(0.0005);
    }
    return sum;
}

[[gnu::noinline]] void native_wait(const training& of) {
    for (int i = 0; i < steps; ++i) {
        of.step();
        cudaDeviceSynchronize();  // native_wait
        spin(0.0005);
    }
}

[[gnu::noinline]] void native_allocation(const training& of) {
    for (int i = 0; i < steps; ++i) {
        void* memory = nullptr;
        cudaMalloc(&memory, 256 << 20);  // native_allocation
        of.step();
        cudaFree(memory);  // native_allocation
    }
}

[[gnu::noinline]] void native_pageable(const training& of, const std::vector<float>& host) {
    for (int i = 0; i < steps; ++i) {
        cudaMemcpy(of.values, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);  // native_pageable
        of.step();
    }
}

[[gnu::noinline]] void native_host_code(const training& of) {
    for (int i = 0; i < steps; ++i) {
        of.step();
        cudaDeviceSynchronize();
        spin(0.005);
        cudaMemsetAsync(of.values, 0, sizeof(float));  // native_host_code
    }
}

}  // namespace

int main(int, char** arguments) {
    const std::string flaw = arguments[1];
    const training of;
    of.step();
    cudaDeviceSynchronize();
    if (flaw == "native_copy") std::printf("%g\n", static_cast<double>(native_copy(of)));
    if (flaw == "native_wait") native_wait(of);
    if (flaw == "native_allocation") native_allocation(of);
    if (flaw == "native_pageable") native_pageable(of, std::vector<float>(count));
    if (flaw == "native_host_code") native_host_code(of);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
