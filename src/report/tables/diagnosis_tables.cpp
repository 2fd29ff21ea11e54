// SPDX-License-Identifier: Apache-2.0
// The reports diagnose, diagnose_places and critical_path.
#include "report/tables/diagnosis_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analysis/step_table/make_step_table.hpp"
#include "analysis/steps/capture_start.hpp"
#include "base/json_text.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/makers.hpp"
#include "report/memory_answer.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

constexpr std::size_t most_path_rows = 12;  // for people

report_columns<path_share> path_columns(const diagnosis& of) {
    const auto part_of = [](std::int64_t part_ns, auto whole) {
        return static_cast<double>(part_ns) / static_cast<double>(std::max<decltype(whole)>(whole, 1));
    };
    return {{{"kind", "on the path"}, &path_share::kind},
            {{"where", "where"}, &path_share::where},
            {{"module", of.path_has_modules ? "module" : ""}, &path_share::module},
            {{"mean_ns", of.has_steps ? "time" : "mean", quantity::time_ns},
             [part_of, steps = of.steps](const auto& share) { return part_of(share.total_ns, steps); }},
            {{"share", of.has_steps ? "% of step" : "share", quantity::share},
             [part_of, path_ns = of.path_ns](const auto& share) { return part_of(share.total_ns, path_ns); }}};
}

// The dearest, and all others as one.
shown_rows dearest_of_path(const diagnosis& of, std::size_t most) {
    const report_columns<path_share> columns = path_columns(of);
    const std::size_t count = std::min(most, of.path.size());
    shown_rows out{.rows = rows_of(columns, std::span(of.path).first(count))};
    path_share others{.kind = fmt::format("… {} more", of.path.size() - count)};
    for (std::size_t i = count; i < of.path.size(); ++i) others.total_ns += of.path[i].total_ns;
    if (others.total_ns > 0) out.rows.push_back(cells_of(columns, others));
    out.sums.push_back(cells_of(columns, {.kind = "all", .total_ns = of.path_ns}));
    return out;
}

table path_table(const diagnosis& of) {
    table out = make_table("critical_path", of.has_steps ? "Critical path of a step" : "Critical path",
                           path_columns(of), of.path);
    out.shows_if_empty = false;
    if (of.has_steps) out.step_ns = of.step_ns;
    if (!of.no_modules.empty()) out.notes.push_back(of.no_modules);
    out.shorten = [from = std::make_shared<const diagnosis>(of)](const table&, const shown_limits& limits) {
        return dearest_of_path(*from, std::min(limits.rows, most_path_rows));
    };
    return out;
}

// Of whole steps, where the request is for single ranges.
void add_scope(report_part& part, const report_input& input) {
    if (input.selected != nullptr && input.selected->has_ranges()) {
        part.blocks.emplace_back(text_block{{"Of whole steps, all ranges:"}});
    }
}

template <typename TBlock>
report_part one_block(const report_input& input, std::string_view name, TBlock&& block) {
    report_part out{.name = std::string(name)};
    add_scope(out, input);
    out.blocks.emplace_back(std::forward<TBlock>(block));
    return out;
}

// Of the steps that are examined, which ranges do not choose.
std::optional<step_table> examined_time(const report_input& input) {
    const selected_part* const part = input.selected;
    if (part == nullptr || !part->has_ranges()) return step_table_of(projected_timeline(input), input);
    return make_step_table(part->whole(), part->whole_att(), part->step_function(), part->scope(), &part->recorded(),
                           input.projected.fold);
}

// The caller's, or one that is made here.
findings_block findings_of(const report_input& input) {
    capture_diagnosis own(input.data, input.projected, default_least_share);
    capture_diagnosis& made = input.diagnosed != nullptr ? *input.diagnosed : own;
    findings_block out{made.get(), earliest_moment(made.data())};
    std::optional<step_table> where;
    if (!out.found.findings.empty()) where = examined_time(input);
    out.changes = priced_changes_of(out.found, where ? &*where : nullptr);
    return out;
}

}  // namespace

table findings_table(const diagnosis& of) {
    const auto per_step = [&](std::int64_t finding::*total_ns) {
        return [&of, total_ns](const finding& found) { return of.per_step(found.*total_ns); };
    };
    const report_columns<finding> columns = {
        {{"rule", ""}, &finding::rule},
        {{"finding", ""}, &finding::title},
        {{"gain_ns", "", quantity::time_ns}, per_step(&finding::gain_ns)},
        {{"gain_share", "", quantity::share}, [&](const auto& found) { return of.share_of(found.gain_ns); }},
        {{"cost_ns", "", quantity::time_ns}, per_step(&finding::cost_ns)},
        {{"steps", "", quantity::count}, &finding::steps},
        {{"confidence", ""}, [](const auto& found) { return to_string(found.trust); }},
        {{"modules", ""}, &finding::modules},
        {{"bound", ""}, &finding::bound},
        {{"advice", ""}, &finding::advice}};
    table out = make_table("diagnose", "Findings", columns, of.findings);
    out.totals = {{"steps", of.steps},
                  {"warm_up", of.warm_up},
                  {"step_ns", of.step_ns},
                  {"wall_ns", of.wall_ns},
                  {"replayed_ns", of.replayed_ns},
                  {"together_ns", of.per_step(of.together_ns)},
                  {"least_share", of.least_share},
                  {"bound_by", of.bound_by},
                  {"unexplained_ns", of.per_step(of.unexplained_ns)},
                  {"remarks", of.remarks},
                  {"looked", of.looked},
                  {"not_looked", of.not_looked}};
    return out;
}

