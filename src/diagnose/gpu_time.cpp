// SPDX-License-Identifier: Apache-2.0
#include "diagnose/gpu_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/mfu/matrix_kernels.hpp"
#include "analysis/mfu/peaks.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "analysis/reports/kernel_names.hpp"
#include "base/near_search.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

// By which factor TF32 is faster than FP32 on the first GPU that is known; 0: unknown.
double tf32_factor(const timeline& data) {
    for (const device_record& device : data.devices) {
        const gpu_peak* const peak = find_gpu_peak(data.name(device.name));
        if (peak != nullptr && peak->fp32 > 0 && peak->tf32 > peak->fp32) return peak->tf32 / peak->fp32;
    }
    return 0;
}

class gpu_grouper {
public:
    explicit gpu_grouper(const dependency_graph& graph)
        : graph_(graph),
          data_(graph.data()),
          class_of_(data_),
          tf32_factor_(tf32_factor(data_)),
          awaited_(awaited_calls(graph)) {
        is_fp32_.reserve(data_.kernels.size());
        for (const kernel_record& kernel : data_.kernels) {
            const std::optional<matrix_kernel> found = matrix_kernel_of(data_.name(kernel.name));
            is_fp32_.push_back(found && found->type == matrix_type::fp32 && tf32_factor_ > 0);
        }
    }

    std::vector<gpu_group> run() {
        for (const std::uint32_t op : graph_.order()) {
            const std::uint32_t launch = graph_.launch_of(op);
            const std::int64_t at_ns = launch == npos ? data_.ops[op].start_ns : graph_.events()[launch].start_ns;
            const std::vector<whole_step>& steps = graph_.steps();
            step_ =
                partition_point_near(steps.size(), step_, [&](std::size_t at) { return steps[at].start_ns <= at_ns; });
            if (step_ == 0 || at_ns >= steps[step_ - 1].end_ns) continue;
            add(op, step_ - 1);
        }
        add_side_streams();
        return sorted_groups(std::move(groups_));
    }

private:
    using group_key = std::tuple<gpu_use, std::uint32_t, std::string, bool>;

    void add(std::uint32_t index, std::size_t step) {
        const gpu_op& op = data_.ops[index];
        const std::int64_t length_ns = op.end_ns - op.start_ns;
        if (op.kind == op_kind::kernel) {
            if (op.graph_node == npos && class_of_(op) == op_class::compute)
                kernels_[op.place].emplace_back(step, index);
            const std::uint32_t name = data_.kernels[op.detail].name;
            if (class_of_(op) == op_class::communication) {
                gpu_group& group = group_of(gpu_use::communication, name, {});
                group.tally.add(step, op.start_ns, length_ns);
                group.changes.ops.push_back({.op = index, .fate = op_fate::runs_beside});
            } else if (is_fp32_[op.detail]) {
                gpu_group& group = group_of(gpu_use::fp32_matrices, name, {});
                group.tally.add(step, op.start_ns, length_ns);
                const double saved = static_cast<double>(length_ns) * (1 - 1 / tf32_factor_);
                group.changes.ops.push_back({.op = index, .less_ns = static_cast<std::int64_t>(saved)});
            }
        } else if (op.kind == op_kind::memcpy) {
            const transfer_record& copy = data_.transfers[op.detail];
            const copy_direction direction = direction_of(copy);
            if (direction == copy_direction::none) return;
            gpu_group& group = group_of(gpu_use::copy, 0, transfer_name(copy), is_awaited(index));
            group.direction = direction;
            group.is_pageable = is_pageable(copy);
            group.bytes += copy.bytes;
            group.tally.add(step, op.start_ns, length_ns);
            group.changes.ops.push_back({.op = index, .fate = op_fate::runs_beside});
        }
    }

    gpu_group& group_of(gpu_use use, std::uint32_t kernel, std::string copy, bool is_awaited = false) {
        const auto [found, is_new] = groups_.try_emplace(group_key{use, kernel, copy, is_awaited});
        if (is_new) {
            found->second.use = use;
            found->second.is_awaited = is_awaited;
            found->second.name =
                kernel == 0 ? std::move(copy) : kernel_name(data_.name(kernel), kernel_name_style::full);
        }
        return found->second;
    }

    bool is_awaited(std::uint32_t copy) const {
        const std::uint32_t launch = graph_.launch_of(copy);
        return launch != npos && awaited_[launch];
    }

