// SPDX-License-Identifier: Apache-2.0
// Bursts of launches of empty kernels, few enough for the GPU's queue; only the launching is timed, not the wait after
// it. As in a training step, many kernels with long names take turns.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace launch_cost {

constexpr int launches_a_burst = 400;
constexpr int skip = 77;  // ctest's word for "not run"

// 80 of them: kernels.cu, or kernels_simulated.cpp for the simulated GPU.
const std::vector<const void*>& empty_kernels();

// Nanoseconds a launch.
inline double burst_ns(cudaStream_t stream) {
    const std::vector<const void*>& kernels = empty_kernels();
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < launches_a_burst; ++i) {
        (void)cudaLaunchKernel(kernels[i % kernels.size()], dim3(1), dim3(32), nullptr, 0, stream);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    (void)cudaStreamSynchronize(stream);
    return took.count() / launches_a_burst;
}

// Nanoseconds a call, of which half record an event and half make another stream wait for it.
inline double event_burst_ns(cudaStream_t stream, cudaStream_t other, cudaEvent_t event) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < launches_a_burst / 2; ++i) {
        (void)cudaEventRecord(event, stream);
        (void)cudaStreamWaitEvent(other, event, 0);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    (void)cudaStreamSynchronize(other);
    return took.count() / launches_a_burst;
}

inline double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace launch_cost
