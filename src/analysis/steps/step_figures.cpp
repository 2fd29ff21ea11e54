// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/step_figures.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/projection/segment.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "base/number.hpp"
#include "base/statistics.hpp"
#include "record/label.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

constexpr std::string_view step_name = "step";
constexpr std::string_view startup_name = "startup";

struct whole_step {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool is_first = false;  // of the program
};

// Ordered by start_ns, without overlap.
struct whole_steps {
    step_source source = step_source::counted;
    std::vector<whole_step> steps;
};

bool is_shown_phase(const timeline& data, const attribution& att, const timeline_range& range) {
    return range.style == range_style::push_pop && is_phase(data, range) && !att.hidden.contains(range);
}

bool is_whole(const timeline_range& range) noexcept { return !range.open_at_start && !range.open_at_end; }

// Collects steps from ranges. A range counts as a step once the next one has begun in the same window. So the last
// step, which the program's end follows, does not count, and neither does a phase that was given up.
class range_steps {
public:
    range_steps(const timeline& data, bool is_dispatch) : data_(data), is_dispatch_(is_dispatch) {}

    void begin(const timeline_range& range, bool is_first) {
        if (latest_ != nullptr && is_whole(*latest_) && latest_->end_ns <= range.start_ns && is_in_window_of(range)) {
            steps_.push_back({latest_->start_ns, is_dispatch() ? range.start_ns : latest_->end_ns, latest_is_first_});
        }
        latest_ = &range;
        latest_is_first_ = is_first;
    }
    void give_up() noexcept { latest_ = nullptr; }
    // Whether the latest step's range covers only the time in which the host dispatches the step: JAX returns before a
    // function has run. Such a step lasts until the next one begins.
    bool is_dispatch() const noexcept {
        return is_dispatch_ || (latest_ != nullptr && latest_->category == annotation_witness);
    }
    void clear() noexcept {
        steps_.clear();
        give_up();
    }
    const timeline_range* latest() const noexcept { return latest_; }
    std::vector<whole_step> take() { return std::move(steps_); }

private:
    bool is_in_window_of(const timeline_range& range) const noexcept {
        return window_at(data_.windows, latest_->start_ns) == window_at(data_.windows, range.start_ns);
    }

    const timeline& data_;
    bool is_dispatch_;
    const timeline_range* latest_ = nullptr;
    bool latest_is_first_ = false;
    std::vector<whole_step> steps_;
};

class step_finder {
public:
    step_finder(const timeline& data, const attribution& att, bool has_step_function)
        : data_(data), att_(att), has_step_function_(has_step_function) {}

    whole_steps run() const {
        if (has_counted()) return {step_source::counted, counted()};
        if (std::vector<whole_step> found; observed(found)) return {step_source::observed, std::move(found)};
        return {step_source::profiler, of_profiler()};
    }

private:
    bool has_counted() const {
        return std::any_of(data_.marks.begin(), data_.marks.end(),
                           [&](const timeline_mark& mark) { return begins_step(data_, mark); });
    }

    std::vector<whole_step> counted() const {
        std::vector<whole_step> out;
        for (const captured_step& step : find_captured_steps(data_)) {
            out.push_back({step.start_ns, step.end_ns, step.number == 0});
        }
        return out;
    }

    // Whether the capture has observed steps, whole or not. They are all on one thread.
    bool observed(std::vector<whole_step>& out) const {
        range_steps steps(data_, has_step_function_);
        std::uint32_t thread = npos;
        bool is_first = true;
        for (const timeline_range& range : data_.ranges) {
            if (!is_shown_phase(data_, att_, range) || (thread != npos && range.thread != thread)) continue;
            const std::string_view name = data_.name(range.name);
            if (name == step_name) {
                thread = range.thread;
                steps.begin(range, is_first && is_first_of_program(range));
                is_first = false;
            } else if (name == startup_name) {
                // Calls of modules before the program makes its optimizer are not steps.
                steps.clear();
                is_first = true;
            } else if (steps.latest() != nullptr && !steps.is_dispatch() && range.start_ns > steps.latest()->end_ns) {
                steps.give_up();
            }
        }
        out = steps.take();
        return thread != npos;
    }

    // Whether the capture's first step is the program's first. The program's first phase "step" has no witness; for
    // other steps it is the first if the whole run was recorded.
    bool is_first_of_program(const timeline_range& range) const {
        if (!has_step_function_ && range.category != annotation_witness) return range.category == 0;
        return data_.property("plan").empty();
    }

    std::vector<whole_step> of_profiler() const {
        constexpr std::string_view prefix = "ProfilerStep#";
        range_steps steps(data_, false);
        std::uint32_t thread = npos;
        std::uint64_t next = 0;
        for (const timeline_range& range : data_.ranges) {
            if (range.style != range_style::push_pop || range.domain != 0 || att_.hidden.contains(range)) continue;
            const std::string_view name = data_.name(range.name);
            if (!name.starts_with(prefix) || (thread != npos && range.thread != thread)) continue;
            const auto number = parse_number<std::uint64_t>(name.substr(prefix.size()));
            if (!number) continue;
            thread = range.thread;
            if (*number != next) steps.give_up();
            steps.begin(range, *number == 0);
            next = *number + 1;
        }
        return steps.take();
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
        if (data.name(range.name) == step_name) witness = range.category;
    }
    return witness;
}

