// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/small_kernels.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/steps/step_search.hpp"

namespace prof {
namespace {

class small_kernel_finder {
public:
    small_kernel_finder(const timeline& data, const attribution& att, const whole_steps& of,
                        const std::function<void(const kernel_in_run&)>& visit)
        : data_(data),
          att_(att),
          visit_(visit),
          steps_(of.steps),
          step_by_time_(of.steps),
          class_of_(data),
          host_(data, att),
          where_(data, att, of),
          causes_(data, att, host_, where_, of) {}

    void run(small_kernel_list& out) {
        out.steps = steps_.size();
        for (const std::uint32_t device : devices_of(data_)) {
            ++out.devices;
            out.wall_ns += total_length(steps_);
            walk(device, out);
        }
        for (auto& [key, place] : places_) {
            place.place = where_.path(key.first);
            place.is_replayed = key.second;
            out.in_runs += place.kernels;
            out.idle_ns += place.idle_ns;
            out.starved_ns += place.starved_ns;
            out.places.push_back(std::move(place));
        }
        std::stable_sort(out.places.begin(), out.places.end(),
                         [](const small_kernel_place& a, const small_kernel_place& b) {
                             return std::tuple(-a.starved_ns, -a.span_ns) < std::tuple(-b.starved_ns, -b.span_ns);
                         });
    }

private:
    // The run that is going on. It has no kernels if there is none.
    struct kernel_run {
        small_kernel_place sums{};
        std::uint32_t step = npos;
        code_place_id place{};
        code_place_id outermost{};  // the place's part of its step
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::int64_t first_launch_ns = INT64_MAX;
        std::int64_t last_launch_ns = INT64_MIN;
        call_id launch = npos;
        std::uint64_t launches = 0;
        std::vector<kernel_in_run> kernels{};
        // Since its latest kernel; counts once another one follows.
        std::int64_t idle_ns = 0;
        std::int64_t starved_ns = 0;
    };

    void walk(std::uint32_t device, small_kernel_list& out) {
        walk_device(
            data_, class_of_, device, steps_.front().from_ns(), steps_.back().to_ns(),
            [&](const covered_time& piece, op_id next) {
                if (piece.is_idle()) pause({piece.start_ns, piece.end_ns, device, next});
            },
            [&](op_id op) { add(op, out); });
        end_run();
    }

    void pause(const idle_gap& gap) {
        if (run_.sums.kernels == 0) return;
        if (gap.next == npos || gap.end_ns - gap.start_ns > launch_bound_ns) {
            end_run();
            return;
        }
        causes_.explain(gap, [&](const idle_piece& piece) {
            const std::int64_t ns = piece.end_ns - piece.start_ns;
            run_.idle_ns += ns;
            if (group_of(piece.cause) == idle_group::starved) run_.starved_ns += ns;
        });
    }

    void add(op_id index, small_kernel_list& out) {
        const gpu_op& op = data_.ops[index];
        const bool is_kernel = op.kind == op_kind::kernel && class_of_(op) == op_class::compute;
        const std::uint32_t step = step_by_time_.in_time(op.start_ns);
        if (is_kernel && step != npos) ++out.kernels;
        if (op.end_ns - op.start_ns >= small_kernel_ns || step == npos || (!is_kernel && !is_transfer(op.kind))) {
            end_run();
            return;
        }
        if (!is_kernel) return;
        const bool is_replayed = op.graph_node != npos;
        const code_place_id place = is_range(att_.owner[index]) ? where_.of(att_.owner[index]) : code_place_id();
        const code_place_id outermost = where_.outermost(place);
        const bool goes_on = run_.sums.kernels != 0 && run_.step == step && run_.outermost == outermost &&
                             run_.sums.is_replayed == is_replayed;
        if (!goes_on) {
            end_run();
            run_.step = step;
            run_.place = place;
            run_.outermost = outermost;
            run_.sums.is_replayed = is_replayed;
            run_.start_ns = op.start_ns;
            run_.end_ns = op.end_ns;
        }
        extend(index, place);
    }

    void extend(op_id index, code_place_id place) {
        const gpu_op& op = data_.ops[index];
        run_.place = where_.common(run_.place, place);
        run_.end_ns = std::max(run_.end_ns, op.end_ns);
        ++run_.sums.kernels;
        run_.sums.kernel_ns += op.end_ns - op.start_ns;
        const kernel_in_run kernel{index, std::exchange(run_.idle_ns, 0), std::exchange(run_.starved_ns, 0)};
        run_.sums.idle_ns += kernel.idle_ns;
        run_.sums.starved_ns += kernel.starved_ns;
        if (visit_) run_.kernels.push_back(kernel);
        if (op.launch == npos || op.launch == run_.launch) return;
        run_.launch = op.launch;
        ++run_.launches;
        run_.first_launch_ns = std::min(run_.first_launch_ns, data_.api_calls[op.launch].start_ns);
        run_.last_launch_ns = std::max(run_.last_launch_ns, data_.api_calls[op.launch].start_ns);
    }

    void end_run() {
        const kernel_run ended = std::exchange(run_, kernel_run{});
        if (ended.sums.kernels < fewest_in_run) return;
        for (const kernel_in_run& kernel : ended.kernels) visit_(kernel);
        small_kernel_place& to = places_[{ended.place, ended.sums.is_replayed}];
        ++to.runs;
        to.kernels += ended.sums.kernels;
        to.longest = std::max(to.longest, ended.sums.kernels);
        to.kernel_ns += ended.sums.kernel_ns;
        to.span_ns += ended.end_ns - ended.start_ns;
        to.idle_ns += ended.sums.idle_ns;
        to.starved_ns += ended.sums.starved_ns;
        if (ended.launches < 2) return;
        to.intervals += ended.launches - 1;
        to.intervals_ns += ended.last_launch_ns - ended.first_launch_ns;
    }

    const timeline& data_;
    const attribution& att_;
    const std::function<void(const kernel_in_run&)>& visit_;
    const std::vector<whole_step>& steps_;
    step_search step_by_time_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    kernel_run run_{};
    std::map<std::pair<code_place_id, bool>, small_kernel_place> places_;  // by place and is_replayed
};

}  // namespace

std::string_view to_string(run_bound bound) noexcept {
    switch (bound) {
        case run_bound::launches:
            return "launches";
        case run_bound::graph:
            return "graph replay";
        case run_bound::gpu:
            break;
    }
    return "GPU";
}

run_bound small_kernel_place::bound() const noexcept {
    if (static_cast<double>(starved_ns) >= launch_bound_share * static_cast<double>(span_ns))
        return run_bound::launches;
    return is_replayed ? run_bound::graph : run_bound::gpu;
}

std::optional<small_kernel_list> find_small_kernels(const timeline& data, const attribution& att,
                                                    std::string_view step_function, const step_scope& scope,
                                                    const std::function<void(const kernel_in_run&)>& visit) {
    if (data.ops.empty()) return {};
    const breakdown_steps found = find_breakdown_steps(data, att, !step_function.empty(), scope);
    if (found.of.steps.empty()) return {};
    small_kernel_list out{.has_steps = found.has_steps};
    small_kernel_finder(data, att, found.of, visit).run(out);
    return out;
}

}  // namespace prof
