// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/projection/op_class.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/step_table/make_step_table.hpp"
#include "analysis/step_table/step_children.hpp"
#include "analysis/step_table/step_rows.hpp"
#include "analysis/steps/lost_work.hpp"
#include "analysis/steps/step_search.hpp"

namespace prof {
namespace {

// Whether the host is done with the launch: what follows is the GPU's.
bool is_after_launch(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::latency:
        case idle_cause::queued:
        case idle_cause::other_gpu:
        case idle_cause::not_started:
        case idle_cause::unknown:
            return true;
        default:
            return false;
    }
}

// Where there are no steps: the thread that the process began with; if it is not there, the one with the most calls.
thread_id main_thread(const timeline& data) {
    const std::optional<std::int64_t> pid = data.number("pid");
    for (thread_id i{0}; pid && i < data.threads.size(); ++i) {
        if (data.threads[i].tid == *pid) return i;
    }
    row_values<thread_id, std::uint64_t> calls(data.threads.size());
    for (const timeline_api_call& call : data.api_calls) ++calls[call.thread];
    const auto most = std::max_element(calls.begin(), calls.end());
    return most == calls.end() ? npos : thread_id(most - calls.begin());
}

class table_maker {
public:
    table_maker(const timeline& data, const attribution& att, const breakdown_steps& found, const timeline& original,
                const fold_rule& folds, step_cells* cells)
        : data_(data),
          att_(att),
          steps_(found.of.steps),
          thread_(found.of.thread == npos ? main_thread(data) : found.of.thread),
          in_steps_(found.of.steps),
          host_step_(found.of.steps),
          class_of_(data),
          host_(data, att),
          where_(data, att, found.of),
          causes_(data, att, host_, where_, found.of),
          tree_(data, att, folds),
          rows_(data, att, found.of, where_, tree_),
          children_(data, att, original, tree_),
          cells_(cells) {}

    void run(step_table& out) {
        out.lost_launches = launches_of_lost_work(data_, steps_);
        const std::set<std::uint32_t> devices = out.lost_launches == 0 ? devices_of(data_) : std::set<std::uint32_t>();
        for (const std::uint32_t device : devices) cover(device);
        add_host_time();
        count_calls();
        out.devices = static_cast<std::uint32_t>(devices.size());
        out.wall_ns = total_length(steps_) * static_cast<std::int64_t>(devices.size());
        for (const whole_step& step : steps_) out.cpu_ns += step.end_ns - step.start_ns;
        finish(out);
    }

private:
    void cover(std::uint32_t device) {
        in_steps_.restart();
        walk_device(data_, class_of_, device, steps_.front().from_ns(), steps_.back().to_ns(),
                    [&](const covered_time& piece, op_id next) { take(piece, device, next); });
    }

    void take(const covered_time& piece, std::uint32_t device, op_id next) {
        if (!in_steps_.move_to(piece.start_ns, piece.end_ns)) return;
        if (piece.is_idle()) {
            causes_.explain({piece.start_ns, piece.end_ns, device, next},
                            [&](const idle_piece& of) { idle(of, next); });
        } else {
            busy(piece);
        }
    }

    void busy(const covered_time& piece) {
        constexpr std::pair<op_class, step_column> order[] = {{op_class::compute, step_column::computing},
                                                              {op_class::communication, step_column::communication},
                                                              {op_class::memory, step_column::copies}};
        const auto* const first = std::find_if(std::begin(order), std::end(order),
                                               [&](const auto& each) { return piece.of(each.first) != npos; });
        const std::int64_t ns = in_steps(piece.start_ns, piece.end_ns);
        if (ns == 0) return;
        const op_id op = piece.of(first->first);
        const step_rows::found_row found = rows_.of_op(op);
        at(found.row).ns[static_cast<std::size_t>(first->second)] += ns;
        const bool is_by_row = first->second == step_column::computing;
        add_cells(is_by_row ? found.row : step_rows::rest, static_cast<std::size_t>(first->second), piece.start_ns,
                  piece.end_ns);
        children_.add_busy(found, op, first->second, ns);
    }

