// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/step_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/projection/op_class.hpp"
#include "analysis/steps/step_search.hpp"

namespace prof {
namespace {

// A stream counts if it is the one in which the most steps compute most, or at least this share of them.
constexpr std::size_t least_share_of_steps = 4;

// What a step does in one stream.
struct step_work {
    std::int64_t compute_ns = 0;
    std::int64_t all_ns = 0;
};

class stream_finder {
public:
    stream_finder(const timeline& data, const std::vector<whole_step>& steps)
        : data_(data), steps_(steps), step_by_time_(steps), latest_(data.places.size()) {}

    // Per place of the timeline, whether its stream counts. None does if the steps have no operation.
    row_values<place_id, bool> run() {
        measure();
        row_values<place_id, std::size_t> wins(data_.places.size(), 0);
        row_values<place_id, std::int64_t> total_ns(data_.places.size(), 0);
        count(wins, total_ns, [](const step_work& of) { return of.compute_ns; });
        if (std::all_of(wins.begin(), wins.end(), [](std::size_t of) { return of == 0; })) {
            count(wins, total_ns, [](const step_work& of) { return of.all_ns; });
        }
        place_id most{0};
        for (const place_id i : wins.ids()) {
            if (std::pair(wins[i], total_ns[i]) > std::pair(wins[most], total_ns[most])) most = i;
        }
        row_values<place_id, bool> out(wins.size(), false);
        for (const place_id i : wins.ids()) {
            out[i] = wins[i] != 0 && (i == most || (wins[i] > 1 && wins[i] * least_share_of_steps >= steps_.size()));
        }
        return out;
    }

private:
    void measure() {
        const op_classifier class_of(data_);
        for (const gpu_op& op : data_.ops) {
            if (op.launch == npos) continue;
            const std::uint32_t step = step_by_time_.at(data_.api_calls[op.launch].start_ns);
            if (step == npos) continue;
            step_work& work = work_of(step, op.place);
            const std::int64_t ns = op.end_ns - op.start_ns;
            const bool computes = op.kind == op_kind::graph || class_of(op) == op_class::compute;
            work.all_ns += ns;
            if (computes) work.compute_ns += ns;
        }
    }

    // Operations of a stream mostly come in the order of the steps.
    step_work& work_of(std::uint32_t step, place_id place) {
        known_work& known = latest_[place];
        if (known.work == nullptr || known.step != step) {
            known = {step, &work_[std::uint64_t{step} * data_.places.size() + place]};
        }
        return *known.work;
    }

    template <typename TTime>
    void count(row_values<place_id, std::size_t>& wins, row_values<place_id, std::int64_t>& total_ns,
               TTime&& time_of) const {
        struct winner {
            place_id place = npos;
            std::int64_t ns = 0;
        };
        std::vector<winner> winners(steps_.size());
        for (const auto& [key, work] : work_) {
            const place_id place(key % data_.places.size());
            const std::int64_t ns = time_of(work);
            total_ns[place] += ns;
            winner& of = winners[key / data_.places.size()];
            if (ns > of.ns || (ns == of.ns && ns != 0 && place < of.place)) of = {place, ns};
        }
        for (const winner& of : winners) {
            if (of.place != npos) ++wins[of.place];
        }
    }

    const timeline& data_;
    const std::vector<whole_step>& steps_;
    step_search step_by_time_;
    std::unordered_map<std::uint64_t, step_work> work_;  // step * places + place
    struct known_work {
        std::uint32_t step = npos;
        step_work* work = nullptr;
    };
    row_values<place_id, known_work> latest_;  // what work_of() returned last
};

}  // namespace

row_values<place_id, bool> delay_steps(const timeline& data, std::vector<whole_step>& steps) {
    if (steps.empty() || data.ops.empty()) return {};
    row_values<place_id, bool> counts = stream_finder(data, steps).run();
    // The latest end of what was launched before each step, in it, and after it until the next one.
    std::vector<std::int64_t> ends_ns(2 * steps.size() + 1, INT64_MIN);
    step_search step_by_time(steps);
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos || !counts[op.place]) continue;
        const std::int64_t called_ns = data.api_calls[op.launch].start_ns;
        const std::size_t begun = step_by_time.begun(called_ns);
        const bool is_inside = begun != 0 && called_ns < steps[begun - 1].end_ns;
        std::int64_t& end_ns = ends_ns[2 * begun - (is_inside ? 1 : 0)];
        end_ns = std::max(end_ns, op.end_ns);
    }
    std::int64_t done_ns = INT64_MIN;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        whole_step& step = steps[i];
        done_ns = std::max(done_ns, ends_ns[2 * i]);
        step.start_delay_ns = std::max(done_ns, step.start_ns) - step.start_ns;
        done_ns = std::max(done_ns, ends_ns[2 * i + 1]);
        step.end_delay_ns = std::max(done_ns, step.end_ns) - step.end_ns;
    }
    return counts;
}

}  // namespace prof
