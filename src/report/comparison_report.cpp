// SPDX-License-Identifier: Apache-2.0
#include "report/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/markup_text.hpp"
#include "report/report_column.hpp"
#include "report/runs_report.hpp"

namespace prof {
namespace {

constexpr std::string_view in_no_phase = "rest of the step";

std::int64_t whole_ns(double ns) { return std::llround(ns); }

std::string runs_text(std::uint64_t runs) { return fmt::format("{} run{}", runs, runs == 1 ? "" : "s"); }

std::string interval_text(const judged_figure& of) {
    return of.at ? fmt::format(" ({} to {})", change_text(of.at->low), change_text(of.at->high)) : std::string();
}

std::string share_text(double share) {
    std::string out = fmt::format("{:.2f}", 100 * share);
    while (out.ends_with('0')) out.pop_back();
    if (out.ends_with('.')) out.pop_back();
    return out + " %";
}

std::string more_runs_text(const judged_figure& of) {
    if (!of.more_runs) return "more than 1,000 runs would be needed to tell";
    return fmt::format("{} more run{} on each side would tell", *of.more_runs, *of.more_runs == 1 ? "" : "s");
}

std::string found_text(const compared_figure& of) {
    const judged_figure& judged = of.judged;
    if (judged.found == verdict::same) return "same within " + share_text(judged.margin);
    if (of.is_memory && judged.found == verdict::faster) return "less";
    if (of.is_memory && judged.found == verdict::slower) return "more";
    return std::string(to_string(judged.found));
}

table differences_table(const comparison& of) {
    const report_columns<fact_difference> columns = {
        {{.key = "what", .title = "what", .is_key = true}, &fact_difference::what},
        {{"base", "base"}, text_or_none(&fact_difference::base)},
        {{"new", "new"}, text_or_none(&fact_difference::changed)}};
    table out = make_table("diff_differences", "Not the same on both sides", columns, of.differences);
    out.shows_if_empty = false;
    return out;
}

// Bytes in the columns of times, for people: each row has its own unit.
shown_rows figures_for_people(const table& whole, const shown_limits& /*limits*/) {
    shown_rows out{.rows = whole.rows};
    for (const auto& [time, size] : {std::pair("base_ns", "base_bytes"), std::pair("new_ns", "new_bytes")}) {
        const std::size_t from = place_of(whole, size);
        const std::size_t to = place_of(whole, time);
        for (table_row& row : out.rows) {
            if (const auto* const bytes = std::get_if<std::uint64_t>(&row[from].value)) row[to] = bytes_text(*bytes);
        }
    }
    return out;
}

table figures_table(const comparison& of) {
    using row = compared_figure;
    const auto judged = [](auto member) { return [member](const row& figure) { return figure.judged.*member; }; };
    const auto time = [](double judged_figure::*value) {
        return [value](const row& figure) { return none_unless(!figure.is_memory, whole_ns(figure.judged.*value)); };
    };
    const auto bytes = [](double judged_figure::*value) {
        return [value](const row& figure) {
            return figure.is_memory ? table_cell(static_cast<std::uint64_t>(std::llround(figure.judged.*value)))
                                    : table_cell();
        };
    };
    const auto limit = [](double interval::*end) {
        return
            [end](const row& figure) { return figure.judged.at ? table_cell((*figure.judged.at).*end) : table_cell(); };
    };
    const auto more_runs = [](const row& figure) {
        const bool is_open = figure.judged.found == verdict::inconclusive || figure.judged.is_pair();
        return none_unless(is_open, figure.judged.more_runs);
    };
    const report_columns<row> columns = {
        {{.key = "figure", .title = "figure", .is_key = true}, &row::name},
        {{"base_ns", "base", quantity::time_ns}, time(&judged_figure::base)},
        {{"new_ns", "new", quantity::time_ns}, time(&judged_figure::changed)},
        {{"change", "change", quantity::change_share}, judged(&judged_figure::change)},
        {{"low", "from", quantity::change_share, 2}, limit(&interval::low)},
        {{"high", "to", quantity::change_share, 2}, limit(&interval::high)},
        {{"verdict", "verdict"}, found_text},
        {{"margin", "", quantity::share}, judged(&judged_figure::margin)},
        {{"p", "", quantity::number}, judged(&judged_figure::p)},
        {{"permutation_p", "", quantity::number}, judged(&judged_figure::permutation_p)},
        {{"run_spread", "spread of runs", quantity::share, 3}, judged(&judged_figure::run_spread)},
        {{"base_runs", "base runs", quantity::count, 4}, judged(&judged_figure::base_runs)},
        {{"new_runs", "new runs", quantity::count, 4}, judged(&judged_figure::new_runs)},
        {{"more_runs", "more runs", quantity::count, 4}, more_runs},
        {{"base_bytes", "", quantity::bytes}, bytes(&judged_figure::base)},
        {{"new_bytes", "", quantity::bytes}, bytes(&judged_figure::changed)}};
    table out = make_table("diff", of.has_steps ? "A step" : "All that was recorded", columns, of.figures);
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shorten = figures_for_people;
    out.legend = {{"from", "from, to: the interval of 95 % of the change."},
                  {"spread of runs", "spread of runs: the standard deviation of a run of the same program."}};
    return out;
}

std::int64_t integer_in(const table_cell& cell) { return std::get<std::int64_t>(cell.value); }

std::string shown_phase(const std::string& phase) { return phase.empty() ? std::string(in_no_phase) : phase; }

void add(waterfall_part& to, const waterfall_part& part, std::int64_t times = 1) {
    to.base_ns += times * part.base_ns;
    to.new_ns += times * part.new_ns;
}

report_columns<waterfall_part> waterfall_columns(std::int64_t base_step_ns) {
    using row = waterfall_part;
    const auto of_step = [base_step_ns](const row& part) {
        return none_unless(base_step_ns != 0,
                           static_cast<double>(part.change_ns()) / static_cast<double>(base_step_ns));
    };
    return {{{.key = "phase", .title = "phase", .is_key = true},
             [](const row& part) { return shown_phase(part.phase); },
             true},
            {{.key = "use", .title = "the GPU's time", .is_key = true},
             [](const row& part) { return blank_unless(!part.use.empty(), part.use); }},
            {{"base_ns", "base", quantity::time_ns}, &row::base_ns, true},
            {{"new_ns", "new", quantity::time_ns}, &row::new_ns, true},
            {{"change_ns", "change", quantity::change_ns}, &row::change_ns, true},
            {{"change_of_step", "of the step", quantity::change_share, 2}, of_step}};
}

// The largest parts, and one row that has the others, so that what people see adds up, too.
shown_rows largest_parts(const waterfall& of, const table& whole, const shown_limits& limits) {
    constexpr std::size_t fewest = 3;
    const std::size_t most = std::max(limits.rows, fewest);
    std::vector<waterfall_part> parts = of.parts;
    std::erase_if(parts, [](const waterfall_part& part) { return part.change_ns() == 0; });
    if (parts.size() > most) parts.resize(most - 1);
    const report_columns<waterfall_part> columns = waterfall_columns(of.base_ns);
    shown_rows out{.rows = rows_of(columns, parts), .sums = whole.sums};
    if (parts.size() == of.parts.size()) return out;
    waterfall_part others{.phase = fmt::format("{} more", of.parts.size() - parts.size())};
    for (const waterfall_part& part : of.parts) add(others, part);
    for (const waterfall_part& part : parts) add(others, part, -1);
    out.rows.push_back(sums_of(columns, others));
    return out;
}

std::string whole_of(const comparison& of) { return of.has_steps ? "step" : "recording"; }

table waterfall_table(const comparison& of) {
    const report_columns<waterfall_part> columns = waterfall_columns(of.parts.base_ns);
    table out = make_table("diff_waterfall", "From the base step to the new one", columns, of.parts.parts);
    out.totals = {{"base_step_ns", of.parts.base_ns}, {"new_step_ns", of.parts.new_ns}};
    out.sums = {cells_of(columns, {.phase = whole_of(of), .base_ns = of.parts.base_ns, .new_ns = of.parts.new_ns})};
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shorten = [parts = of.parts](const table& whole, const shown_limits& limits) {
        return largest_parts(parts, whole, limits);
    };
    return out;
}

// The sum of a use over the phases, largest change first: the same waterfall, not by phase.
table uses_table(const comparison& of) {
    using row = waterfall_part;
    const report_columns<row> columns = {{{.key = "use", .title = "the GPU's time", .is_key = true}, &row::use},
                                         {{"base_ns", "base", quantity::time_ns}, &row::base_ns},
                                         {{"new_ns", "new", quantity::time_ns}, &row::new_ns},
                                         {{"change_ns", "change", quantity::change_ns}, &row::change_ns}};
    std::map<std::string, row> uses;
    for (const row& part : of.parts.parts) add(uses.try_emplace(part.use, row{.use = part.use}).first->second, part);
    std::vector<row> rows;
    rows.reserve(uses.size());
    for (const auto& [use, part] : uses) rows.push_back(part);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const row& a, const row& b) { return std::abs(a.change_ns()) > std::abs(b.change_ns()); });
    table out = make_table("diff_uses", "The same, added over the phases", columns, rows);
    out.sums = {cells_of(columns, {.use = whole_of(of), .base_ns = of.parts.base_ns, .new_ns = of.parts.new_ns})};
    out.step_ns = std::max(of.step().base, of.step().changed);
    return out;
}