    void idle(const idle_piece& piece, op_id next) {
        const auto add = [&](const step_rows::found_row& found, std::int64_t ns) {
            at(found.row).ns[static_cast<std::size_t>(column_of_cause(piece.cause))] += ns;
        };
        const auto use = static_cast<std::size_t>(column_of_cause(piece.cause));
        add_cells(step_rows::rest, piece.cause == idle_cause::loader ? loader_use : use, piece.start_ns, piece.end_ns);
        if (is_after_launch(piece.cause)) {
            const std::int64_t ns = in_steps(piece.start_ns, piece.end_ns);
            if (ns != 0) add(next == npos ? step_rows::found_row{} : rows_.of_op(next), ns);
            return;
        }
        // A range of the step before is no part of the next one.
        for (std::int64_t from_ns = piece.start_ns; from_ns < piece.end_ns;) {
            const std::size_t begun = host_step_.begun(from_ns);
            const std::int64_t until_ns =
                begun == steps_.size() ? piece.end_ns : std::min(piece.end_ns, steps_[begun].start_ns);
            const std::int64_t ns = in_steps(from_ns, until_ns);
            if (ns != 0) add(host_row(piece, from_ns, next), ns);
            from_ns = until_ns;
        }
    }

    // Where PyTorch's operators are the parts, that is known of launches alone: launching is for the next operation.
    step_rows::found_row host_row(const idle_piece& piece, std::int64_t at_ns, op_id next) {
        const step_rows::found_row found = rows_.on_host(piece.range, at_ns);
        if (found.row != step_rows::rest || piece.cause != idle_cause::launching || next == npos) return found;
        const step_rows::found_row of_next = rows_.of_op(next);
        return of_next.range == npos ? of_next : found;
    }

    std::int64_t in_steps(std::int64_t start_ns, std::int64_t end_ns) {
        std::int64_t ns = 0;
        in_steps_.for_each(start_ns, end_ns, [&](std::uint32_t /*step*/, std::int64_t from_ns, std::int64_t to_ns) {
            ns += to_ns - from_ns;
        });
        return ns;
    }

    // The same step by step.
    void add_cells(step_row_id row, std::size_t use, std::int64_t start_ns, std::int64_t end_ns) {
        if (cells_ == nullptr) return;
        in_steps_.for_each(start_ns, end_ns, [&](std::uint32_t step, std::int64_t from_ns, std::int64_t to_ns) {
            series_of(row, use)[step] += to_ns - from_ns;
        });
    }
    void add_host_cell(step_row_id row, std::size_t step, std::int64_t ns) {
        if (cells_ != nullptr) series_of(row, no_use)[step] += ns;
    }
    std::vector<std::int64_t>& series_of(step_row_id row, std::size_t use) {
        auto& found = series_[{use, std::min(row, step_row_id(step_cells::most_rows))}];
        if (found.empty()) found.resize(steps_.size());
        return found;
    }
    void add_host_time() {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const whole_step& step = steps_[i];
            if (thread_ == npos) {
                at(step_rows::rest).cpu_ns += step.end_ns - step.start_ns;
                add_host_cell(step_rows::rest, i, step.end_ns - step.start_ns);
                continue;
            }
            host_.for_each_range(
                thread_, step.start_ns, step.end_ns, [&](std::int64_t from_ns, std::int64_t to_ns, range_id range) {
                    const step_rows::found_row found = rows_.on_host(range, from_ns);
                    step_table_row& row = at(found.row);
                    row.cpu_ns += to_ns - from_ns;
                    add_host_cell(found.row, i, to_ns - from_ns);
                    row.wait_ns += waiting(from_ns, to_ns);
                    children_.add_host(
                        found, thread_, range, from_ns, to_ns,
                        [&](std::int64_t since_ns, std::int64_t until_ns) { return waiting(since_ns, until_ns); });
                });
        }
    }

    // How long the steps' thread waits for the GPU or for a copy.
    std::int64_t waiting(std::int64_t from_ns, std::int64_t to_ns) const {
        std::int64_t ns = 0;
        host_.for_each_call(thread_, from_ns, to_ns, [&](const host_activity::stretch& of) {
            if (of.call == npos) return;
            const step_column use = column_of_cause(causes_.cause_of_call(of.call));
            if (use == step_column::syncs || use == step_column::unpinned_copies) ns += of.end_ns - of.start_ns;
        });
        return ns;
    }

