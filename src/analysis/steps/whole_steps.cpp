// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/whole_steps.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "analysis/steps/recurring_steps.hpp"
#include "analysis/steps/step_gaps.hpp"
#include "analysis/steps/step_parts.hpp"
#include "analysis/steps/step_times.hpp"
#include "base/number.hpp"
#include "base/statistics.hpp"
#include "record/label.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::size_t least_for_warm_up = 10;  // steps

bool is_shown_phase(const timeline& data, const attribution& att, const timeline_range& range) {
    return range.style == range_style::push_pop && is_phase(data, range) && !att.hidden.contains(range);
}

bool is_whole(const timeline_range& range) noexcept { return !range.open_at_start && !range.open_at_end; }

// Collects steps from ranges. A range counts as a step once the next one has begun in the same window. So the last
// step, which the program's end follows, does not count, and neither does a phase that was given up.
class range_steps {
public:
    range_steps(const timeline& data, bool is_dispatch) : data_(data), is_dispatch_(is_dispatch) {}

    void begin(const timeline_range& range, bool is_first, std::uint64_t number) {
        if (latest_ != nullptr && is_whole(*latest_) && latest_->end_ns <= range.start_ns && is_in_window_of(range)) {
            if (is_dispatch()) {
                add(range.start_ns, nothing_follows);
            } else {
                add(latest_->end_ns, range.start_ns);
            }
        }
        latest_ = &range;
        latest_is_first_ = is_first;
        latest_number_ = number;
    }
    void give_up() noexcept { latest_ = nullptr; }
    // The latest range is no step that goes on: it counts if it has its end.
    void end() {
        if (latest_ != nullptr && is_whole(*latest_)) add(latest_->end_ns, nothing_follows);
        give_up();
    }
    // Whether the latest step's range covers only the time in which the host dispatches the step: JAX returns before a
    // function has run. Such a step lasts until the next one begins.
    bool is_dispatch() const noexcept {
        return is_dispatch_ || (latest_ != nullptr && latest_->category == annotation_witness);
    }
    void clear() noexcept {
        steps_.clear();
        next_ns_.clear();
        give_up();
    }
    const timeline_range* latest() const noexcept { return latest_; }
    std::vector<whole_step> take() {
        extend_to_next(steps_, next_ns_);
        return std::move(steps_);
    }
    bool is_empty() const noexcept { return steps_.empty(); }

private:
    void add(std::int64_t end_ns, std::int64_t next_ns) {
        next_ns_.push_back(next_ns);
        steps_.push_back(
            {.start_ns = latest_->start_ns, .end_ns = end_ns, .is_first = latest_is_first_, .number = latest_number_});
    }
    bool is_in_window_of(const timeline_range& range) const noexcept {
        return window_at(data_.windows, latest_->start_ns) == window_at(data_.windows, range.start_ns);
    }

    const timeline& data_;
    bool is_dispatch_;
    const timeline_range* latest_ = nullptr;
    bool latest_is_first_ = false;
    std::uint64_t latest_number_ = 0;
    std::vector<whole_step> steps_;
    std::vector<std::int64_t> next_ns_;  // by step
};

class step_finder {
public:
    step_finder(const timeline& data, const attribution& att, bool has_step_function)
        : data_(data), att_(att), has_step_function_(has_step_function) {}

    whole_steps run() const {
        if (has_counted()) return counted();
        if (whole_steps found = observed(); found.thread != npos) return found;
        if (whole_steps found = of_profiler(); found.thread != npos) return found;
        return find_recurring_steps(data_, att_);
    }

private:
    bool has_counted() const {
        return std::any_of(data_.marks.begin(), data_.marks.end(),
                           [&](const timeline_mark& mark) { return begins_step(data_, mark); });
    }

    whole_steps counted() const {
        whole_steps out{.source = step_source::counted, .range = name_of_counted()};
        for (const timeline_mark& mark : data_.marks) {
            if (begins_step(data_, mark)) out.thread = mark.thread;
        }
        for (const captured_step& step : find_captured_steps(data_)) {
            out.steps.push_back({step.start_ns, step.end_ns, step.number == 0, step.number});
        }
        if (out.steps.empty()) add_single(out);
        return out;
    }

    // The range whose pushes are counted; "": steps are counted otherwise, or are the observed ones.
    std::string name_of_counted() const {
        const std::string& given = data_.property("step_range");
        const std::optional<range_name> parsed = parse_range_name(given);
        const bool is_phase_step = parsed && parsed->name == step_phase && parsed->domain == phase_domain;
        return is_phase_step ? std::string() : given;
    }

    // Where steps are ranges of the program, the only one is whole if it has its end.
    void add_single(whole_steps& out) const {
        const auto mark = std::find_if(data_.marks.begin(), data_.marks.end(),
                                       [&](const timeline_mark& each) { return begins_step(data_, each); });
        if (data_.property("step_range").empty() || mark == data_.marks.end()) return;
        const auto range = std::find_if(data_.ranges.begin(), data_.ranges.end(), [&](const timeline_range& each) {
            return each.style == range_style::push_pop && each.thread == mark->thread &&
                   each.start_ns == mark->time_ns && is_whole(each) && is_step_range(data_, each, out);
        });
        if (range != data_.ranges.end()) {
            out.steps.push_back({mark->time_ns, range->end_ns, mark->payload == 0, mark->payload});
        }
    }

