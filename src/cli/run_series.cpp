// SPDX-License-Identifier: Apache-2.0
#include "cli/run_series.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "cli/cli.hpp"
#include "cli/compared_runs.hpp"
#include "cli/progress_line.hpp"
#include "cli/shell_words.hpp"
#include "compare/comparison.hpp"
#include "options/plans.hpp"
#include "report/comparison_report.hpp"
#include "report/runs_report.hpp"

namespace prof {
namespace {

constexpr const char* names_of_sides[] = {"base", "new"};

std::string how_it_ended(const child_end& end) {
    return end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                           : fmt::format("ended with status {}", end.status);
}

std::vector<std::string> paths_of(const std::vector<run_capture>& captures) {
    std::vector<std::string> out;
    out.reserve(captures.size());
    for (const run_capture& capture : captures) out.push_back(capture.path);
    return out;
}

// The tables of all good runs: by side the paths of their captures.
std::optional<report_document> document_of(const run_series& series, const std::vector<std::vector<std::string>>& files,
                                           const session_options& options, const progress_display& progress) {
    report_settings settings{.projected = projection_options_of(options)};
    settings.may_use_threads = true;
    comparison_names names{.base = series.sides.front().directory, .changed = series.sides.back().directory};
    std::vector<std::vector<run_profile>> profiles;
    for (const std::vector<std::string>& side : files) {
        if (side.empty()) return {};
        profiles.push_back(read_runs({.files = side, .settings = settings}, progress, names.warnings));
    }
    if (profiles.size() == 1) return runs_document(profiles.front(), series.sides.front().directory, names.warnings);
    return comparison_document(compare(profiles[0], profiles[1], {}), names);
}

}  // namespace

void series_flags::add_to(command_arguments& arguments) {
    constexpr std::string_view title = "Several runs";
    constexpr std::uint32_t most = 1'000;
    arguments
        .add_parsed("--runs",
                    {"a whole number from 1 to 1000",
                     [this](const std::string& text) {
                         const auto number = parse_number<std::uint32_t>(text, 1U, most);
                         runs_ = number.value_or(0);
                         return number.has_value();
                     }},
                    "Run the command N times, a process after another, and print each run's step (default: 1; with "
                    "--against 5)")
        .value("N")
        .group(title);
    arguments
        .add("--against", against_,
             "Run this one as often, turn by turn, and print what prof diff says: of this one as the base, and of the "
             "command as the new one")
        .value("COMMAND")
        .group(title);
}

std::uint32_t series_flags::runs() const noexcept {
    constexpr std::uint32_t usual_of_pair = 5;
    return runs_ != 0 ? runs_ : is_pair() ? usual_of_pair : 1;
}

std::vector<std::string> series_flags::against() const { return shell_words(against_, "--against"); }

std::vector<std::size_t> order_of_runs(std::uint32_t runs, bool is_pair) {
    std::vector<std::size_t> out;
    for (std::uint32_t i = 0; i < runs; ++i) {
        if (!is_pair) {
            out.push_back(0);
            continue;
        }
        const std::size_t first = i % 2;
        out.push_back(first);
        out.push_back(1 - first);
    }
    return out;
}

child_end run_all(const run_series& series, const session_options& options, const run_output& output) {
    const bool is_pair = series.sides.size() > 1;
    const std::vector<std::size_t> order = order_of_runs(series.runs, is_pair);
    std::vector<std::vector<std::string>> good(series.sides.size());
    std::vector<run_capture> all;
    std::optional<child_end> failed;
    child_end last;
    std::size_t done = 0;
    for (const std::size_t turn : order) {
        const run_side& side = series.sides[turn];
        ++done;
        const std::string name =
            fmt::format("run {} of {}{}", done, order.size(), is_pair ? std::string(", ") + names_of_sides[turn] : "");
        if (!output.quiet()) complain(name + ": " + terminal_safe(joined(side.command, " ")));
        finished_run run = series.run(side);
        last = run.end;
        if (last.start_error != 0) return last;
        if (run.is_good()) {
            const std::vector<std::string> paths = paths_of(run.captures);
            good[turn].insert(good[turn].end(), paths.begin(), paths.end());
        } else {
            complain(fmt::format("{} {}; it is not compared", name, how_it_ended(last)));
            if (!failed) failed = last;
        }
        all.insert(all.end(), run.captures.begin(), run.captures.end());
        if (last.is_unwanted && done != order.size()) {
            complain(fmt::format("a signal came during {}: the others are not made", name));
            break;
        }
    }
    const progress_display progress(!output.quiet());
    bool is_compared = false;
    try {
        for (const run_capture& capture : all) export_capture(options, output, capture, progress);
        if (const std::optional<report_document> made = document_of(series, good, options, progress)) {
            print_document(options, output, *made);
            is_compared = is_pair;
        } else {
            complain("no run can be compared");
        }
    } catch (const std::exception& failure) {
        complain(failure.what());
    }
    if (!all.empty()) {
        complain(fmt::format(
            "captures: {} in {}", with_thousands(all.size()),
            is_pair ? series.sides[0].directory + " and " + series.sides[1].directory : series.sides[0].directory));
        if (is_compared && !output.quiet()) {
            complain(fmt::format("next:     prof diff {} {}", series.sides[0].directory, series.sides[1].directory));
        }
    }
    return failed.value_or(last);
}

}  // namespace prof