std::string_view words_for(name_match how) {
    switch (how) {
        case name_match::exact:
            break;
        case name_match::template_arguments:
            return "renamed: other template arguments";
        case name_match::numbers:
            return "renamed: other numbers";
    }
    return "";
}

std::string state_of(const compared_cost& of) {
    if (!of.is_in_base) return "new";
    if (!of.is_in_new) return "gone";
    if (!of.old_name.empty()) return std::string(words_for(of.how));
    return of.is_changed() ? "changed" : "";
}

table_cell share_of_change(const compared_cost& of) {
    if (of.base_amount > 0 && of.is_in_new) return of.new_amount / of.base_amount - 1;
    return {};
}

// In what a table of costs differs from others.
struct cost_texts {
    const char* report;
    const char* heading;
    const char* title;    // of the names
    const char* counted;  // "ops"
    bool is_memory = false;
};

report_columns<compared_cost> cost_columns(const cost_texts& texts) {
    using row = compared_cost;
    const std::string unit = texts.is_memory ? "_bytes" : "_ns";
    const std::string count = texts.is_memory ? "_blocks" : "_count";
    const quantity amount = texts.is_memory ? quantity::bytes : quantity::time_ns;
    const quantity change = texts.is_memory ? quantity::change_bytes : quantity::change_ns;
    return {{{.key = "name", .title = texts.title, .is_key = true}, &row::name, true},
            {{"base" + unit, "base", amount}, [](const row& cost) { return std::llround(cost.base_amount); }, true},
            {{"new" + unit, "new", amount}, [](const row& cost) { return std::llround(cost.new_amount); }, true},
            {{"change" + unit, "change", change},
             [](const row& cost) { return std::llround(cost.new_amount) - std::llround(cost.base_amount); },
             true},
            {{"change", "%", quantity::change_share, 2}, share_of_change},
            {{"base" + count, std::string("base ") + texts.counted, quantity::mean_count, 3}, &row::base_count},
            {{"new" + count, std::string("new ") + texts.counted, quantity::mean_count, 3}, &row::new_count},
            {{"p", "", quantity::number}, &row::p},
            {{"state", ""}, state_of},
            {{"", "remark", quantity::text, 1},
             [](const row& cost) { return blank_unless(!state_of(cost).empty(), state_of(cost)); }}};
}

