// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnosis_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "analysis/steps/capture_start.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

constexpr std::size_t most_path_rows = 12;  // for people
constexpr double least_unexplained = 0.1;   // of the path: less is not mentioned in the heading

std::string ms(double ns) { return fmt::format("{:.{}f} ms", ns / 1e6, ns < 1e6 ? 3 : ns < 1e8 ? 2 : 1); }
std::string percent_of(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

std::string a_step(const diagnosis& of) { return of.has_steps ? " a step" : ""; }

std::string counted(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", with_thousands(count), what, count == 1 ? "" : "s");
}

std::string price(const diagnosis& of, std::int64_t total_ns) {
    const std::string_view whole = of.has_steps ? "the step" : "the recording";
    return fmt::format("up to {}{} ({} of {})", ms(of.per_step(total_ns)), a_step(of),
                       percent_of(of.share_of(total_ns)), whole);
}

class diagnosis_text {
public:
    diagnosis_text(const diagnosis& of, const timeline& data) : of_(of), begin_ns_(earliest_moment(data)) {}

    std::vector<std::string> lines() {
        if (of_.steps == 0) {
            lines_.push_back("Diagnosis: " + (of_.not_looked.empty() ? "nothing to examine" : of_.not_looked.front()));
            return std::move(lines_);
        }
        lines_.push_back(heading());
        for (const std::string& line : of_.remarks) lines_.push_back("Note: " + terminal_safe(line));
        for (std::size_t i = 0; i < of_.findings.size(); ++i) add(i + 1, of_.findings[i]);
        lines_.emplace_back();
        if (of_.findings.size() > 1) {
            lines_.push_back(fmt::format("All of these at once would gain {}: their prices overlap, and do not add up.",
                                         price(of_, of_.together_ns)));
        }
        if (!of_.looked.empty()) {
            lines_.push_back(fmt::format("Looked, and found nothing above {}{}: {}.", percent_of(of_.least_share),
                                         of_.has_steps ? " of a step" : "", fmt::join(of_.looked, ", ")));
        }
        for (const std::string& line : of_.not_looked) lines_.push_back("Could not look: " + terminal_safe(line));
        return std::move(lines_);
    }

private:
    std::string heading() const {
        std::string out = of_.has_steps
                              ? fmt::format("Diagnosis of {} of {}", counted(of_.steps, "step"), ms(of_.step_ns))
                              : fmt::format("Diagnosis of {} of recording", ms(of_.step_ns));
        if (of_.warm_up != 0) out += fmt::format(" (without {} of warm-up)", of_.warm_up);
        if (of_.findings.empty()) out += ": nothing to gain was found";
        if (!of_.bound_by.empty()) out += "; bound by " + terminal_safe(of_.bound_by);
        const double unexplained = static_cast<double>(of_.unexplained_ns) / static_cast<double>(of_.path_ns);
        if (of_.path_ns > 0 && unexplained >= least_unexplained) {
            out += fmt::format("; {:.0f} % of the critical path is not explained", 100 * unexplained);
        }
        return out;
    }

    void add(std::size_t number, const finding& found) {
        lines_.emplace_back();
        lines_.push_back(fmt::format("{}. {}: {}", number, terminal_safe(found.title), price(of_, found.gain_ns)));
        lines_.push_back(fmt::format("   {} takes {}{}{}; confidence: {}", found.rule, cost_of(found.cost_ns),
                                     sum_of(found), steps_of(found), to_string(found.trust)));
        for (const finding_part& part : found.parts) {
            lines_.push_back(fmt::format("   - {}: {}, {}; the longest {}, at {:.6f} s",
                                         shortened(terminal_safe(part.what), 80), cost_of(part.cost_ns),
                                         times_of(part.count), ms(static_cast<double>(part.longest_ns)),
                                         static_cast<double>(part.longest_at_ns - begin_ns_) / 1e9));
        }
        if (!found.modules.empty()) {
            lines_.push_back("   modules: " + terminal_safe(fmt::format("{}", fmt::join(found.modules, ", "))));
        }
        lines_.push_back("   price: " + found.bound);
        for (const std::string& line : found.advice) lines_.push_back("   try: " + line);
    }

    std::string cost_of(std::int64_t total_ns) const { return ms(of_.per_step(total_ns)) + a_step(of_); }

    // Of a step as the costs: "in 3.2 calls a step".
    std::string times_of(std::uint64_t count) const {
        if (!of_.has_steps) return counted(count, "time");
        const double each = of_.per_step(static_cast<std::int64_t>(count));
        if (each == 1) return "once a step";
        if (each >= 9.95 || each == std::floor(each)) {
            return counted(static_cast<std::uint64_t>(std::llround(each)), "time") + " a step";
        }
        return fmt::format("{:.{}f} times a step", each, each < 0.095 ? 2 : 1);
    }

    // One thread, or one stream, cannot spend more than the steps' time.
    std::string sum_of(const finding& found) const {
        const bool is_sum = found.cost_ns > std::max({of_.wall_ns, of_.path_ns, of_.replayed_ns});
        return is_sum ? " (of threads or streams that run at the same time, together)" : "";
    }

    std::string steps_of(const finding& found) const {
        if (!of_.has_steps) return {};
        return fmt::format(", in {} of {}", with_thousands(found.steps), counted(of_.steps, "step"));
    }

    const diagnosis& of_;
    std::int64_t begin_ns_;
    std::vector<std::string> lines_;
};

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

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
                            of.per_step(found.cost_ns), found.steps, std::string(to_string(found.trust)),
                            joined(found.modules), found.bound, joined(found.advice)});
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
                  {"remarks", joined(of.remarks)},
                  {"looked", joined(of.looked)},
                  {"not_looked", joined(of.not_looked)}};
    return out;
}

