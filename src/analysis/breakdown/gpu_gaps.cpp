// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/gpu_gaps.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/breakdown/launch_queue.hpp"

namespace prof {
namespace {

// The order of a list of gaps.
bool is_longer(const gpu_gap& a, const gpu_gap& b) {
    return std::tuple(-a.idle_ns, a.start_ns, a.device) < std::tuple(-b.idle_ns, b.start_ns, b.device);
}

class longest_gaps {
public:
    explicit longest_gaps(std::size_t most) : most_(most) {}

    void add(const gpu_gap& gap) {
        kept_.push_back(gap);
        // Cutting at twice the number makes the cost of an addition constant on average.
        if (kept_.size() / 2 > most_) cut();
    }
    std::vector<gpu_gap> take() {
        cut();
        std::sort(kept_.begin(), kept_.end(), is_longer);
        return std::move(kept_);
    }

private:
    void cut() {
        if (kept_.size() <= most_) return;
        std::nth_element(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(most_), kept_.end(), is_longer);
        kept_.resize(most_);
    }

    std::size_t most_;
    std::vector<gpu_gap> kept_;
};

class gap_finder {
public:
    gap_finder(const timeline& data, const attribution& att, const whole_steps& of, std::size_t most)
        : data_(data),
          steps_(of.steps),
          in_steps_(of.steps),
          class_of_(data),
          host_(data, att),
          where_(data, att, of),
          causes_(data, att, host_, where_, of),
          longest_(most) {}

    void run(gpu_gap_list& out) {
        out.steps = steps_.size();
        for (const std::uint32_t device : devices_of(data_)) {
            ++out.devices;
            walk(device, out);
        }
        out.gaps = longest_.take();
        out.places = where_.paths();
    }

private:
    void walk(std::uint32_t device, gpu_gap_list& out) {
        const launch_queue queue(data_, device);
        op_id last = npos;  // the operation that ended last
        in_steps_.restart();
        walk_device(
            data_, class_of_, device, steps_.front().from_ns(), steps_.back().to_ns(),
            [&](const covered_time& piece, op_id next) {
                if (!piece.is_idle() || !in_steps_.move_to(piece.start_ns, piece.end_ns)) return;
                divide(piece, {.device = device, .before = last, .next = next});
                if (gaps_.empty()) return;
                explain({piece.start_ns, piece.end_ns, device, next});
                for (gpu_gap& gap : gaps_) {
                    count_queue(queue, gap);
                    ++out.count;
                    out.idle_ns += gap.idle_ns;
                    if (gap.queued_at_start == 0) out.empty_queue_ns += gap.idle_ns;
                    longest_.add(gap);
                }
            },
            [&](op_id op) {
                if (last == npos || data_.ops[op].end_ns >= data_.ops[last].end_ns) last = op;
            });
    }

    // One gap for each step in which the GPU was idle, so that the gaps of a step are its idle time.
    void divide(const covered_time& piece, const gpu_gap& as) {
        gaps_.clear();
        in_steps_.for_each(piece.start_ns, piece.end_ns,
                           [&](std::uint32_t step, std::int64_t from_ns, std::int64_t to_ns) {
                               if (from_ns == to_ns) return;
                               gaps_.push_back(as);
                               gaps_.back().start_ns = from_ns;
                               gaps_.back().end_ns = to_ns;
                               gaps_.back().idle_ns = to_ns - from_ns;
                               gaps_.back().step = steps_[step].number;
                           });
    }