// The rows that changed most, without those that changed by less than the quantum.
shown_rows changed_by(double quantum, const table& whole, const shown_limits& limits, std::string_view change) {
    const std::size_t place = place_of(whole, change);
    shown_rows out;
    for (const table_row& row : whole.rows) {
        if (out.rows.size() == limits.rows) break;
        if (std::abs(static_cast<double>(integer_in(row[place]))) >= quantum) out.rows.push_back(row);
    }
    if (out.rows.empty()) out.instead = "no change";
    if (const std::size_t rest = whole.rows.size() - out.rows.size(); rest != 0 && !out.rows.empty()) {
        out.notes.push_back(fmt::format("{} more rows changed less, or not at all; --rows all shows more", rest));
    }
    return out;
}

// As far as is shown of a time.
shown_rows most_changed(const table& whole, const shown_limits& limits) {
    constexpr double decimals = 1000;
    return changed_by(unit_of_step(whole.step_ns.value_or(1)).ns / decimals, whole, limits, "change_ns");
}

shown_rows most_changed_bytes(const table& whole, const shown_limits& limits) {
    constexpr double share = 1e-4;  // of the peak
    const auto peak = [&](std::string_view column) {
        return whole.sums.empty() ? 0.0 : static_cast<double>(integer_in(whole.sums.front()[place_of(whole, column)]));
    };
    const double quantum = std::max(1.0, share * std::max(peak("base_bytes"), peak("new_bytes")));
    shown_rows out = changed_by(quantum, whole, limits, "change_bytes");
    if (out.rows.empty()) return out;
    const std::size_t rest = whole.rows.size() - out.rows.size();
    out.notes.clear();
    if (rest != 0) {
        table_row others(whole.columns.size(), blank_cell());
        others[place_of(whole, "name")] = fmt::format("… {} more", rest);
        for (const char* const column : {"base_bytes", "new_bytes", "change_bytes"}) {
            const std::size_t place = place_of(whole, column);
            std::int64_t sum = 0;
            for (const table_row& row : whole.rows) sum += integer_in(row[place]);
            for (const table_row& row : out.rows) sum -= integer_in(row[place]);
            others[place] = sum;
        }
        out.rows.push_back(std::move(others));
    }
    out.sums = whole.sums;
    return out;
}

