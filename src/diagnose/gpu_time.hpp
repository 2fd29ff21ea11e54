// SPDX-License-Identifier: Apache-2.0
// GPU operations within the steps that a program might do without, beside its computing, or faster: communication,
// copies, matrix products in FP32, and kernels of further streams. In groups; each knows how the recorded dependencies
// would change without it. One thread; linear in the operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/host_time.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

enum class gpu_use : std::uint8_t { communication, copy, fp32_matrices, side_stream };

struct gpu_group {
    gpu_use use = gpu_use::communication;
    std::string name{};  // of a kernel, as in C++, of a kind of copy, or of a stream
    copy_direction direction = copy_direction::none;
    bool is_pageable = false;
    bool is_awaited = false;  // a copy for which the host waits
    std::uint64_t bytes = 0;  // of copies
    step_tally tally{};
    double overlap = 0;  // of a further stream: the share of its time in which the device's first stream computes, too
    std::uint64_t waited = 0;  // operations of a further stream that seem to have waited for another stream
    // Communication and copies take no part in their stream. Of a further stream, neither its kernels nor those of the
    // first one that wait for it wait for other streams. FP32 matrices take as long as TF32 would
    // at the GPU's peak rates; empty if those are not known.
    replay_changes changes{};
};

// The groups with the most time first.
std::vector<gpu_group> group_gpu_time(const dependency_graph& graph);

// Bytes a nanosecond of the large copies between page-locked memory and the GPU in this direction, the median; 0: there
// is none.
double pinned_rate(const timeline& data, copy_direction direction);

}  // namespace prof