table places_table(const findings_block& block) {
    const diagnosis& of = block.found;
    struct place {
        std::size_t number;  // of the finding, from 1 on
        const finding& found;
        const finding_part& part;
    };
    const auto text = [](std::string finding_part::*member) {
        return [member](const place& row) { return text_or_none(row.part.*member); };
    };
    const auto share = [](double thread_shares::*member) {
        return [member](const place& row) { return none_unless(row.part.did.is_known(), row.part.did.*member); };
    };
    const report_columns<place> columns = {
        {{"finding", "", quantity::identity}, &place::number},
        {{"rule", ""}, [](const auto& row) { return row.found.rule; }},
        {{"place", ""}, [](const auto& row) { return row.part.what; }},
        {{"cost_ns", "", quantity::time_ns}, [&](const auto& row) { return of.per_step(row.part.cost_ns); }},
        {{"count", "", quantity::number},
         [&](const auto& row) { return of.per_step(static_cast<std::int64_t>(row.part.count)); }},
        {{"longest_ns", "", quantity::time_ns}, [](const auto& row) { return row.part.longest_ns; }},
        {{"longest_at_ns", "", quantity::moment_ns},
         [&](const auto& row) { return row.part.longest_at_ns - block.begin_ns; }},
        {{"line", ""}, text(&finding_part::line)},
        {{"code", ""}, text(&finding_part::code)},
        {{"ran_share", "", quantity::share}, share(&thread_shares::ran)},
        {{"waited_share", "", quantity::share}, share(&thread_shares::waited)},
        {{"blocked_share", "", quantity::share}, share(&thread_shares::blocked)},
        {{"blocked_in", ""}, [](const auto& row) { return text_or_none(row.part.did.blocked_in); }}};
    table out = make_table("diagnose_places", "Places of the findings", columns);
    for (std::size_t i = 0; i < of.findings.size(); ++i) {
        for (const finding_part& part : of.findings[i].parts) {
            out.rows.push_back(cells_of(columns, {i + 1, of.findings[i], part}));
        }
    }
    return out;
}

table lines_table(const findings_block& block) {
    const diagnosis& of = block.found;
    const report_columns<line_cost> columns = {
        {{"line", "line"}, [](const auto& row) { return row.line.empty() ? "(not known)" : row.line; }},
        {{"cause", "cause"}, &line_cost::cause},
        {{"cost_ns", "time", quantity::time_ns}, [&](const auto& row) { return of.per_step(row.cost_ns); }},
        {{"share", "share", quantity::share}, [&](const auto& row) { return of.share_of(row.cost_ns); }},
        {{"count", "times", quantity::number, 1},
         [&](const auto& row) { return of.per_step(static_cast<std::int64_t>(row.count)); }},
        {{"steps", "steps", quantity::count, 4}, &line_cost::steps},
        {{"longest_ns", "longest", quantity::time_ns, 3}, &line_cost::longest_ns},
        {{"longest_at_ns", "", quantity::moment_ns},
         [&](const auto& row) { return row.longest_at_ns - block.begin_ns; }},
        {{"gain_ns", "gain", quantity::time_ns},
         [&](const auto& row) { return none_unless(row.gain_ns > 0, of.per_step(row.gain_ns)); }},
        {{"code", "code", quantity::text, 2}, text_or_none(&line_cost::code)},
        {{"stack", ""}, text_or_none(&line_cost::stack)}};
    table out = make_table(
        "lines", of.has_steps ? "The host's time in a step, by line of the program" : "The host's time, by line",
        columns, of.lines);
    std::int64_t known_ns = 0, all_ns = 0;
    for (const line_cost& row : of.lines) {
        all_ns += row.cost_ns;
        if (!row.line.empty()) known_ns += row.cost_ns;
    }
    if (!of.no_lines.empty()) out.notes.push_back(of.no_lines);
    if (of.stacks_left_out != 0) {
        out.notes.push_back(
            fmt::format("{} stacks were left out, since there were too many of them in a second: what "
                        "lines have is a sample",
                        of.stacks_left_out));
    }
    out.totals = {
        {"known_ns", of.per_step(known_ns)}, {"all_ns", of.per_step(all_ns)}, {"stacks_left_out", of.stacks_left_out}};
    out.legend = {
        {"line", "line: of host code the line that ran, by samples; without samples the line of the next CUDA call."},
        {"gain",
         "gain: by how much a step would be shorter without this line's time, by the findings; lines' gains overlap."}};
    return out;
}

report_part lines_report(const report_input& input) {
    return one_block(input, "lines", lines_table(findings_of(input)));
}

report_part diagnose_report(const report_input& input) {
    report_part out = one_block(input, "diagnose", findings_of(input));
    text_block memory;
    for (const memory_finding& each : input_memory(input).findings()) {
        memory.paragraphs.push_back(
            terminal_safe("Memory: " + each.title + (each.advice.empty() ? "" : "; try: " + each.advice)));
    }
    if (!memory.paragraphs.empty()) out.blocks.emplace_back(std::move(memory));
    return out;
}

report_part diagnose_places_report(const report_input& input) {
    return one_block(input, "diagnose_places", places_table(findings_of(input)));
}

report_part critical_path_report(const report_input& input) {
    return one_block(input, "critical_path", path_table(findings_of(input).found));
}

}  // namespace prof