// What the fullest GPU held at the peak of the highest step, a mean over the runs.
table memory_table(const comparison& of) {
    const cost_texts texts{"diff_memory", "Memory at the peak, what changed most", "what", "blocks", true};
    const report_columns<compared_cost> columns = cost_columns(texts);
    table out = make_table(texts.report, texts.heading, columns, of.memory);
    out.shows_if_empty = false;
    out.shorten = most_changed_bytes;
    if (of.memory.empty()) return out;
    compared_cost sum{.name = "memory peak"};
    for (const compared_cost& cost : of.memory) {
        sum.base_amount += std::round(cost.base_amount);
        sum.new_amount += std::round(cost.new_amount);
    }
    const auto peak = std::find_if(of.figures.begin(), of.figures.end(),
                                   [](const compared_figure& figure) { return figure.is_memory; });
    if (peak != of.figures.end()) {
        const compared_cost rest{.name = "not known, since records were lost",
                                 .base_amount = std::round(peak->judged.base) - sum.base_amount,
                                 .new_amount = std::round(peak->judged.changed) - sum.new_amount};
        // Each row is rounded to a byte.
        const auto rounding = static_cast<double>(out.rows.size());
        if (std::abs(rest.base_amount) > rounding || std::abs(rest.new_amount) > rounding) {
            out.rows.push_back(sums_of(columns, rest));
            sum.base_amount += rest.base_amount;
            sum.new_amount += rest.new_amount;
        }
    }
    out.sums = {sums_of(columns, sum)};
    return out;
}

