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
#include "base/near_search.hpp"
#include "base/statistics.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

// By which factor TF32 is faster than FP32 on the first GPU that is known; 0: unknown.
double tf32_factor_of(const timeline& data) {
    for (const device_record& device : data.devices) {
        const gpu_peak* const peak = find_gpu_peak(data.name(name_id(device.name)));
        if (peak != nullptr && peak->fp32 > 0 && peak->tf32 > peak->fp32) return peak->tf32 / peak->fp32;
    }
    return 0;
}

class gpu_grouper {
public:
    gpu_grouper(const dependency_graph& graph, const gpu_traits& traits)
        : graph_(graph), data_(graph.data()), traits_(traits), awaited_(awaited_calls(graph)) {}

    std::vector<gpu_group> run() {
        for (const op_id op : graph_.order()) {
            const host_event_id launch = graph_.launch_of(op);
            const std::int64_t at_ns = launch == npos ? data_.ops[op].start_ns : graph_.events()[launch].start_ns;
            const std::vector<whole_step>& steps = graph_.steps();
            step_ =
                partition_point_near(steps.size(), step_, [&](std::size_t at) { return steps[at].start_ns <= at_ns; });
            if (step_ == 0 || at_ns >= steps[step_ - 1].end_ns) continue;
            add(op, graph_.first_step() + step_ - 1);
        }
        if (traits_.has_side_streams) add_side_streams();
        return sorted_groups(std::move(groups_));
    }

private:
    using group_key = std::tuple<gpu_use, name_id, std::string, bool>;

    void add(op_id index, std::size_t step) {
        const gpu_op& op = data_.ops[index];
        const std::int64_t length_ns = op.end_ns - op.start_ns;
        if (op.kind == op_kind::kernel) {
            if (traits_.has_side_streams && op.graph_node == npos && traits_.class_of(op) == op_class::compute)
                kernels_[op.place].emplace_back(step, index);
            const name_id name(data_.kernels[op.detail].name);
            if (traits_.class_of(op) == op_class::communication) {
                gpu_group& group = group_of(gpu_use::communication, name, {});
                group.tally.add(step, op.start_ns, length_ns);
                group.changes.ops.push_back({.op = index, .fate = op_fate::runs_beside});
            } else if (traits_.is_fp32[op.detail]) {
                gpu_group& group = group_of(gpu_use::fp32_matrices, name, {});
                group.tally.add(step, op.start_ns, length_ns);
                const double saved = static_cast<double>(length_ns) * (1 - 1 / traits_.tf32_factor);
                group.changes.ops.push_back({.op = index, .less_ns = static_cast<std::int64_t>(saved)});
            }
        } else if (op.kind == op_kind::memcpy) {
            const transfer_record& copy = data_.transfers[op.detail];
            const copy_direction direction = direction_of(copy);
            if (direction == copy_direction::none) return;
            gpu_group& group = group_of(gpu_use::copy, {}, transfer_name(copy), is_awaited(index));
            group.direction = direction;
            group.is_pageable = is_pageable(copy);
            group.bytes += copy.bytes;
            group.tally.add(step, op.start_ns, length_ns);
            group.changes.ops.push_back({.op = index, .fate = op_fate::runs_beside});
        }
    }

    gpu_group& group_of(gpu_use use, name_id kernel, std::string copy, bool is_awaited = false) {
        const auto [found, is_new] = groups_.try_emplace(group_key{use, kernel, copy, is_awaited});
        if (is_new) {
            found->second.use = use;
            found->second.is_awaited = is_awaited;
            found->second.name =
                kernel == 0 ? std::move(copy) : kernel_name(data_.name(kernel), kernel_name_style::full);
        }
        return found->second;
    }

    bool is_awaited(op_id copy) const {
        const host_event_id launch = graph_.launch_of(copy);
        return launch != npos && awaited_[launch];
    }

    // Of each device the streams but the one that computes longest. Streams of a graph's nodes are the driver's choice.
    void add_side_streams() {
        std::map<std::uint32_t, kernel_cover> cover;  // device → of its first stream
        for (const auto& [device, place] : traits_.first_stream) cover.try_emplace(device, data_, kernels_[place]);
        std::map<place_id, gpu_group*> sides;  // by place
        for (const auto& [place, kernels] : kernels_) {
            const gpu_place& where = data_.places[place];
            if (traits_.first_stream.at(where.device) == place) continue;
            const std::string_view name = data_.stream_name(where.context, where.stream);
            gpu_group& group = group_of(gpu_use::side_stream, {},
                                        fmt::format("stream {}{}{}", where.stream, name.empty() ? "" : " ", name));
            sides[place] = &group;
            for (const auto& [step, index] : kernels) {
                const gpu_op& op = data_.ops[index];
                group.tally.add(step, op.start_ns, op.end_ns - op.start_ns);
                if (graph_.needs_of(index).other != npos) ++group.waited;
                free_from_streams(index, group);
                group.overlap_ns += cover.at(where.device).until(op.end_ns) - cover.at(where.device).until(op.start_ns);
            }
        }
        for (const auto& [device, place] : traits_.first_stream) {
            for (const auto& [step, op] : kernels_[place]) free_from_sides(op, device, sides);
        }
    }

    void free_from_streams(op_id op, gpu_group& group) const {
        const op_needs& needs = graph_.needs_of(op);
        if (needs.other == npos && !needs.has_stream_needs) return;
        group.changes.ops.push_back({.op = op, .waits_for_streams = false});
    }

