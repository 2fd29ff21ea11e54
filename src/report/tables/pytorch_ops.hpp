// SPDX-License-Identifier: Apache-2.0
// The table that torch.profiler's key_averages() gives: by name, what PyTorch's operators, backward nodes and
// record_function ranges took on the CPU and on the GPU; and beside each operator what its backward took.
//
// As there, and unlike in the GPU projection, nothing is adopted: a row counts the work launched on its own threads. A
// range inside another one of its name counts twice, with one exception: a range that is the whole content of the outer
// one (an operator that calls itself with its arguments converted) is the same call.
// docs/guide/pytorch.md defines the columns. A pure function of a timeline, linear in its ranges and operations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct pytorch_row {
    std::string name{};
    std::uint64_t calls = 0;
    std::int64_t cpu_total_ns = 0;
    std::int64_t cpu_self_ns = 0;  // without what PyTorch's ranges inside took
    std::int64_t gpu_total_ns = 0;
    std::int64_t gpu_self_ns = 0;  // of the work launched in no range of PyTorch's inside
    std::uint64_t gpu_ops = 0;     // operations whose time is in gpu_self_ns
    // Of operators: the GPU time of the backward nodes made in them, and their number.
    std::int64_t backward_gpu_ns = 0;
    std::uint64_t backward_calls = 0;
};

struct pytorch_table {
    std::vector<pytorch_row> rows;  // by GPU self time, then CPU self time, descending; ties by name
    std::uint64_t backward_nodes = 0;
    std::uint64_t unlinked_nodes = 0;   // backward nodes whose operator was not recorded
    std::uint64_t ambiguous_nodes = 0;  // those that operators of several threads may have made
};

pytorch_table pytorch_operators(const timeline& data);

bool has_operators(const timeline& data);

// The name of an operator as tables for people have it.
std::string shown_operator(std::string_view name);

// Operator and backward node, as indices of ranges: which operator made the node. By node's start.
struct backward_links {
    std::vector<std::pair<range_id, range_id>> links;
    std::uint64_t nodes = 0;
    std::uint64_t unlinked = 0;
    std::uint64_t ambiguous = 0;
};
backward_links link_backward(const timeline& data);

}  // namespace prof
