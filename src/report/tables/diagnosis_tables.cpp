// SPDX-License-Identifier: Apache-2.0
// The reports diagnose, diagnose_places and critical_path.
#include "report/tables/diagnosis_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "analysis/steps/capture_start.hpp"
#include "base/json_text.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/makers.hpp"
#include "report/memory_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_path_rows = 12;  // for people

struct path_rows {
    std::vector<path_share> shares;
    std::int64_t path_ns = 0;
    std::uint64_t steps = 1;

    table_row row(std::string kind, std::string where, std::string module, std::int64_t total_ns) const {
        return {std::move(kind), std::move(where), std::move(module),
                static_cast<double>(total_ns) / static_cast<double>(std::max<std::uint64_t>(steps, 1)),
                static_cast<double>(total_ns) / static_cast<double>(std::max<std::int64_t>(path_ns, 1))};
    }
    table_row row(const path_share& share) const { return row(share.kind, share.where, share.module, share.total_ns); }

    // The dearest, and all others as one.
    shown_rows shown(std::size_t most) const {
        shown_rows out;
        const std::size_t count = std::min(most, shares.size());
        for (std::size_t i = 0; i < count; ++i) out.rows.push_back(row(shares[i]));
        std::int64_t left_ns = 0;
        for (std::size_t i = count; i < shares.size(); ++i) left_ns += shares[i].total_ns;
        if (left_ns > 0) out.rows.push_back(row(fmt::format("… {} more", shares.size() - count), "", "", left_ns));
        out.sums.push_back(row("all", "", "", path_ns));
        return out;
    }
};

table path_table(const diagnosis& of) {
    const auto from = std::make_shared<const path_rows>(path_rows{of.path, of.path_ns, of.steps});
    table out;
    out.report = "critical_path";
    out.heading = of.has_steps ? "Critical path of a step" : "Critical path";
    out.shows_if_empty = false;
    out.columns = {{"kind", "on the path"},
                   {"where", "where"},
                   {"module", of.path_has_modules ? "module" : ""},
                   {"mean_ns", "mean", quantity::time_ns},
                   {"share", "share", quantity::share}};
    if (of.has_steps) {
        out.step_ns = of.step_ns;
        out.columns[3].title = "time";
        out.columns[4].title = "% of step";
    }
    for (const path_share& share : of.path) out.rows.push_back(from->row(share));
    if (!of.no_modules.empty()) out.notes.push_back(of.no_modules);
    out.shorten = [from](const table&, const shown_limits& limits) {
        return from->shown(std::min(limits.rows, most_path_rows));
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

// The caller's, or one that is made here.
findings_block findings_of(const report_input& input) {
    if (input.diagnosed != nullptr) return {input.diagnosed->get(), earliest_moment(input.diagnosed->data())};
    capture_diagnosis own(input.data, input.projected, default_least_share);
    return {own.get(), earliest_moment(input.data)};
}

}  // namespace

table findings_table(const diagnosis& of) {
    table out;
    out.report = "diagnose";
    out.heading = "Findings";
    out.columns = {{"rule", ""},
                   {"finding", ""},
                   {"gain_ns", "", quantity::time_ns},
                   {"gain_share", "", quantity::share},
                   {"cost_ns", "", quantity::time_ns},
                   {"steps", "", quantity::count},
                   {"confidence", ""},
                   {"modules", ""},
                   {"bound", ""},
                   {"advice", ""}};
    for (const finding& found : of.findings) {
        out.rows.push_back({found.rule, found.title, of.per_step(found.gain_ns), of.share_of(found.gain_ns),
                            of.per_step(found.cost_ns), found.steps, std::string(to_string(found.trust)), found.modules,
                            found.bound, found.advice});
    }
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
    table out;
    out.report = "diagnose_places";
    out.heading = "Places of the findings";
    out.columns = {{"finding", "", quantity::identity},  // from 1 on, in the order of the findings
                   {"rule", ""},
                   {"place", ""},
                   {"cost_ns", "", quantity::time_ns},
                   {"count", "", quantity::number},
                   {"longest_ns", "", quantity::time_ns},
                   {"longest_at_ns", "", quantity::moment_ns},
                   {"line", ""},
                   {"code", ""},
                   {"ran_share", "", quantity::share},
                   {"waited_share", "", quantity::share},
                   {"blocked_share", "", quantity::share},
                   {"blocked_in", ""}};
    const auto share = [](const thread_shares& did, double value) {
        return did.is_known() ? table_cell(value) : table_cell();
    };
    for (std::size_t i = 0; i < of.findings.size(); ++i) {
        for (const finding_part& part : of.findings[i].parts) {
            out.rows.push_back({i + 1, of.findings[i].rule, part.what, of.per_step(part.cost_ns),
                                of.per_step(static_cast<std::int64_t>(part.count)), part.longest_ns,
                                part.longest_at_ns - block.begin_ns, text_or_none(part.line), text_or_none(part.code),
                                share(part.did, part.did.ran), share(part.did, part.did.waited),
                                share(part.did, part.did.blocked), text_or_none(part.did.blocked_in)});
        }
    }
    return out;
}

table lines_table(const findings_block& block) {
    const diagnosis& of = block.found;
    table out;
    out.report = "lines";
    out.heading = of.has_steps ? "The host's time in a step, by line of the program" : "The host's time, by line";
    out.columns = {{"line", "line"},
                   {"cause", "cause"},
                   {"cost_ns", "time", quantity::time_ns},
                   {"share", "share", quantity::share},
                   {"count", "times", quantity::number, 1},
                   {"steps", "steps", quantity::count, 4},
                   {"longest_ns", "longest", quantity::time_ns, 3},
                   {"longest_at_ns", "", quantity::moment_ns},
                   {"gain_ns", "gain", quantity::time_ns},
                   {"code", "code", quantity::text, 2},
                   {"stack", ""}};
    std::int64_t known_ns = 0, all_ns = 0;
    for (const line_cost& each : of.lines) {
        all_ns += each.cost_ns;
        if (!each.line.empty()) known_ns += each.cost_ns;
        out.rows.push_back({each.line.empty() ? std::string("(not known)") : each.line, each.cause,
                            of.per_step(each.cost_ns), of.share_of(each.cost_ns),
                            of.per_step(static_cast<std::int64_t>(each.count)), each.steps, each.longest_ns,
                            each.longest_at_ns - block.begin_ns,
                            each.gain_ns > 0 ? table_cell(of.per_step(each.gain_ns)) : table_cell(),
                            text_or_none(each.code), text_or_none(each.stack)});
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
    const memory_summary held = memory_of(input);
    for (const memory_finding& each : memory_findings(held, checkpoints_of(input, held))) {
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
