// SPDX-License-Identifier: Apache-2.0
// GPU operations within the steps that a program might do without, beside its computing, or faster: communication,
// copies, matrix products in FP32, and kernels of further streams. In groups; each knows how the recorded dependencies
// would change without it. One thread; linear in the operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection/op_class.hpp"
#include "analysis/steps/whole_steps.hpp"
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
    std::int64_t overlap_ns = 0;  // of a further stream: while the device's first stream computes, too
    std::uint64_t waited = 0;     // operations of a further stream that seem to have waited for another stream
    // Communication and copies take no part in their stream. Of a further stream, neither its kernels nor those of the
    // first one that wait for it wait for other streams. FP32 matrices take as long as TF32 would
    // at the GPU's peak rates; empty if those are not known.
    replay_changes changes{};

    // Distinguishes groups of all parts of a timeline.
    using key = std::tuple<gpu_use, std::string, bool>;
    key own_key() const { return {use, name, is_awaited}; }
    gpu_group without_changes() const;
    // Of another part, without its changes. REQUIRES: it has the same key.
    void add(const gpu_group& other);
    // The share of a further stream's time in which the first one computes.
    double overlap() const noexcept;
};

// What is known of all operations of a timeline: which kernels compute in FP32, and by which factor TF32 would be
// faster; and of each device the stream that computes longest in the steps. Linear in the operations.
struct gpu_traits {
    gpu_traits(const timeline& data, const std::vector<whole_step>& steps);

    op_classifier class_of;
    double tf32_factor = 0;                          // 0: not known
    std::vector<bool> is_fp32;                       // by index into timeline::kernels
    std::map<std::uint32_t, place_id> first_stream;  // by device
    bool has_side_streams = false;
};

// The groups with the most time first.
std::vector<gpu_group> group_gpu_time(const dependency_graph& graph, const gpu_traits& traits);

// Bytes a nanosecond of the large copies between page-locked memory and the GPU in this direction, the median; 0: there
// is none.
double pinned_rate(const timeline& data, copy_direction direction);

}  // namespace prof