table costs_table(const comparison& of, const std::vector<compared_cost>& costs, const cost_texts& texts) {
    const auto renamed =
        std::count_if(costs.begin(), costs.end(), [](const compared_cost& cost) { return !cost.old_name.empty(); });
    report_columns<compared_cost> columns = cost_columns(texts);
    columns.push_back({{"old_name", renamed != 0 ? "name before" : ""},
                       [](const compared_cost& cost) { return blank_unless(!cost.old_name.empty(), cost.old_name); }});
    table out = make_table(texts.report, texts.heading, columns, costs);
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shows_if_empty = false;
    out.shorten = most_changed;
    if (renamed != 0) {
        out.notes.push_back(fmt::format("{} {} another name before, and {} matched by function or but for numbers",
                                        renamed, renamed == 1 ? "kernel had" : "kernels had",
                                        renamed == 1 ? "was" : "were"));
    }
    return out;
}

table findings_table_of(const comparison& of) {
    using row = compared_finding;
    const auto state = [](const row& found) {
        return !found.is_in_new ? "went" : !found.is_in_base ? "came" : "stayed";
    };
    const report_columns<row> columns = {
        {{.key = "finding", .title = "finding", .is_key = true}, &row::title},
        {{.key = "rule", .title = "", .is_key = true}, &row::rule},
        {{"state", "state"}, state},
        {{"base_gain_ns", "base gain", quantity::time_ns},
         [](const row& found) { return none_unless(found.is_in_base, whole_ns(found.base_ns)); }},
        {{"new_gain_ns", "new gain", quantity::time_ns},
         [](const row& found) { return none_unless(found.is_in_new, whole_ns(found.new_ns)); }}};
    table out = make_table("diff_findings", "Findings that went, came and stayed", columns, of.findings);
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shows_if_empty = false;
    return out;
}

text_block answer_of(const comparison& of) {
    const judged_figure& step = of.step();
    const unit_of_time unit = unit_of_step(std::max(step.base, step.changed));
    text_block out;
    out.paragraphs.push_back(fmt::format(
        "{}: {:.3f} {} before ({}), {:.3f} {} now ({})", of.has_steps ? "step" : "recording", step.base / unit.ns,
        unit.name, runs_text(of.base_runs), step.changed / unit.ns, unit.name, runs_text(of.new_runs)));
    std::string sentence = verdict_sentence(of.has_steps ? "the step" : "the recording", step);
    out.paragraphs.push_back(std::move(sentence));
    if (!of.has_steps) {
        out.paragraphs.emplace_back(
            "no steps were found: each recording is compared as a whole, as if it were one step");
    }
    return out;
}

report_part part_with(table made) {
    report_part out{.name = made.report, .is_of_job = true};
    out.blocks.emplace_back(std::move(made));
    return out;
}

}  // namespace

std::string change_text(double ratio) {
    return fmt::format("{}{:.1f} %", ratio < 0 ? "-" : "+", std::abs(100 * ratio));
}

std::string verdict_sentence(std::string_view name, const judged_figure& of) {
    if (of.is_pair()) {
        constexpr std::string_view why =
            "one run on each side says nothing of the code, since runs of the same code differ, too";
        if (of.found == verdict::differ) {
            return fmt::format("these two differ by {}{}: {}", change_text(of.change), interval_text(of), why);
        }
        if (of.found == verdict::do_not_differ) {
            return fmt::format("these two do not differ measurably: {}{}", change_text(of.change), interval_text(of));
        }
        return fmt::format("inconclusive: {}, and too few steps or no steps to say how sure that is; {}",
                           change_text(of.change), why);
    }
    switch (of.found) {
        case verdict::faster:
        case verdict::slower:
            return fmt::format("{} is {} by {:.1f} %{}", name, to_string(of.found), std::abs(100 * of.change),
                               interval_text(of));
        case verdict::same:
            return fmt::format("{} is the same within {}: {}{}", name, share_text(of.margin), change_text(of.change),
                               interval_text(of));
        default:
            break;
    }
    return fmt::format("inconclusive: {}{}; {}", change_text(of.change), interval_text(of), more_runs_text(of));
}