    // Of a kernel of a device's first stream: it would not wait for a side stream of that device.
    void free_from_sides(op_id op, std::uint32_t device, const std::map<place_id, gpu_group*>& sides) const {
        std::vector<place_id> places;
        if (const op_id other = graph_.needs_of(op).other; other != npos) places.push_back(data_.ops[other].place);
        for (const op_later_than& need : graph_.stream_needs_of(op)) places.push_back(data_.ops[need.op].place);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        for (const place_id place : places) {
            const auto side = sides.find(place);
            if (side != sides.end() && data_.places[place].device == device) free_from_streams(op, *side->second);
        }
    }

    using placed_kernels = std::vector<std::pair<std::size_t, op_id>>;  // step and operation

    // For how long kernels of a stream ran until a moment, all durations added.
    class kernel_cover {
    public:
        kernel_cover(const timeline& data, const placed_kernels& of) {
            for (const auto& [step, op] : of) {
                starts_.push_back({data.ops[op].start_ns, 0});
                ends_.push_back({data.ops[op].end_ns, 0});
            }
            add_up(starts_);
            add_up(ends_);
        }
        std::int64_t until(std::int64_t ns) const {
            return static_cast<std::int64_t>(since(starts_, ns) - since(ends_, ns));
        }

    private:
        struct moment {
            std::int64_t at_ns = 0;
            std::uint64_t before_ns = 0;  // of all earlier moments the time from them to this one; it may wrap
        };
        static void add_up(std::vector<moment>& moments) {
            std::sort(moments.begin(), moments.end(),
                      [](const moment& a, const moment& b) { return a.at_ns < b.at_ns; });
            for (std::size_t i = 1; i < moments.size(); ++i) {
                const auto step_ns = static_cast<std::uint64_t>(moments[i].at_ns - moments[i - 1].at_ns);
                moments[i].before_ns = moments[i - 1].before_ns + i * step_ns;
            }
        }
        // The time from all moments up to `ns` to it.
        static std::uint64_t since(const std::vector<moment>& moments, std::int64_t ns) {
            const auto next = std::partition_point(moments.begin(), moments.end(),
                                                   [&](const moment& each) { return each.at_ns <= ns; });
            if (next == moments.begin()) return 0;
            const auto count = static_cast<std::uint64_t>(next - moments.begin());
            return next[-1].before_ns + count * static_cast<std::uint64_t>(ns - next[-1].at_ns);
        }

        std::vector<moment> starts_;
        std::vector<moment> ends_;
    };

    const dependency_graph& graph_;
    const timeline& data_;
    const gpu_traits& traits_;
    row_values<host_event_id, bool> awaited_;
    std::map<place_id, placed_kernels> kernels_;  // that compute
    std::map<group_key, gpu_group> groups_;
    std::size_t step_ = 0;
};

}  // namespace

gpu_traits::gpu_traits(const timeline& data, const std::vector<whole_step>& steps)
    : class_of(data), tf32_factor(tf32_factor_of(data)) {
    is_fp32.reserve(data.kernels.size());
    for (const kernel_record& kernel : data.kernels) {
        const std::optional<matrix_kernel> found = matrix_kernel_of(data.name(name_id(kernel.name)));
        is_fp32.push_back(found && found->type == matrix_type::fp32 && tf32_factor > 0);
    }
    row_values<place_id, std::int64_t> computes_ns(data.places.size(), INT64_MIN);
    std::size_t step = 0;
    for (const gpu_op& op : data.ops) {
        if (op.kind != op_kind::kernel || op.graph_node != npos || class_of(op) != op_class::compute) continue;
        const std::int64_t at_ns = op.launch == npos ? op.start_ns : data.api_calls[op.launch].start_ns;
        step = partition_point_near(steps.size(), step, [&](std::size_t at) { return steps[at].start_ns <= at_ns; });
        if (step == 0 || at_ns >= steps[step - 1].end_ns) continue;
        std::int64_t& of_place = computes_ns[op.place];
        of_place = std::max<std::int64_t>(of_place, 0) + op.end_ns - op.start_ns;
    }
    for (const place_id place : computes_ns.ids()) {
        if (computes_ns[place] == INT64_MIN) continue;
        const auto [first, is_new] = first_stream.try_emplace(data.places[place].device, place);
        if (is_new) continue;
        has_side_streams = true;
        if (computes_ns[place] >= computes_ns[first->second]) first->second = place;
    }
}

double gpu_group::overlap() const noexcept {
    return static_cast<double>(overlap_ns) / static_cast<double>(std::max<std::int64_t>(tally.total_ns, 1));
}

gpu_group gpu_group::without_changes() const {
    return {.use = use,
            .name = name,
            .direction = direction,
            .is_pageable = is_pageable,
            .is_awaited = is_awaited,
            .bytes = bytes,
            .tally = tally,
            .overlap_ns = overlap_ns,
            .waited = waited};
}

void gpu_group::add(const gpu_group& other) {
    bytes += other.bytes;
    tally.add(other.tally);
    overlap_ns += other.overlap_ns;
    waited += other.waited;
}

std::vector<gpu_group> group_gpu_time(const dependency_graph& graph, const gpu_traits& traits) {
    return gpu_grouper(graph, traits).run();
}

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