    // The causes are those of the whole time without operations; each gap has its share of them.
    void explain(const idle_gap& of) {
        parts_.assign(gaps_.size(), {});
        causes_.explain(of, [&](const idle_piece& piece) {
            auto at = std::partition_point(gaps_.begin(), gaps_.end(),
                                           [&](const gpu_gap& gap) { return gap.end_ns <= piece.start_ns; });
            for (; at != gaps_.end() && at->start_ns < piece.end_ns; ++at) {
                const std::int64_t ns = std::min(at->end_ns, piece.end_ns) - std::max(at->start_ns, piece.start_ns);
                at->by_cause[static_cast<std::size_t>(piece.cause)] += ns;
                add_part(parts_[static_cast<std::size_t>(at - gaps_.begin())], piece, ns);
            }
        });
        const call_id drained = causes_.drained_by(of);
        for (std::size_t i = 0; i < gaps_.size(); ++i) name_cause(gaps_[i], parts_[i], drained);
    }

    struct part {
        idle_cause cause = idle_cause::unknown;
        call_id call = npos;
        code_place_id place{};
        std::int64_t ns = 0;
    };

    static void name_cause(gpu_gap& gap, const std::vector<part>& parts, call_id drained) {
        const auto* const dearest = std::max_element(gap.by_cause.begin(), gap.by_cause.end());
        gap.cause = static_cast<idle_cause>(dearest - gap.by_cause.begin());
        gap.cause_ns = *dearest;
        const part* largest = nullptr;
        for (const part& each : parts) {
            if (each.cause == gap.cause && (largest == nullptr || each.ns > largest->ns)) largest = &each;
        }
        if (largest != nullptr) {
            gap.call = largest->call;
            gap.place = largest->place;
        }
        gap.drained = drained;
    }

    // Parts are distinguished as the breakdown's rows are: by cause, function of CUDA and place.
    void add_part(std::vector<part>& parts, const idle_piece& piece, std::int64_t ns) const {
        const call_id call = piece.cause == idle_cause::launching ? npos : piece.call;
        const code_place_id place = piece.cause == idle_cause::loader ? code_place_id() : piece.place;
        for (part& known : parts) {
            if (known.cause != piece.cause || known.place != place || !is_same_function(known.call, call)) continue;
            known.ns += ns;
            return;
        }
        // A gap rarely has more parts than a few; of one with many, further ones are too small to be named.
        if (parts.size() < most_parts) parts.push_back({piece.cause, call, place, ns});
    }

    bool is_same_function(call_id a, call_id b) const {
        if (a == npos || b == npos) return a == b;
        const timeline_api_call& first = data_.api_calls[a];
        const timeline_api_call& second = data_.api_calls[b];
        return first.domain == second.domain && first.cbid == second.cbid;
    }

    void count_queue(const launch_queue& queue, gpu_gap& gap) const {
        gap.queued_at_start = queue.at(gap.start_ns);
        if (gap.next == npos || data_.ops[gap.next].launch == npos) return;
        const gpu_op& next = data_.ops[gap.next];
        const timeline_api_call& launch = data_.api_calls[next.launch];
        // The clocks of host and GPU agree to about a microsecond, so a call may seem to begin after its operation.
        const std::int64_t called_ns = std::min(launch.start_ns, launched_at(data_, next));
        gap.queued_at_launch = queue.before(called_ns);
        gap.launch_to_start_ns = next.start_ns - called_ns;
    }

    static constexpr std::size_t most_parts = 256;

    const timeline& data_;
    const std::vector<whole_step>& steps_;
    step_cursor in_steps_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    longest_gaps longest_;
    std::vector<gpu_gap> gaps_;             // those of the time that is looked at, one a step
    std::vector<std::vector<part>> parts_;  // of each of them
};

}  // namespace

std::optional<gpu_gap_list> find_gpu_gaps(const timeline& data, const attribution& att, std::string_view step_function,
                                          const step_scope& scope, std::size_t most) {
    if (data.ops.empty()) return {};
    const breakdown_steps found = find_breakdown_steps(data, att, !step_function.empty(), scope);
    if (found.of.steps.empty()) return {};
    gpu_gap_list out{.has_steps = found.has_steps};
    gap_finder(data, att, found.of, most).run(out);
    return out;
}

}  // namespace prof
