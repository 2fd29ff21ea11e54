// SPDX-License-Identifier: Apache-2.0
// The report gpu_gaps: the gaps in which a GPU was idle, one by one.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/breakdown/gpu_gaps.hpp"
#include "analysis/projection/operation_name.hpp"
#include "base/display_text.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"
#include "report/tables/durations.hpp"
#include "report/time_answer.hpp"

namespace prof {
namespace {

// The gaps and their columns, which refer to it. Refers to the input.
class gap_table {
public:
    gap_table(const report_input& input, std::size_t most) : input_(input), shown_(input), data_(shown_.data()) {
        const std::optional<step_time_subject> subject = step_time_of(shown_, input);
        if (!subject) return;
        data_ = std::cref(subject->data);
        found_ = find_gpu_gaps(subject->data, subject->att, subject->step_function, subject->scope, most);
    }
    gap_table(const gap_table&) = delete;
    gap_table& operator=(const gap_table&) = delete;

    // Null: there is no time to look at.
    const gpu_gap_list* found() const noexcept { return found_ ? &*found_ : nullptr; }

    report_columns<gpu_gap> columns() {
        report_columns<gpu_gap> out = {
            {{"start_ns", "from", quantity::moment_ns},
             [this](const auto& gap) { return gap.start_ns - data().start_ns; }},
            {{"step", has_steps() ? "step" : "", quantity::identity},
             [this](const auto& gap) { return none_unless(has_steps(), gap.step); }},
            {{"device", found_ && found_->devices == 1 ? "" : "GPU", quantity::identity, 3}, &gpu_gap::device},
            {{"idle_ns", "idle", quantity::time_ns}, &gpu_gap::idle_ns},
            {{"idle_share", "share", quantity::share, 4},
             [this](const auto& gap) { return share_of(gap.idle_ns, found_->idle_ns); }},
            {{"group", ""}, [](const auto& gap) { return to_string(group_of(gap.cause)); }},
            {{"cause", ""}, [](const auto& gap) { return to_string(gap.cause); }},
            {{"", "cause"}, [this](const auto& gap) { return idle_text(gap.cause, call_name(gap.call), place(gap)); }},
            {{"cause_share", "of it", quantity::share, 2}, share_of(&gpu_gap::cause_ns, &gpu_gap::idle_ns)},
            {{"call", ""}, [this](const auto& gap) { return text_or_none(call_name(gap.call)); }},
            {{"place", ""}, [this](const auto& gap) { return text_or_none(place(gap)); }},
            {{"drained_by", ""}, [this](const auto& gap) { return text_or_none(call_name(gap.drained)); }},
            {{"queued_at_start", "queued", quantity::count}, &gpu_gap::queued_at_start},
            {{"queued_at_launch", "at launch", quantity::count, 2}, &gpu_gap::queued_at_launch},
            {{"launch_to_start_ns", "to start", quantity::time_ns, 2}, &gpu_gap::launch_to_start_ns},
            {{"before", ""}, [this](const auto& gap) { return name_of(gap.before, input_.names); }},
            {{"next", ""}, [this](const auto& gap) { return name_of(gap.next, input_.names); }},
            {{"", "before", quantity::text, 1},
             [this](const auto& gap) { return name_of(gap.before, people_names()); }},
            {{"", "next"}, [this](const auto& gap) { return name_of(gap.next, people_names()); }}};
        for (std::size_t cause = 0; cause < idle_cause_count; ++cause) {
            std::string key(to_string(static_cast<idle_cause>(cause)));
            std::replace(key.begin(), key.end(), ' ', '_');
            out.push_back(
                {{key + "_ns", "", quantity::time_ns}, [cause](const gpu_gap& gap) { return gap.by_cause[cause]; }});
        }
        return out;
    }

private:
    bool has_steps() const noexcept { return !found_ || found_->has_steps; }
    const std::string& place(const gpu_gap& gap) const { return found_->places[gap.place]; }
    const timeline& data() const noexcept { return data_; }
    std::string call_name(std::uint32_t call) const {
        if (call == npos || !input_.call_name) return {};
        return input_.call_name(data().api_calls[call]);
    }

    // Short, since there are two in a row.
    kernel_name_style people_names() const {
        return input_.names == kernel_name_style::full ? kernel_name_style::short_form : input_.names;
    }
    table_cell name_of(std::uint32_t op, kernel_name_style style) {
        if (op == npos) return {};
        const gpu_op& of = data().ops[op];
        const std::uint64_t key = (std::uint64_t{of.detail} << 2 | static_cast<std::uint64_t>(of.kind)) << 2 |
                                  static_cast<std::uint64_t>(style);
        const auto [known, is_new] = names_.try_emplace(key);
        if (is_new) known->second = operation_name(data(), of, style);
        return known->second;
    }

    const report_input& input_;
    projected_timeline shown_;
    std::reference_wrapper<const timeline> data_;
    std::optional<gpu_gap_list> found_;
    std::unordered_map<std::uint64_t, std::string> names_;  // by detail, kind and style
};

// In the report's own order the gaps that will not be shown need not be kept.
std::size_t most_gaps(const report_input& input) {
    return input.sort.empty() ? std::min(input.limit, input.most_rows) : SIZE_MAX;
}

}  // namespace

table gpu_gaps_report(const report_input& input) {
    const auto rows = std::make_shared<gap_table>(input, most_gaps(input));
    table out = make_table("gpu_gaps", "Gaps in which the GPU was idle", rows->columns());
    const gpu_gap_list* const of = rows->found();
    if (of == nullptr) {
        out.instead = no_step_time(input);
        return out;
    }
    const auto for_each_gap = [rows](const auto& visit) {
        for (const gpu_gap& gap : rows->found()->gaps) visit(gap);
    };
    give_rows(out, rows->columns(), of->gaps.size(), for_each_gap, input.may_make_rows_later);
    out.totals = {{"steps", of->steps},
                  {"devices", of->devices},
                  {"gaps", of->count},
                  {"idle_ns", of->idle_ns},
                  {"empty_queue_ns", of->empty_queue_ns}};
    std::string sum;
    if (of->count != 0) {
        sum = fmt::format("{} gaps of {:.3f} ms together; {:.1f} % of that in gaps that began with an empty queue",
                          with_thousands(of->count), static_cast<double>(of->idle_ns) / 1e6,
                          100 * share_of(of->empty_queue_ns, of->idle_ns));
    }
    out.shorten = [sum](const table& whole, const shown_limits& limits) {
        const std::size_t count = std::min(limits.rows, whole.rows.size());
        shown_rows gaps{.rows = {whole.rows.begin(), whole.rows.begin() + static_cast<std::ptrdiff_t>(count)}};
        if (!sum.empty()) gaps.notes.push_back(sum);
        return gaps;
    };
    if (!of->gaps.empty()) out.unit_ns = std::max<std::int64_t>(of->gaps.front().idle_ns, 1'000'000);
    out.legend = {
        {"from", "from: since the capture's first moment, as --from and --to take it."},
        {"of it", "of it: the cause's share of the gap; other causes have the rest."},
        {"queued", "queued: launched operations when the gap began; 0: the host was late."},
        {"at launch", "at launch: the same when the next operation's launch began; to start: from then to its start."}};
    return or_none(std::move(out), "the GPU was never idle in a step");
}

}  // namespace prof