table places_table(const diagnosis& of, std::int64_t begin_ns) {
    table out;
    out.report = "diagnose_places";
    out.heading = "Places of the findings";
    out.columns = {{"finding", "", quantity::identity},  // from 1 on, in the order of the findings
                   {"rule", ""},
                   {"place", ""},
                   {"cost_ns", "", quantity::time_ns},
                   {"count", "", quantity::number},
                   {"longest_ns", "", quantity::time_ns},
                   {"longest_at_ns", "", quantity::moment_ns}};
    for (std::size_t i = 0; i < of.findings.size(); ++i) {
        for (const finding_part& part : of.findings[i].parts) {
            out.rows.push_back({i + 1, of.findings[i].rule, part.what, of.per_step(part.cost_ns),
                                of.per_step(static_cast<std::int64_t>(part.count)), part.longest_ns,
                                part.longest_at_ns - begin_ns});
        }
    }
    return out;
}

table path_table(const diagnosis& of, bool for_people) {
    table out;
    out.report = "critical_path";
    out.heading = of.has_steps ? "Critical path of a step" : "Critical path";
    out.shows_if_empty = false;
    out.columns = {{"kind", "on the path"},
                   {"where", "where"},
                   {"module", of.path_has_modules ? "module" : ""},
                   {"mean_ns", "mean", quantity::time_ns},
                   {"share", "share", quantity::share}};
    const auto row = [&of](std::string kind, std::string where, std::string module, std::int64_t total_ns) {
        return table_row{std::move(kind), std::move(where), std::move(module), of.per_step(total_ns),
                         static_cast<double>(total_ns) / static_cast<double>(std::max<std::int64_t>(of.path_ns, 1))};
    };
    for (const path_share& share : of.path) {
        if (for_people && out.rows.size() == most_path_rows) break;
        out.rows.push_back(row(share.kind, share.where, share.module, share.total_ns));
    }
    std::int64_t left_ns = 0;
    for (std::size_t i = out.rows.size(); i < of.path.size(); ++i) left_ns += of.path[i].total_ns;
    if (left_ns > 0)
        out.rows.push_back(row(fmt::format("… {} more", of.path.size() - out.rows.size()), "", "", left_ns));
    if (for_people) out.sums.push_back(row("all", "", "", of.path_ns));
    if (!of.no_modules.empty()) out.notes.push_back(of.no_modules);
    return out;
}

}  // namespace

std::vector<report_part> diagnosis_parts(const diagnosis& of, const timeline& data, bool for_people) {
    report_part findings = part_of(findings_table(of));
    findings.paragraphs = diagnosis_text(of, data).lines();
    return {std::move(findings), part_of(places_table(of, earliest_moment(data))), part_of(path_table(of, for_people))};
}

std::vector<priced_change> dearest_changes(const diagnosis& of, std::size_t most) {
    std::vector<priced_change> out;
    for (const finding& found : of.findings) {
        if (out.size() == most) break;
        out.push_back({found.rule, terminal_safe(found.title), of.per_step(found.gain_ns), of.share_of(found.gain_ns)});
    }
    return out;
}

}  // namespace prof