    // They are all on one thread, which is npos if the capture has none, whole or not.
    whole_steps observed() const {
        range_steps steps(data_, has_step_function_);
        thread_id thread = npos;
        bool is_first = true;
        std::uint64_t number = 0;
        for (const timeline_range& range : data_.ranges) {
            if (!is_shown_phase(data_, att_, range) || (thread != npos && range.thread != thread)) continue;
            const std::string_view name = data_.name(range.name);
            if (name == step_phase) {
                thread = range.thread;
                steps.begin(range, is_first && is_first_of_program(range), number++);
                is_first = false;
            } else if (name == startup_phase) {
                // Calls of modules before the program makes its optimizer are not steps.
                steps.clear();
                is_first = true;
                number = 0;
            } else if (steps.latest() != nullptr && !steps.is_dispatch() && range.start_ns > steps.latest()->end_ns) {
                steps.give_up();
            }
        }
        return {.source = step_source::observed, .thread = thread, .steps = steps.take()};
    }

    // Whether the capture's first step is the program's first. The program's first phase "step" has no witness; for
    // other steps it is the first if the whole run was recorded.
    bool is_first_of_program(const timeline_range& range) const {
        if (!has_step_function_ && range.category != annotation_witness) return range.category == 0;
        return data_.property("plan").empty();
    }

    whole_steps of_profiler() const {
        constexpr std::string_view prefix = "ProfilerStep#";
        range_steps steps(data_, false);
        thread_id thread = npos;
        std::uint64_t next = 0;
        for (const timeline_range& range : data_.ranges) {
            if (range.style != range_style::push_pop || range.domain != 0 || att_.hidden.contains(range)) continue;
            const std::string_view name = data_.name(range.name);
            if (!name.starts_with(prefix) || (thread != npos && range.thread != thread)) continue;
            const auto number = parse_number<std::uint64_t>(name.substr(prefix.size()));
            if (!number) continue;
            thread = range.thread;
            if (*number != next) steps.end();
            steps.begin(range, *number == 0, *number);
            next = *number + 1;
        }
        // The last one may be cut, by the end of the program or of its profiler; the only one has its end.
        if (steps.is_empty()) steps.end();
        return {.source = step_source::profiler, .thread = thread, .steps = steps.take()};
    }

    const timeline& data_;
    const attribution& att_;
    bool has_step_function_;
};

// What ended the observed steps; if witnesses differ, the last one counts.
std::uint32_t witness_of(const timeline& data, const attribution& att) {
    std::uint32_t witness = 0;
    for (const timeline_range& range : data.ranges) {
        if (range.category == 0 || !is_shown_phase(data, att, range)) continue;
        if (data.name(range.name) == step_phase) witness = range.category;
    }
    return witness;
}

}  // namespace

std::string_view step_source_name(step_source source) noexcept {
    switch (source) {
        case step_source::counted:
            return "counted";
        case step_source::observed:
            return "observed";
        case step_source::profiler:
            return "profiler";
        case step_source::recurring:
            break;
    }
    return "recurring";
}

std::string_view step_witness_name(std::uint32_t witness) noexcept {
    switch (witness) {
        case optimizer_witness:
            return "optimizers";
        case call_witness:
            return "calls";
        case annotation_witness:
            return "annotations";
        case profiler_witness:
            return "profiler";
        default:
            return "";
    }
}

whole_steps find_whole_steps(const timeline& data, const attribution& att, bool has_step_function) {
    whole_steps out = step_finder(data, att, has_step_function).run();
    if (out.source != step_source::counted || out.range.empty()) out.witness = witness_of(data, att);
    out.streams = delay_steps(data, out.steps);
    return out;
}

whole_steps steps_that_count(const timeline& data, const attribution& att, bool has_step_function) {
    whole_steps out = find_whole_steps(data, att, has_step_function);
    leave_out_warm_up(out);
    return out;
}

std::int64_t total_length(const std::vector<whole_step>& steps) {
    return std::accumulate(steps.begin(), steps.end(), std::int64_t{0},
                           [](std::int64_t sum, const whole_step& step) { return sum + step.length_ns(); });
}

std::vector<std::int64_t> lengths_of(const std::vector<whole_step>& steps) {
    std::vector<std::int64_t> out;
    out.reserve(steps.size());
    for (const whole_step& step : steps) out.push_back(step.length_ns());
    return out;
}

void leave_out_warm_up(whole_steps& of) {
    std::vector<whole_step>& steps = of.steps;
    const std::size_t before = steps.size();
    if (steps.size() > 1) std::erase_if(steps, [](const whole_step& step) { return step.is_first; });
    if (steps.size() >= least_for_warm_up) {
        const std::vector<std::int64_t> lengths_ns = lengths_of(steps);
        const double longest = longest_usual(lengths_ns, 1.25);
        std::size_t slow = 0;
        while (slow < steps.size() / 2 && static_cast<double>(lengths_ns[slow]) > longest) ++slow;
        steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(slow));
    }
    of.warm_up = before - steps.size();
}

}  // namespace prof