    void count_calls() {
        step_search step_at(steps_);
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            if (range.style != range_style::push_pop || range.is_operator || att_.hidden.contains(range)) continue;
            if (step_at.at(range.start_ns) == npos) continue;
            if (range.is_module) {
                const range_id inside = host_.range_at(range.thread, range.start_ns);
                children_.count_call(rows_.on_host(inside, range.start_ns), i);
                continue;
            }
            const step_rows::found_row found = rows_.on_host(i, range.start_ns);
            if (found.range != i) {
                if (found.range != npos) children_.count_call(found, i);
                continue;
            }
            if (continues_phase(data_, range)) continue;
            // The program's range around a phase that has its name is the same call.
            const range_id around = att_.parent[i];
            if (is_range(around) && rows_.on_host(around, range.start_ns).row == found.row) continue;
            step_table_row& row = at(found.row);
            ++row.calls;
            row.first_ns = std::min(row.first_ns, range.start_ns);
        }
    }

    step_table_row& at(step_row_id row) {
        if (row >= out_.size()) out_.resize(rows_.size());
        return out_[row];
    }

    void finish(step_table& out) {
        finish_cells();
        text_budget texts;
        for (const step_row_id i : out_.ids()) {
            step_table_row& row = out_[i];
            if (row.total_ns() == 0 && row.cpu_ns == 0 && row.calls == 0) continue;
            row.name = texts.of(rows_.name(i));
            row.children = children_.take(i);
            row.kind = i == step_rows::rest ? step_row_kind::rest : step_row_kind::phase;
            out.rows.push_back(std::move(row));
        }
        std::stable_sort(out.rows.begin(), out.rows.end(), [](const step_table_row& a, const step_table_row& b) {
            return std::pair(a.total_ns(), a.cpu_ns) > std::pair(b.total_ns(), b.cpu_ns);
        });
    }

    void finish_cells() {
        if (cells_ == nullptr) return;
        cells_->steps = steps_;
        for (auto& [key, ns] : series_) {
            const auto [use, row] = key;
            step_series series{.ns = std::move(ns)};
            series.is_loader = use == loader_use;
            if (use != no_use) series.use = series.is_loader ? step_column::cpu_code : static_cast<step_column>(use);
            if (row == step_cells::most_rows) {
                series.name = "other ranges";
            } else if (row != step_rows::rest) {
                series.name = rows_.name(row);
            } else {
                series.kind = step_row_kind::rest;
            }
            cells_->series.push_back(std::move(series));
        }
    }

    // Of series, beside the columns: of the host, and of the data loader's part of cpu_code.
    static constexpr std::size_t no_use = step_column_count;
    static constexpr std::size_t loader_use = step_column_count + 1;

    const timeline& data_;
    const attribution& att_;
    const std::vector<whole_step>& steps_;
    thread_id thread_;  // npos: there is none
    step_cursor in_steps_;
    step_search host_step_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    row_tree tree_;
    step_rows rows_;
    step_children children_;
    row_table<step_table_row, step_row_id> out_;
    step_cells* cells_;
    std::map<std::pair<std::size_t, step_row_id>, std::vector<std::int64_t>> series_;  // by use and row
};

}  // namespace

step_column column_of_cause(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::launching:
        case idle_cause::latency:
            return step_column::launches;
        case idle_cause::host_code:
        case idle_cause::loader:
            return step_column::cpu_code;
        case idle_cause::waiting:
        case idle_cause::blocking_copy:
            return step_column::syncs;
        case idle_cause::pageable_copy:
            return step_column::unpinned_copies;
        case idle_cause::allocating:
            return step_column::memory_calls;
        case idle_cause::compiling:
        case idle_cause::capturing:
            return step_column::compilation;
        case idle_cause::queued:
            return step_column::short_gaps;
        case idle_cause::other_gpu:
        case idle_cause::not_started:
        case idle_cause::unknown:
            break;
    }
    return step_column::other;
}

step_table make_step_table(const timeline& data, const attribution& att, std::string_view step_function,
                           const step_scope& scope, const timeline* original, const fold_rule& folds,
                           step_cells* cells) {
    const breakdown_steps found = find_breakdown_steps(data, att, !step_function.empty(), scope);
    step_table out{.has_steps = found.has_steps, .by_gpu = found.by_gpu};
    out.steps = found.has_steps ? found.of.steps.size() : 1;
    if (!found.of.steps.empty()) {
        table_maker(data, att, found, original == nullptr ? data : *original, folds, cells).run(out);
    }
    return out;
}

}  // namespace prof