    // Of each device the streams but the one that computes longest. Streams of a graph's nodes are the driver's choice.
    void add_side_streams() {
        std::map<std::uint32_t, std::pair<std::int64_t, std::uint32_t>> first;  // device → time, place
        for (const auto& [place, kernels] : kernels_) {
            std::int64_t total_ns = 0;
            for (const auto& [step, op] : kernels) total_ns += data_.ops[op].end_ns - data_.ops[op].start_ns;
            first[data_.places[place].device] = std::max(first[data_.places[place].device], {total_ns, place});
        }
        for (const auto& [place, kernels] : kernels_) {
            const gpu_place& where = data_.places[place];
            const std::uint32_t first_place = first[where.device].second;
            if (first_place == place) continue;
            const std::string_view name = data_.stream_name(where.context, where.stream);
            gpu_group& group = group_of(gpu_use::side_stream, 0,
                                        fmt::format("stream {}{}{}", where.stream, name.empty() ? "" : " ", name));
            for (const auto& [step, op] : kernels) {
                group.tally.add(step, data_.ops[op].start_ns, data_.ops[op].end_ns - data_.ops[op].start_ns);
                if (graph_.ops()[op].other != npos) ++group.waited;
                free_from_streams(op, group);
            }
            for (const auto& [step, op] : kernels_[first_place]) {
                if (waits_for(op, place)) free_from_streams(op, group);
            }
            group.overlap = static_cast<double>(overlap_ns(kernels, kernels_[first_place])) /
                            static_cast<double>(std::max<std::int64_t>(group.tally.total_ns, 1));
        }
    }

    void free_from_streams(std::uint32_t op, gpu_group& group) const {
        const op_needs& needs = graph_.ops()[op];
        if (needs.other == npos && !needs.has_stream_needs) return;
        group.changes.ops.push_back({.op = op, .waits_for_streams = false});
    }

    bool waits_for(std::uint32_t op, std::uint32_t place) const {
        const std::uint32_t other = graph_.ops()[op].other;
        if (other != npos && data_.ops[other].place == place) return true;
        const auto needs = graph_.stream_needs_of(op);
        return std::any_of(needs.begin(), needs.end(),
                           [&](const later_than& need) { return data_.ops[need.op].place == place; });
    }

    using placed_kernels = std::vector<std::pair<std::size_t, std::uint32_t>>;  // step and operation, in order of start

    // Kernels of one stream hardly overlap each other.
    std::int64_t overlap_ns(const placed_kernels& of, const placed_kernels& with) const {
        std::int64_t total_ns = 0;
        std::size_t next = 0;
        for (const auto& [step, index] : of) {
            const gpu_op& op = data_.ops[index];
            while (next < with.size() && data_.ops[with[next].second].end_ns <= op.start_ns) ++next;
            for (std::size_t i = next; i < with.size() && data_.ops[with[i].second].start_ns < op.end_ns; ++i) {
                const gpu_op& other = data_.ops[with[i].second];
                total_ns += std::max<std::int64_t>(
                    std::min(op.end_ns, other.end_ns) - std::max(op.start_ns, other.start_ns), 0);
            }
        }
        return total_ns;
    }

    const dependency_graph& graph_;
    const timeline& data_;
    op_classifier class_of_;
    double tf32_factor_;
    std::vector<bool> awaited_;                        // by index into events
    std::vector<bool> is_fp32_;                        // by index into kernels
    std::map<std::uint32_t, placed_kernels> kernels_;  // that compute, by place
    std::map<group_key, gpu_group> groups_;
    std::size_t step_ = 0;
};

}  // namespace

std::vector<gpu_group> group_gpu_time(const dependency_graph& graph) { return gpu_grouper(graph).run(); }

double pinned_rate(const timeline& data, copy_direction direction) {
    constexpr std::uint64_t least_bytes = 1U << 20;
    std::vector<std::int64_t> rates;  // bytes a millisecond
    for (const gpu_op& op : data.ops) {
        if (op.kind != op_kind::memcpy || op.end_ns <= op.start_ns) continue;
        const transfer_record& copy = data.transfers[op.detail];
        if (copy.bytes < least_bytes || direction_of(copy) != direction || is_pageable(copy)) continue;
        const double rate = static_cast<double>(copy.bytes) * 1e6 / static_cast<double>(op.end_ns - op.start_ns);
        rates.push_back(static_cast<std::int64_t>(std::min(rate, 1e18)));  // of a damaged capture it may be any number
    }
    return median(std::move(rates)) / 1e6;
}

}  // namespace prof
