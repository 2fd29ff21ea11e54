// SPDX-License-Identifier: Apache-2.0
#include "report/tables/step_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/projection/row_fold.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/selection/step_choice.hpp"
#include "analysis/selection/step_scope.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

// Of something that is in few of the windows, and met more or less in their order.
class totals_by_window {
public:
    void add(std::size_t window, double value) {
        if (items_.empty() || items_.back().window != window) {
            if (items_.size() >= merge_at_) merge();
            items_.push_back({window, 0});
        }
        items_.back().total += value;
    }
    bool is_empty() const noexcept { return items_.empty(); }
    std::span<const window_total> merged() {
        merge();
        return items_;
    }

private:
    void merge() {
        const auto by_window = [](const window_total& a, const window_total& b) { return a.window < b.window; };
        if (!std::is_sorted(items_.begin(), items_.end(), by_window)) {
            std::stable_sort(items_.begin(), items_.end(), by_window);
        }
        std::size_t to = 0;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (to != 0 && items_[to - 1].window == items_[i].window) {
                items_[to - 1].total += items_[i].total;
            } else {
                items_[to++] = items_[i];
            }
        }
        items_.resize(to);
        merge_at_ = std::max<std::size_t>(2 * to, 16);
    }

    std::vector<window_total> items_;
    std::size_t merge_at_ = 16;
};

class step_sampler {
public:
    step_sampler(const timeline& data, const attribution& att, const fold_rule& rule, const whole_steps* chosen)
        : data_(data), att_(att), tree_(data, att, rule) {
        result_.fold = rule;
        find_steps(chosen);
        place_windows();
        rows_.resize(tree_.nodes().size());
    }

    step_estimate run() {
        for (const op_id op : data_.ops.ids()) count(op);
        for (const range_id range : data_.ranges.ids()) {
            count_instance(tree_.node_of(range), data_.ranges[range].start_ns);
        }
        for (const replayed_id i : att_.replayed.ids()) {
            count_instance(tree_.node_of_replayed(i), data_.api_calls[att_.replayed[i].launch].start_ns);
        }
        const mean_estimator estimate_of(windows_);
        arrange_rows(estimate_of);
        result_.total.path = "all GPU work";
        result_.total.gpu_ns = estimate_of(total_.merged());
        return std::move(result_);
    }

private:
    // By window, in the order of windows_.
    struct row {
        totals_by_window gpu_ns;
        totals_by_window instances;
    };

    void find_steps(const whole_steps* chosen) {
        const bool are_counted = std::any_of(data_.marks.begin(), data_.marks.end(),
                                             [&](const timeline_mark& mark) { return begins_step(data_, mark); });
        const bool are_drawn = std::any_of(data_.windows.begin(), data_.windows.end(),
                                           [](const timeline_window& window) { return window.drawn_among != 0; });
        if (are_counted && are_drawn) {
            steps_ = find_captured_steps(data_);
        } else {
            const whole_steps found = chosen != nullptr ? *chosen : steps_that_count(data_, att_);
            result_.warm_up = found.warm_up;
            for (const whole_step& step : found.steps) {
                steps_.push_back({.start_ns = step.start_ns,
                                  .end_ns = step.end_ns,
                                  .number = step.number,
                                  .window = static_cast<std::uint32_t>(prof::window_at(data_.windows, step.start_ns))});
            }
        }
        // Of a recording that ended before its first step the run may know how many there were.
        if (are_counted || (steps_.empty() && step_count_is_known(data_))) {
            result_.all_steps = steps_of_run(data_);
            result_.step_count_is_known = step_count_is_known(data_);
        } else {
            result_.all_steps = std::max(all_numbered_steps(data_, att_).size(), steps_.size());
        }
    }

    void place_windows() {
        std::map<std::uint32_t, double> captured;  // by window
        for (const captured_step& step : steps_) captured[step.window] += 1;
        result_.captured_steps = steps_.size();
        result_.windows = captured.size();
        bool all_drawn = !captured.empty();
        for (const auto& [window, steps] : captured) {
            place_of_[window] = windows_.size();
            const std::uint64_t drawn_among = steps_drawn_from(data_.windows[window]);
            windows_.push_back({.stands_for = static_cast<double>(drawn_among), .steps = steps});
            all_drawn = all_drawn && drawn_among != 0;
            result_.stood_for += drawn_among;
        }
        if (all_drawn) return;
        // Nobody drew them: each stands for as many of the others as it has of those captured.
        result_.stood_for = 0;
        const double each = std::max(static_cast<double>(result_.all_steps) / static_cast<double>(steps_.size()), 1.0);
        for (window_sample& window : windows_) window.stands_for = window.steps * each;
    }

