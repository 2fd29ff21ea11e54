// SPDX-License-Identifier: Apache-2.0
#include "report/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/markup_text.hpp"
#include "report/runs_report.hpp"
#include "report/table.hpp"

namespace prof {
namespace {

constexpr std::string_view in_no_phase = "rest of the step";

table_cell or_none(const std::optional<double>& value) { return value ? table_cell(*value) : table_cell(); }
table_cell whole_ns(double ns) { return std::int64_t{std::llround(ns)}; }

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
    table out{"diff_differences",
              "Not the same on both sides",
              {{.key = "what", .title = "what", .is_key = true}, {"base", "base"}, {"new", "new"}},
              {},
              {}};
    out.shows_if_empty = false;
    for (const fact_difference& each : of.differences) {
        const auto cell = [](const std::string& text) { return text.empty() ? table_cell() : table_cell(text); };
        out.rows.push_back({each.what, cell(each.base), cell(each.changed)});
    }
    return out;
}

// Bytes in the columns of times, for people: each row has its own unit.
shown_rows figures_for_people(const table& whole, const shown_limits& /*limits*/) {
    constexpr std::size_t base_ns = 1;
    const std::size_t base_bytes = whole.columns.size() - 2;
    shown_rows out{.rows = whole.rows};
    for (table_row& row : out.rows) {
        for (std::size_t side = 0; side < 2; ++side) {
            const auto* const bytes = std::get_if<std::uint64_t>(&row[base_bytes + side].value);
            if (bytes != nullptr) row[base_ns + side] = bytes_text(*bytes);
        }
    }
    return out;
}

table figures_table(const comparison& of) {
    table out{"diff",
              of.has_steps ? "A step" : "All that was recorded",
              {{.key = "figure", .title = "figure", .is_key = true},
               {"base_ns", "base", quantity::time_ns},
               {"new_ns", "new", quantity::time_ns},
               {"change", "change", quantity::change_share},
               {"low", "from", quantity::change_share, 2},
               {"high", "to", quantity::change_share, 2},
               {"verdict", "verdict"},
               {"margin", "", quantity::share},
               {"p", "", quantity::number},
               {"permutation_p", "", quantity::number},
               {"run_spread", "spread of runs", quantity::share, 3},
               {"base_runs", "base runs", quantity::count, 4},
               {"new_runs", "new runs", quantity::count, 4},
               {"more_runs", "more runs", quantity::count, 4},
               {"base_bytes", "", quantity::bytes},
               {"new_bytes", "", quantity::bytes}},
              {},
              {}};
    for (const compared_figure& figure : of.figures) {
        const judged_figure& judged = figure.judged;
        const auto time = [&](double value) { return figure.is_memory ? table_cell() : whole_ns(value); };
        const auto bytes = [&](double value) {
            return figure.is_memory ? table_cell(static_cast<std::uint64_t>(std::llround(value))) : table_cell();
        };
        table_row row = {figure.name, time(judged.base), time(judged.changed), judged.change};
        row.push_back(judged.at ? table_cell(judged.at->low) : table_cell());
        row.push_back(judged.at ? table_cell(judged.at->high) : table_cell());
        row.emplace_back(found_text(figure));
        row.emplace_back(judged.margin);
        row.push_back(or_none(judged.p));
        row.push_back(or_none(judged.permutation_p));
        row.push_back(or_none(judged.run_spread));
        row.emplace_back(judged.base_runs);
        row.emplace_back(judged.new_runs);
        const bool is_open = judged.found == verdict::inconclusive || judged.is_pair();
        row.push_back(is_open && judged.more_runs ? table_cell(*judged.more_runs) : table_cell());
        row.push_back(bytes(judged.base));
        row.push_back(bytes(judged.changed));
        out.rows.push_back(std::move(row));
    }
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shorten = figures_for_people;
    out.legend = {{"from", "from, to: the interval of 95 % of the change."},
                  {"spread of runs", "spread of runs: the standard deviation of a run of the same program."}};
    return out;
}

std::string shown_phase(const std::string& phase) { return phase.empty() ? std::string(in_no_phase) : phase; }

// The largest parts, and one row that has the others, so that what people see adds up, too.
shown_rows largest_parts(const table& whole, const shown_limits& limits) {
    constexpr std::size_t fewest = 3;
    const std::size_t most = std::max(limits.rows, fewest);
    shown_rows out{.rows = whole.rows, .sums = whole.sums};
    std::erase_if(out.rows, [](const table_row& row) { return std::get<std::int64_t>(row[4].value) == 0; });
    if (out.rows.size() > most) out.rows.resize(most - 1);
    std::int64_t sums[3] = {};
    for (std::size_t i = 0; i < whole.rows.size(); ++i) {
        const bool is_shown = std::any_of(out.rows.begin(), out.rows.end(), [&](const table_row& row) {
            return row[0].value == whole.rows[i][0].value && row[1].value == whole.rows[i][1].value;
        });
        for (std::size_t column = 0; column < 3 && !is_shown; ++column) {
            sums[column] += std::get<std::int64_t>(whole.rows[i][column + 2].value);
        }
    }
    if (whole.rows.size() != out.rows.size()) {
        out.rows.push_back({fmt::format("{} more", whole.rows.size() - out.rows.size()), blank_cell(), sums[0], sums[1],
                            sums[2], blank_cell()});
    }
    return out;
}

table waterfall_table(const comparison& of) {
    table out{"diff_waterfall",
              "From the base step to the new one",
              {{.key = "phase", .title = "phase", .is_key = true},
               {.key = "use", .title = "the GPU's time", .is_key = true},
               {"base_ns", "base", quantity::time_ns},
               {"new_ns", "new", quantity::time_ns},
               {"change_ns", "change", quantity::change_ns},
               {"change_of_step", "of the step", quantity::change_share, 2}},
              {},
              {{"base_step_ns", of.parts.base_ns}, {"new_step_ns", of.parts.new_ns}}};
    const auto of_step = [&](std::int64_t ns) {
        return of.parts.base_ns == 0 ? table_cell()
                                     : table_cell(static_cast<double>(ns) / static_cast<double>(of.parts.base_ns));
    };
    for (const waterfall_part& part : of.parts.parts) {
        out.rows.push_back({shown_phase(part.phase), part.use, part.base_ns, part.new_ns, part.change_ns(),
                            of_step(part.change_ns())});
    }
    const std::int64_t change_ns = of.parts.new_ns - of.parts.base_ns;
    out.sums.push_back({of.has_steps ? std::string("step") : std::string("recording"), blank_cell(), of.parts.base_ns,
                        of.parts.new_ns, change_ns, of_step(change_ns)});
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shorten = largest_parts;
    return out;
}

// The sum of a use over the phases, largest change first: the same waterfall, not by phase.
table uses_table(const comparison& of) {
    std::map<std::string, waterfall_part> uses;
    for (const waterfall_part& part : of.parts.parts) {
        waterfall_part& use = uses[part.use];
        use.base_ns += part.base_ns;
        use.new_ns += part.new_ns;
    }
    table out{"diff_uses",
              "The same, added over the phases",
              {{.key = "use", .title = "the GPU's time", .is_key = true},
               {"base_ns", "base", quantity::time_ns},
               {"new_ns", "new", quantity::time_ns},
               {"change_ns", "change", quantity::change_ns}},
              {},
              {}};
    for (const auto& [use, part] : uses) out.rows.push_back({use, part.base_ns, part.new_ns, part.change_ns()});
    std::stable_sort(out.rows.begin(), out.rows.end(), [](const table_row& a, const table_row& b) {
        return std::abs(std::get<std::int64_t>(a[3].value)) > std::abs(std::get<std::int64_t>(b[3].value));
    });
    out.sums.push_back({of.has_steps ? std::string("step") : std::string("recording"), of.parts.base_ns,
                        of.parts.new_ns, of.parts.new_ns - of.parts.base_ns});
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

// The rows that changed most, without those that changed by less than the quantum.
shown_rows changed_by(double quantum, const table& whole, const shown_limits& limits) {
    shown_rows out;
    for (const table_row& row : whole.rows) {
        if (out.rows.size() == limits.rows) break;
        if (std::abs(static_cast<double>(std::get<std::int64_t>(row[3].value))) >= quantum) out.rows.push_back(row);
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
    return changed_by(unit_of_step(whole.step_ns.value_or(1)).ns / decimals, whole, limits);
}

shown_rows most_changed_bytes(const table& whole, const shown_limits& limits) {
    constexpr double share = 1e-4;  // of the peak
    const auto peak = [&](std::size_t column) {
        return whole.sums.empty() ? 0.0 : static_cast<double>(std::get<std::int64_t>(whole.sums.front()[column].value));
    };
    shown_rows out = changed_by(std::max(1.0, share * std::max(peak(1), peak(2))), whole, limits);
    if (out.rows.empty()) return out;
    const std::size_t rest = whole.rows.size() - out.rows.size();
    out.notes.clear();
    if (rest != 0) {
        table_row others(whole.columns.size(), blank_cell());
        others[0] = fmt::format("… {} more", rest);
        for (std::size_t column = 1; column <= 3; ++column) {
            std::int64_t sum = 0;
            for (const table_row& row : whole.rows) sum += std::get<std::int64_t>(row[column].value);
            for (const table_row& row : out.rows) sum -= std::get<std::int64_t>(row[column].value);
            others[column] = sum;
        }
        out.rows.push_back(std::move(others));
    }
    out.sums = whole.sums;
    return out;
}

// What the fullest GPU held at the peak of the highest step, a mean over the runs.
table memory_table(const comparison& of) {
    table out{"diff_memory",
              "Memory at the peak, what changed most",
              {{.key = "name", .title = "what", .is_key = true},
               {"base_bytes", "base", quantity::bytes},
               {"new_bytes", "new", quantity::bytes},
               {"change_bytes", "change", quantity::change_bytes},
               {"change", "%", quantity::change_share, 2},
               {"base_blocks", "base blocks", quantity::mean_count, 3},
               {"new_blocks", "new blocks", quantity::mean_count, 3},
               {"p", "", quantity::number},
               {"state", "", quantity::text},
               {"", "remark", quantity::text, 1}},
              {},
              {}};
    out.shows_if_empty = false;
    out.shorten = most_changed_bytes;
    if (of.memory.empty()) return out;
    const auto add = [&](std::vector<table_row>& to, const std::string& name, std::int64_t base, std::int64_t changed) {
        to.push_back({name, base, changed, changed - base});
        to.back().resize(out.columns.size(), blank_cell());
        return &to.back();
    };
    std::int64_t base_sum = 0;
    std::int64_t new_sum = 0;
    for (const compared_cost& cost : of.memory) {
        const std::int64_t base = std::llround(cost.base_amount);
        const std::int64_t changed = std::llround(cost.new_amount);
        const std::string state = state_of(cost);
        table_row& row = *add(out.rows, cost.name, base, changed);
        row[4] = share_of_change(cost);
        row[5] = cost.base_count;
        row[6] = cost.new_count;
        row[7] = or_none(cost.p);
        row[8] = state;
        if (!state.empty()) row[9] = state;
        base_sum += base;
        new_sum += changed;
    }
    const auto peak = std::find_if(of.figures.begin(), of.figures.end(),
                                   [](const compared_figure& figure) { return figure.is_memory; });
    if (peak != of.figures.end()) {
        const std::int64_t base_rest = std::llround(peak->judged.base) - base_sum;
        const std::int64_t new_rest = std::llround(peak->judged.changed) - new_sum;
        // Each row is rounded to a byte.
        const auto rounding = static_cast<std::int64_t>(out.rows.size());
        if (std::abs(base_rest) > rounding || std::abs(new_rest) > rounding) {
            add(out.rows, "not known, since records were lost", base_rest, new_rest);
            base_sum += base_rest;
            new_sum += new_rest;
        }
    }
    add(out.sums, "memory peak", base_sum, new_sum);
    return out;
}

table costs_table(const comparison& of, const char* report, const char* heading, const char* title,
                  const std::vector<compared_cost>& costs, const char* counted) {
    table out{report,
              heading,
              {{.key = "name", .title = title, .is_key = true},
               {"base_ns", "base", quantity::time_ns},
               {"new_ns", "new", quantity::time_ns},
               {"change_ns", "change", quantity::change_ns},
               {"change", "%", quantity::change_share, 2},
               {"base_count", std::string("base ") + counted, quantity::mean_count, 3},
               {"new_count", std::string("new ") + counted, quantity::mean_count, 3},
               {"p", "", quantity::number},
               {"state", "", quantity::text},
               {"", "remark", quantity::text, 1},
               {"old_name", "", quantity::text}},
              {},
              {}};
    for (const compared_cost& cost : costs) {
        const std::int64_t base_ns = std::llround(cost.base_amount);
        const std::int64_t new_ns = std::llround(cost.new_amount);
        const std::string state = state_of(cost);
        table_row row = {cost.name, base_ns, new_ns, new_ns - base_ns};
        row.push_back(share_of_change(cost));
        row.emplace_back(cost.base_count);
        row.emplace_back(cost.new_count);
        row.push_back(or_none(cost.p));
        row.emplace_back(state);
        row.push_back(state.empty() ? blank_cell() : table_cell(state));
        row.push_back(cost.old_name.empty() ? blank_cell() : table_cell(cost.old_name));
        out.rows.push_back(std::move(row));
    }
    out.step_ns = std::max(of.step().base, of.step().changed);
    out.shows_if_empty = false;
    out.shorten = most_changed;
    const auto renamed =
        std::count_if(costs.begin(), costs.end(), [](const compared_cost& c) { return !c.old_name.empty(); });
    if (renamed != 0) {
        out.columns.back().title = "name before";
        out.notes.push_back(fmt::format("{} {} another name before, and {} matched by function or but for numbers",
                                        renamed, renamed == 1 ? "kernel had" : "kernels had",
                                        renamed == 1 ? "was" : "were"));
    }
    return out;
}

table findings_table_of(const comparison& of) {
    table out{"diff_findings",
              "Findings that went, came and stayed",
              {{.key = "finding", .title = "finding", .is_key = true},
               {.key = "rule", .title = "", .is_key = true},
               {"state", "state"},
               {"base_gain_ns", "base gain", quantity::time_ns},
               {"new_gain_ns", "new gain", quantity::time_ns}},
              {},
              {}};
    for (const compared_finding& found : of.findings) {
        const char* const state = !found.is_in_new ? "went" : !found.is_in_base ? "came" : "stayed";
        out.rows.push_back({found.title, found.rule, std::string(state),
                            found.is_in_base ? whole_ns(found.base_ns) : table_cell(),
                            found.is_in_new ? whole_ns(found.new_ns) : table_cell()});
    }
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
        costs_table(of, "diff_ranges", "GPU time of ranges that changed most, a step", "range", of.ranges, "ops")));
    out.parts.push_back(part_with(costs_table(of, "diff_modules", "GPU time of modules that changed most, a step",
                                              "module", of.modules, "calls")));
    out.parts.push_back(part_with(costs_table(of, "diff_kernels", "GPU time of kernels that changed most, a step",
                                              "kernel", of.kernels, "launches")));
    out.parts.push_back(part_with(costs_table(
        of, "diff_lines", "The host's time by line and cause that changed most, a step", "line", of.lines, "times")));
    out.parts.push_back(part_with(memory_table(of)));
    out.parts.push_back(part_with(findings_table_of(of)));
    table runs = runs_table("diff_runs", of.runs, true);
    if (of.is_pair()) runs.instead = "one on each side";
    out.parts.push_back(part_with(std::move(runs)));
    return out;
}

void add_gate(report_document& to, const std::vector<gated_figure>& of) {
    if (of.empty()) return;
    table out{"diff_gate",
              "Limits",
              {{.key = "limit", .title = "at most", .is_key = true},
               {"result", "result"},
               {"change", "change", quantity::change_share},
               {"p_fails", "", quantity::number},
               {"p_holds", "", quantity::number},
               {"why", ""}},
              {},
              {{"result", std::string(to_string(worst_of(of)))}}};
    for (const gated_figure& figure : of) {
        out.rows.push_back({figure.limit.text, std::string(to_string(figure.found)), or_none(figure.change),
                            or_none(figure.p_fails), or_none(figure.p_holds),
                            figure.why.empty() ? blank_cell() : table_cell(figure.why)});
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