report_document comparison_document(const comparison& of, const comparison_names& names) {
    report_document out;
    out.capture.title = fmt::format("{} -> {}", names.base, names.changed);
    out.capture.members = of.files;
    out.capture.warnings = of.warnings;
    out.capture.warnings.insert(out.capture.warnings.end(), names.warnings.begin(), names.warnings.end());
    out.capture.notes = of.notes;
    out.parts.push_back(part_with(differences_table(of)));
    report_part answer = part_with(figures_table(of));
    answer.blocks.insert(answer.blocks.begin(), answer_of(of));
    out.parts.push_back(std::move(answer));
    out.parts.push_back(part_with(uses_table(of)));
    out.parts.push_back(part_with(waterfall_table(of)));
    out.parts.push_back(part_with(
        costs_table(of, of.ranges, {"diff_ranges", "GPU time of ranges that changed most, a step", "range", "ops"})));
    out.parts.push_back(part_with(costs_table(
        of, of.modules, {"diff_modules", "GPU time of modules that changed most, a step", "module", "calls"})));
    out.parts.push_back(part_with(costs_table(
        of, of.kernels, {"diff_kernels", "GPU time of kernels that changed most, a step", "kernel", "launches"})));
    out.parts.push_back(part_with(costs_table(
        of, of.lines, {"diff_lines", "The host's time by line and cause that changed most, a step", "line", "times"})));
    out.parts.push_back(part_with(memory_table(of)));
    out.parts.push_back(part_with(findings_table_of(of)));
    table runs = runs_table("diff_runs", of.runs, true);
    if (of.is_pair()) runs.instead = "one on each side";
    out.parts.push_back(part_with(std::move(runs)));
    return out;
}

void add_gate(report_document& to, const std::vector<gated_figure>& of) {
    if (of.empty()) return;
    const report_columns<gated_figure> columns = {
        {{.key = "limit", .title = "at most", .is_key = true}, [](const auto& figure) { return figure.limit.text; }},
        {{"result", "result"}, [](const auto& figure) { return to_string(figure.found); }},
        {{"change", "change", quantity::change_share}, &gated_figure::change},
        {{"p_fails", "", quantity::number}, &gated_figure::p_fails},
        {{"p_holds", "", quantity::number}, &gated_figure::p_holds},
        {{"why", ""}, [](const auto& figure) { return blank_unless(!figure.why.empty(), figure.why); }}};
    table out = make_table("diff_gate", "Limits", columns, of);
    out.totals = {{"result", to_string(worst_of(of))}};
    for (const gated_figure& figure : of) {
        if (!figure.why.empty())
            out.notes.push_back(fmt::format("{}: {}", terminal_safe(figure.limit.text), figure.why));
    }
    to.parts.insert(to.parts.begin() + 2, part_with(std::move(out)));  // behind the verdict
}

namespace {

std::string xml(std::string_view text) { return markup_text(terminal_safe(text)); }

}  // namespace

std::string junit_text(const std::vector<gated_figure>& of) {
    const auto count = [&](gate_result found) {
        return std::count_if(of.begin(), of.end(), [&](const gated_figure& one) { return one.found == found; });
    };
    std::string out = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
        "  <testsuite name=\"prof diff\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\">\n",
        of.size(), count(gate_result::fails), count(gate_result::inconclusive));
    for (const gated_figure& figure : of) {
        const std::string change = figure.change ? "the change is " + change_text(*figure.change) : "";
        out += fmt::format("    <testcase classname=\"prof.diff\" name=\"{}\"", xml(figure.limit.text));
        if (figure.found == gate_result::holds) {
            out += "/>\n";
        } else if (figure.found == gate_result::fails) {
            out += fmt::format("><failure message=\"{}\"/></testcase>\n", xml(change));
        } else {
            out += fmt::format("><skipped message=\"inconclusive: {}\"/></testcase>\n", xml(figure.why));
        }
    }
    return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace prof