    // Without those that the run did not come to.
    std::uint64_t steps_drawn_from(const timeline_window& window) const {
        if (!result_.step_count_is_known || result_.all_steps <= window.drawn_first) return window.drawn_among;
        return std::min(window.drawn_among, result_.all_steps - window.drawn_first);
    }

    // The place in windows_ of the one that has the step; npos: what happened then is in no step that was captured.
    std::size_t window_at(std::int64_t ns) const {
        const auto next =
            std::upper_bound(steps_.begin(), steps_.end(), ns,
                             [](std::int64_t at, const captured_step& step) { return at < step.start_ns; });
        if (next == steps_.begin() || ns >= next[-1].end_ns) return npos;
        return place_of_.at(next[-1].window);
    }

    void count(op_id index) {
        const gpu_op& op = data_.ops[index];
        if (op.launch == npos) return;
        const std::size_t window = window_at(data_.api_calls[op.launch].start_ns);
        if (window == npos) return;
        const auto ns = static_cast<double>(op.end_ns - op.start_ns);
        const auto count_for = [&](std::uint32_t node) { rows_[node].gpu_ns.add(window, ns); };
        total_.add(window, ns);
        tree_.for_each_open_node(index, count_for);
        for_each_replayed_range(att_, index,
                                [&](replayed_id replayed) { count_for(tree_.node_of_replayed(replayed)); });
        if (const std::uint32_t fixed = tree_.fixed_of(index); fixed != npos) count_for(fixed);
    }

    void count_instance(std::uint32_t node, std::int64_t start_ns) {
        const std::size_t window = node == npos ? npos : window_at(start_ns);
        if (window != npos) rows_[node].instances.add(window, 1);
    }

    void arrange_rows(const mean_estimator& estimate_of) {
        std::vector<std::string> paths(rows_.size());
        std::vector<std::uint32_t> depths(rows_.size(), 0);
        std::vector<std::uint32_t> row_of(rows_.size(), npos);  // the node's row, or the nearest one above it
        for (const row_tree::node_id node : tree_.preorder()) {
            const row_tree::node& n = tree_.nodes()[node];
            paths[node] = n.segment;
            if (n.parent != npos) {
                paths[node] = paths[n.parent] + '/' + paths[node];
                depths[node] = depths[n.parent] + 1;
                row_of[node] = row_of[n.parent];
            }
            row& of = rows_[node];
            if (of.gpu_ns.is_empty() && of.instances.is_empty()) continue;
            const std::uint32_t parent = std::exchange(row_of[node], static_cast<std::uint32_t>(result_.rows.size()));
            result_.rows.push_back({.path = paths[node],
                                    .name = std::string(n.text),
                                    .depth = depths[node],
                                    .parent = parent,
                                    .kind = row_tree::kind_of(node),
                                    .is_captured = n.is_captured,
                                    .is_observed = n.is_observed,
                                    .gpu_ns = estimate_of(of.gpu_ns.merged()),
                                    .instances = estimate_of(of.instances.merged())});
        }
    }

    const timeline& data_;
    const attribution& att_;
    row_tree tree_;
    std::vector<captured_step> steps_;
    std::vector<window_sample> windows_;             // those that have steps
    std::map<std::uint32_t, std::size_t> place_of_;  // of a timeline's window in windows_
    std::vector<row> rows_;                          // per node of the tree
    totals_by_window total_;
    step_estimate result_;
};

// `total`: the row of all GPU work.
report_columns<step_estimate_row> estimate_columns(const step_estimate_row& total) {
    using row = step_estimate_row;
    const auto type = [&total](const row& range) {
        return &range == &total ? "total" : row_type(range.kind, range.is_captured, range.is_observed);
    };
    const auto instances = [&total](auto figure) {
        return [&total, figure](const row& range) { return none_unless(&range != &total, range.instances.*figure); };
    };
    return {{{"path", ""}, &row::path},
            {{"", "range"}, [](const row& range) { return with_captured(range.path, range.is_captured); }},
            {{"type", ""}, type},
            {{"gpu_ns", "GPU/step", quantity::time_ns}, [](const row& range) { return range.gpu_ns.mean; }},
            {{"half_width_ns", "+/-", quantity::time_ns}, [](const row& range) { return range.gpu_ns.half_width; }},
            {{"instances", "count/step", quantity::number, 1}, instances(&estimate::mean)},
            {{"instances_half_width", "", quantity::number}, instances(&estimate::half_width)}};
}

