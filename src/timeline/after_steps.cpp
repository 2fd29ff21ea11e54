// SPDX-License-Identifier: Apache-2.0
#include "timeline/after_steps.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/label.hpp"
#include "timeline/start_end.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

// Digits do not tell what a step does from what the next one does.
std::string without_digits(std::string_view name) {
    std::string out;
    std::copy_if(name.begin(), name.end(), std::back_inserter(out), [](char c) { return c < '0' || c > '9'; });
    return out;
}

class last_step {
public:
    explicit last_step(timeline& data) : data_(data) {}

    void end() {
        find();
        if (step_ == npos) return;
        const std::int64_t end_ns = end_of_work();
        const timeline_range& step = data_.ranges[step_];
        if (end_ns == INT64_MIN || (step.end_ns != never_ended && step.end_ns <= end_ns)) return;
        divide(end_ns);
    }

private:
    bool is_phase(const timeline_range& range) const {
        return range.style == range_style::push_pop && range.domain < data_.domains.size() &&
               data_.domains[range.domain].name == phase_domain;
    }
    bool is_step(const timeline_range& range) const {
        return is_phase(range) && data_.name(range.name) == "step" && range.category != annotation_witness;
    }

    // The steps are those of one thread, the first that has any.
    void find() {
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            if (!is_step(data_.ranges[i])) continue;
            if (thread_ == npos) thread_ = data_.ranges[i].thread;
            if (data_.ranges[i].thread == thread_) step_ = i;
        }
        if (step_ == npos) return;
        const timeline_range& step = data_.ranges[step_];
        const bool is_in_last_window =
            data_.windows.empty() || window_at(data_.windows, step.start_ns) + 1 == data_.windows.size();
        if (!is_in_last_window) step_ = npos;
    }

    // Where the last part of the step ends; INT64_MIN if it has none, or one goes on until the program ends.
    std::int64_t end_of_work() const {
        std::unordered_set<std::string> usual;  // names of what is directly inside earlier steps
        for (std::uint32_t i = 0; i < step_; ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.parent == npos || !range.takes_part() || !is_step(data_.ranges[range.parent])) continue;
            usual.insert(without_digits(data_.name(range.name)));
        }
        std::vector<std::uint32_t> parts(data_.ranges.size() - step_, npos);  // directly inside, around each range
        std::int64_t end_ns = INT64_MIN;
        for (std::uint32_t i = step_ + 1; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.thread != thread_ || !range.takes_part() || range.parent == npos || range.parent < step_)
                continue;
            const std::uint32_t outermost = range.parent == step_ ? i : parts[range.parent - step_];
            parts[i - step_] = outermost;
            if (outermost == npos) continue;
            const bool is_usual = outermost == i && usual.contains(without_digits(data_.name(range.name)));
            if (!is_phase(range) && !is_usual) continue;
            const timeline_range& part = data_.ranges[outermost];
            if (part.end_ns == never_ended) return INT64_MIN;
            end_ns = std::max(end_ns, part.end_ns);
        }
        return end_ns;
    }

    // Whether anything was recorded after the step. A row for nothing but time would be in each program's table.
    bool has_rest(std::int64_t at_ns) const {
        const auto is_after = [&](std::uint32_t thread, std::int64_t start_ns) {
            return thread == thread_ && start_ns >= at_ns;
        };
        return std::any_of(data_.ranges.begin() + step_ + 1, data_.ranges.end(),
                           [&](const timeline_range& range) { return is_after(range.thread, range.start_ns); }) ||
               std::any_of(data_.api_calls.begin(), data_.api_calls.end(),
                           [&](const timeline_api_call& call) { return is_after(call.thread, call.start_ns); });
    }

    void divide(std::int64_t at_ns) {
        if (!has_rest(at_ns)) {
            data_.ranges[step_].end_ns = at_ns;
            data_.ranges[step_].open_at_end = false;
            return;
        }
        timeline_range rest = data_.ranges[step_];
        rest.start_ns = at_ns;
        rest.category = 0;
        rest.name = name_of_rest();
        while (rest.parent != npos && has_ended(data_.ranges[rest.parent], at_ns)) {
            rest.parent = data_.ranges[rest.parent].parent;
        }
        rest.depth = rest.parent == npos ? 0 : data_.ranges[rest.parent].depth + 1;
        const auto index = static_cast<std::uint32_t>(data_.ranges.size());
        timeline_range& step = data_.ranges[step_];
        step.end_ns = at_ns;
        step.open_at_end = false;
        for (std::uint32_t i = step_ + 1; i < index; ++i) {
            timeline_range& inside = data_.ranges[i];
            if (inside.parent == step_ && inside.start_ns >= at_ns) inside.parent = index;
        }
        data_.ranges.push_back(rest);
        replace_nodes(index, at_ns);
    }

    static bool has_ended(const timeline_range& range, std::int64_t at_ns) {
        return range.end_ns != never_ended && range.end_ns <= at_ns;
    }

    // What was opened or called after the step's end has the rest below it, where it had the step.
    void replace_nodes(std::uint32_t rest, std::int64_t at_ns) {
        std::unordered_map<std::uint32_t, std::uint32_t> of_rest;  // node of the step → of the rest
        const std::size_t nodes = data_.open_nodes.size();
        for (std::uint32_t i = 0; i < nodes; ++i) {
            if (data_.open_nodes[i].range != step_) continue;
            of_rest.emplace(i, static_cast<std::uint32_t>(data_.open_nodes.size()));
            data_.open_nodes.push_back(data_.open_nodes[i]);
            data_.open_nodes.back().range = rest;
        }
        const auto replace = [&](std::uint32_t& node) {
            if (const auto found = of_rest.find(node); found != of_rest.end()) node = found->second;
        };
        for (std::size_t i = 0; i < nodes; ++i) {
            open_node& node = data_.open_nodes[i];
            const timeline_range& range = data_.ranges[node.range];
            if (range.thread != thread_ || range.start_ns < at_ns) continue;
            replace(node.below);
            replace(node.aside);
        }
        for (timeline_api_call& call : data_.api_calls) {
            if (call.thread != thread_ || call.start_ns < at_ns) continue;
            replace(call.open);
            replace(call.open_on_thread);
        }
        for (timeline_graph_node& node : data_.graph_nodes) {
            if (node.thread == thread_ && node.created_ns >= at_ns) replace(node.open);
        }
        for (work_parent& parent : data_.work_parents) {
            if (parent.thread == thread_ && parent.time_ns >= at_ns) replace(parent.open);
        }
    }

    std::uint32_t name_of_rest() {
        std::uint32_t id = 0xFFFF'FFFE;
        while (data_.name_table.contains(id)) --id;
        data_.name_table.emplace(id, after_steps_phase);
        return id;
    }

    timeline& data_;
    std::uint32_t thread_ = npos;
    std::uint32_t step_ = npos;
};

}  // namespace

void end_last_step(timeline& data) { last_step(data).end(); }

}  // namespace prof
