// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/step_sample.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/statistics.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::size_t calls_before = 2'048;  // of a run, at most, and no more than a step: a GPU's queue holds fewer
constexpr std::size_t calls_after = 256;     // likewise, and no more than a step
constexpr std::size_t least_a_run = 12;      // steps, if there may be several runs
// If twice the records allow it: at the edges of a run work is as it was recorded, which makes prices by it too low.
constexpr std::size_t least_steps = 6;
// Unusually long steps are left out if they are at most one in so many: in a sample they would be too many, or none.
constexpr std::size_t rare = 10;

// The first of these that begins at or after a moment.
template <typename TEntity>
std::size_t place_at(const std::vector<TEntity>& all, std::int64_t ns) {
    const auto found = std::lower_bound(all.begin(), all.end(), ns,
                                        [](const TEntity& each, std::int64_t at) { return each.start_ns < at; });
    return static_cast<std::size_t>(found - all.begin());
}

class sampler {
public:
    sampler(const timeline& data, const std::vector<whole_step>& steps, const sample_limits& limits)
        : data_(data), steps_(steps), limits_(limits) {}

    step_sample run() {
        const std::vector<std::size_t> usual = usual_steps();
        if (usual.empty()) return {};
        for (const std::size_t step : chosen(usual)) {
            const bool goes_on = !runs_.empty() && runs_.back().second + 1 == step && !begins_window(step);
            if (goes_on) {
                runs_.back().second = step;
            } else {
                runs_.emplace_back(step, step);
            }
        }
        for (std::size_t i = 0; i < runs_.size(); ++i) add(i);
        return std::move(out_);
    }

private:
    std::size_t records(std::int64_t start_ns, std::int64_t end_ns) const {
        const std::size_t calls = place_at(data_.api_calls, end_ns) - place_at(data_.api_calls, start_ns);
        return calls + place_at(data_.ops, end_ns) - place_at(data_.ops, start_ns);
    }

    // Whether the step before this one, if there is any, is in another window.
    bool begins_window(std::size_t step) const {
        return step == 0 ||
               window_at(data_.windows, steps_[step - 1].start_ns) != window_at(data_.windows, steps_[step].start_ns);
    }

    std::vector<std::size_t> usual_steps() const {
        std::vector<std::int64_t> lengths_ns;
        lengths_ns.reserve(steps_.size());
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const bool is_last = i + 1 == steps_.size() || begins_window(i + 1);
            lengths_ns.push_back((is_last ? steps_[i].end_ns : steps_[i + 1].start_ns) - steps_[i].start_ns);
        }
        const double longest = longest_usual(lengths_ns, 1.1);
        const auto is_long = [&](std::int64_t ns) { return static_cast<double>(ns) > longest; };
        const auto long_ones = static_cast<std::size_t>(std::count_if(lengths_ns.begin(), lengths_ns.end(), is_long));
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            if (!is_long(lengths_ns[i]) || long_ones * rare > steps_.size()) out.push_back(i);
        }
        return out;
    }

    std::vector<std::size_t> chosen(const std::vector<std::size_t>& from) const {
        const std::size_t mean =
            std::max<std::size_t>(records(steps_.front().start_ns, steps_.back().end_ns) / steps_.size(), 1);
        const std::size_t lead = std::min(2 * calls_before, mean);
        const std::size_t runs =
            std::clamp<std::size_t>(limits_.records / mean / least_a_run, 1, std::max<std::size_t>(limits_.runs, 1));
        const std::size_t of_a_run = limits_.records / runs;
        std::size_t each = of_a_run > lead ? (of_a_run - lead) / mean : 0;
        each = std::max({each, std::min(least_steps, 2 * limits_.records / mean), std::size_t{1}});
        constexpr double golden = 0.6180339887498949;  // its multiples lie evenly between whole numbers
        std::vector<std::size_t> out;
        for (std::size_t run = 0; run < runs; ++run) {
            const std::size_t first = run * from.size() / runs;
            const std::size_t end = (run + 1) * from.size() / runs;
            const std::size_t room = end - first > each ? end - first - each : 0;
            const double share = std::fmod(golden * static_cast<double>(run + 1), 1.0);
            const std::size_t begin = first + static_cast<std::size_t>(share * static_cast<double>(room + 1));
            for (std::size_t i = begin; i < std::min(begin + each, end); ++i) {
                const whole_step& step = steps_[from[i]];
                if (records(step.start_ns, step.end_ns) <= limits_.most_a_step) out.push_back(from[i]);
            }
        }
        return out;
    }

    void add(std::size_t run) {
        const auto [first, last] = runs_[run];
        const std::int64_t start_ns = steps_[first].start_ns;
        const std::int64_t end_ns = steps_[last].end_ns;
        const timeline_window& window = data_.windows[window_at(data_.windows, start_ns)];
        std::int64_t from_ns = begins_window(first) ? std::min(window.start_ns, start_ns) : steps_[first - 1].start_ns;
        const std::size_t first_call = place_at(data_.api_calls, start_ns);
        if (first_call > calls_before) {
            from_ns = std::max(from_ns, std::min(data_.api_calls[first_call - calls_before].start_ns, start_ns));
        }
        if (!out_.spans.empty()) from_ns = std::max(from_ns, out_.spans.back().end_ns);
        const std::size_t next_call = place_at(data_.api_calls, end_ns) + calls_after;
        std::int64_t to_ns = next_call < data_.api_calls.size() ? data_.api_calls[next_call].start_ns : window.end_ns;
        to_ns = std::min(to_ns, window.end_ns);
        if (last + 1 < steps_.size() && !begins_window(last + 1)) to_ns = std::min(to_ns, steps_[last + 1].end_ns);
        to_ns = std::max(to_ns, end_ns);
        if (run + 1 < runs_.size()) to_ns = std::min(to_ns, steps_[runs_[run + 1].first].start_ns);
        out_.spans.push_back({from_ns, to_ns});
        out_.steps.insert(out_.steps.end(), steps_.begin() + static_cast<std::ptrdiff_t>(first),
                          steps_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    }

    const timeline& data_;
    const std::vector<whole_step>& steps_;
    sample_limits limits_;
    std::vector<std::pair<std::size_t, std::size_t>> runs_;  // first and last step
    step_sample out_;
};

}  // namespace

step_sample sample_steps(const timeline& data, const std::vector<whole_step>& steps, const sample_limits& limits) {
    return steps.empty() ? step_sample{} : sampler(data, steps, limits).run();
}

}  // namespace prof