// Those with the most GPU time a step, all rows above them, and the rows (no range), (ambiguous) and (unmatched).
shown_rows largest_rows(const std::vector<weighed_row>& weighed, const table& whole, const shown_limits& limits) {
    const std::vector<std::uint8_t> kept = choose_rows(weighed, limits.rows);
    shown_rows out;
    // Behind the ranges stands the row of all of them.
    for (std::size_t i = 0; i < whole.rows.size(); ++i) {
        if (i >= kept.size() || kept[i] != 0) out.rows.push_back(whole.rows[i]);
    }
    if (const std::size_t left_out = whole.rows.size() - out.rows.size(); left_out != 0) {
        out.notes.push_back(std::to_string(left_out) + " rows with less GPU time are left out; --rows all shows them");
    }
    return out;
}

}  // namespace

step_estimate estimate_steps(const timeline& data, const attribution& att, const fold_rule& rule,
                             const whole_steps* chosen) {
    return step_sampler(data, att, rule, chosen).run();
}

table steps_table(const step_estimate& of) {
    const report_columns<step_estimate_row> columns = estimate_columns(of.total);
    table out = make_table("steps", "GPU time a step, by range", columns, of.rows);
    out.totals = {{"fold", of.fold.text()},
                  {"captured_steps", of.captured_steps},
                  {"windows", of.windows},
                  {"steps", of.all_steps},
                  {"stood_for", of.stood_for}};
    std::vector<weighed_row> weighed;
    weighed.reserve(of.rows.size());
    for (const step_estimate_row& row : of.rows) {
        weighed.push_back({.parent = row.parent,
                           .gpu_ns = std::llround(std::clamp(row.gpu_ns.mean, -1e18, 1e18)),
                           .is_fixed = row.kind != row_kind::range});
    }
    out.shorten = [weighed = std::move(weighed)](const table& whole, const shown_limits& limits) {
        return largest_rows(weighed, whole, limits);
    };
    if (of.captured_steps == 0) {
        out.notes.emplace_back(
            "the capture has no whole step: call prof_step at each step, or name the range that is one, --step-range "
            "NAME (iteration # for numbered names)");
        return out;
    }
    out.rows.push_back(cells_of(columns, of.total));
    const std::string from = std::to_string(of.captured_steps) + (of.step_count_is_known ? " of " : " of at least ") +
                             std::to_string(of.all_steps) + " steps, in " + std::to_string(of.windows) +
                             (of.windows == 1 ? " window" : " windows") +
                             (of.warm_up == 0 ? "" : " (" + std::to_string(of.warm_up) + " of warm-up left out)");
    if (of.stood_for != 0) {
        out.notes.push_back("from " + from + " chosen at random among " + std::to_string(of.stood_for));
    } else {
        out.notes.push_back("from " + from + " that were not chosen at random: +/- holds if the others are like them");
    }
    if (!of.rows.empty() && of.total.gpu_ns.mean == 0) out.instead = "the steps have no GPU work";
    out.legend = {
        {"GPU/step",
         "GPU/step: durations of the operations launched inside, added, a step; estimated from the steps that were "
         "captured."},
        {"+/-", "+/-: half the 95 % confidence interval."}};
    return out;
}

table steps_report(const report_input& input) {
    const projected_timeline shown(input);
    const selected_part* const part = input.selected;
    if (part == nullptr) {
        const whole_steps steps = steps_that_count(shown.data(), shown.att(), !shown.step_function().empty());
        return steps_table(estimate_steps(shown.data(), shown.att(), input.projected.fold, &steps));
    }
    const whole_steps steps =
        steps_that_count(part->whole(), part->whole_att(), !part->step_function().empty(), part->scope());
    return steps_table(estimate_steps(shown.data(), shown.att(), input.projected.fold, &steps));
}

}  // namespace prof