class step_meter {
public:
    step_meter(const timeline& data, const attribution& att, const whole_steps& of)
        : data_(data), att_(att), steps_(of.steps), are_observed_(of.source == step_source::observed) {}

    void run(step_figures& out) {
        std::vector<std::uint32_t> counted;
        for (std::uint32_t i = 0; i < data_.ops.size(); ++i) {
            if (data_.ops[i].launch == npos) continue;
            out.has_gpu = true;
            if (is_in_step(data_.api_calls[data_.ops[i].launch].start_ns)) counted.push_back(i);
        }
        // By device, and by start within a device, as busy_time requires.
        const auto device = [&](std::uint32_t op) { return data_.place_of(data_.ops[op]).device; };
        const auto is_lower = [&](std::uint32_t a, std::uint32_t b) { return device(a) < device(b); };
        if (!std::is_sorted(counted.begin(), counted.end(), is_lower)) {
            std::stable_sort(counted.begin(), counted.end(), is_lower);
        }
        busy_time busy;
        std::uint32_t latest = npos;
        for (const std::uint32_t op : counted) {
            const gpu_op& of = data_.ops[op];
            if (latest == npos || device(latest) != device(op)) ++out.devices;
            latest = op;
            busy.add(device(op), of.start_ns, of.end_ns);
            step_part& part = parts_[phase_of(op)];
            part.gpu_sum_ns += of.end_ns - of.start_ns;
            part.ops += 1;
            out.gpu_sum_ns += of.end_ns - of.start_ns;
            out.ops += 1;
        }
        out.gpu_busy_ns = busy.total_ns();
        if (out.has_gpu) out.parts = take_parts();
    }

private:
    bool is_in_step(std::int64_t ns) const {
        const auto next = std::upper_bound(steps_.begin(), steps_.end(), ns,
                                           [](std::int64_t at, const whole_step& step) { return at < step.start_ns; });
        return next != steps_.begin() && ns < next[-1].end_ns;
    }

    // The outermost phase below the step for which the operation counts; "" if there is none.
    std::string_view phase_of(std::uint32_t op) const {
        std::string_view outermost;
        bool is_below_step = !are_observed_;
        const auto visit = [&](std::uint32_t index) {
            const timeline_range& range = data_.ranges[index];
            if (!is_phase(data_, range)) return;
            const std::string_view name = data_.name(range.name);
            if (name == step_name) {
                is_below_step = true;
            } else if (name != startup_name) {
                outermost = name;
            }
        };
        // Inside out: what was open at a graph's capture is below what is open at its launch.
        for_each_replayed_range(att_, op, [&](std::uint32_t replayed) { visit(att_.replayed[replayed].range); });
        for_each_open_range(data_, att_, op, visit);
        return is_below_step ? outermost : std::string_view{};
    }

    std::vector<step_part> take_parts() {
        std::vector<step_part> out;
        for (auto& [name, part] : parts_) {
            if (name.empty()) continue;
            part.name = name;
            out.push_back(part);
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const step_part& a, const step_part& b) { return a.gpu_sum_ns > b.gpu_sum_ns; });
        out.push_back(parts_[{}]);
        return out;
    }

    const timeline& data_;
    const attribution& att_;
    const std::vector<whole_step>& steps_;
    bool are_observed_;
    std::map<std::string_view, step_part> parts_;
};

}  // namespace

std::string_view step_source_name(step_source source) noexcept {
    switch (source) {
        case step_source::counted:
            return "counted";
        case step_source::observed:
            return "observed";
        case step_source::profiler:
            break;
    }
    return "profiler";
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

std::optional<step_figures> measure_steps(const timeline& data, const attribution& att, std::string_view step_function,
                                          const step_filter& counts) {
    whole_steps found = step_finder(data, att, !step_function.empty()).run();
    if (counts) std::erase_if(found.steps, [&](const whole_step& of) { return !counts(of.start_ns, of.end_ns); });
    step_figures out;
    // The first step includes one-time work: libraries are loaded, kernels compiled and tuned, memory allocated.
    out.is_first = found.steps.size() == 1 && found.steps.front().is_first;
    if (!out.is_first) std::erase_if(found.steps, [](const whole_step& step) { return step.is_first; });
    if (found.steps.empty()) return {};
    out.steps = found.steps.size();
    out.source = found.source;
    out.witness = witness_of(data, att);
    if (found.source == step_source::observed) out.function = step_function;
    std::vector<std::int64_t> lengths_ns;
    for (const whole_step& step : found.steps) {
        lengths_ns.push_back(step.end_ns - step.start_ns);
        out.host_ns += lengths_ns.back();
    }
    out.host_median_ns = median(std::move(lengths_ns));
    step_meter(data, att, found).run(out);
    return out;
}

}  // namespace prof
