// SPDX-License-Identifier: Apache-2.0
#include "cli/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/compared_runs.hpp"
#include "cli/output.hpp"
#include "cli/page_output.hpp"
#include "compare/comparison.hpp"
#include "export/page/comparison/comparison_page.hpp"
#include "report/comparison_report.hpp"

namespace prof {
namespace {

constexpr std::string_view title_of_verdict = "Verdict";
constexpr std::string_view title_of_gate = "Limits";
constexpr double percent = 100;

std::optional<double> ratio_of(const std::string& text) {
    const std::string number = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    constexpr double least = 1e-6;
    const std::optional<double> value = parse_number<double>(number, least, percent);
    return value ? std::optional(*value / percent) : std::nullopt;
}

accepted_values change_in_percent() {
    return {"a percentage above 0, up to 100", [](const std::string& text) { return ratio_of(text).has_value(); }};
}

}  // namespace

diff_command::diff_command(command_arguments& arguments) {
    constexpr std::uint32_t usual_rows = 10;
    options_.rows = usual_rows;
    arguments
        .add("BASE NEW", words_,
             "What is compared with what: captures (*.prof), traces of torch.profiler, files of prof baseline, or "
             "directories, all of whose runs are one group")
        .value("");
    arguments.add("--margin", margin_, "A change below this much does not matter: the same within PERCENT (default: 1)")
        .takes(change_in_percent())
        .value("PERCENT")
        .group(title_of_verdict);
    arguments
        .add("--fail-over", limits_,
             "Exit with 3 if the step is slower by more than PERCENT, with 4 if more runs are needed to tell; "
             "gpu=PERCENT: "
             "the GPU time; memory=PERCENT, memory-median=PERCENT: the peak of the highest or of the median step; "
             "range:PATH=PERCENT, module:PATH=PERCENT: the GPU time of a range or module. Repeat it for several")
        .one_value_each_time()
        .takes(
            {std::string(gate_limit_words), [](const std::string& text) { return parse_gate_limit(text).has_value(); }})
        .value("LIMIT")
        .group(title_of_gate);
    arguments.add("--junit", junit_, "Write the limits as test cases, in JUnit's XML, to FILE")
        .value("FILE")
        .group(title_of_gate);
    arguments
        .add_flag("--any-machine", any_machine_,
                  "Test the limits although the baseline is of another machine, where they are inconclusive else")
        .group(title_of_gate);
    add_option(arguments, *find_option("rows"),
               "In each table of what changed, show N rows at most (default: 10), or all", options_);
    part_.add_to(arguments);
    arguments
        .add("--html", html_,
             "Write a page for the browser to FILE: one file with the waterfall, both trees side by side and the runs, "
             "that needs no network")
        .value("FILE")
        .group("Format and place");
    output_.add_to(arguments, "prof diff --wide");
}

std::array<diff_command::side, 2> diff_command::named_sides() const {
    std::array<side, 2> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
        side& one = out[i];
        one.word = words_[i];
        if (!is_stream(one.word) && is_baseline(one.word)) {
            one.source = read_baseline(one.word);
            continue;
        }
        one.inputs = named_captures({one.word});
        if (one.inputs.files.empty()) throw error(one.word + ": there is nothing to compare");
    }
    return out;
}

void diff_command::read(side& target, const progress_display& progress, std::vector<std::string>& warnings,
                        bool& all_read) const {
    if (!target.source) {
        // Of a directory the others are compared.
        target.runs = read_runs(part_.reading(target.inputs.files), progress, warnings,
                                target.inputs.are_listed ? nullptr : &all_read);
        return;
    }
    target.runs = target.source->runs;
    for (const std::string& note : target.source->notes) warnings.push_back(fmt::format("{}: {}", target.word, note));
}

std::string diff_command::difference_of_machines(const std::array<side, 2>& sides) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
        if (!sides[i].source) continue;
        const std::string other = other_machine(*sides[i].source, sides[1 - i].runs);
        if (!other.empty()) return fmt::format("{} is of another machine: {}", sides[i].word, other);
    }
    return {};
}

int diff_command::operator()() const {
    if (words_.size() != 2) throw usage_error("prof diff compares two: BASE and NEW");
    if (!junit_.empty() && limits_.empty())
        throw usage_error("--junit has the limits of --fail-over, and there are none");
    if (!junit_.empty() && junit_ == output_.place()) throw usage_error("-o and --junit name the same file");
    if (!html_.empty() && (html_ == junit_ || !output_.place().empty())) {
        throw usage_error("--html writes a page in place of the tables, to a file of its own");
    }
    std::array<side, 2> sides = named_sides();
    std::vector<std::string> inputs;
    for (const side& one : sides) {
        inputs.insert(inputs.end(), one.inputs.files.begin(), one.inputs.files.end());
        if (one.source) inputs.push_back(one.word);
    }
    for (const outcome& usable : {output_.check(inputs), check_output(html_, inputs), check_output(junit_, inputs)}) {
        if (usable.ok()) continue;
        complain(usable.message());
        return exit_usage;
    }
    const progress_display progress;
    comparison_names names{.base = words_[0], .changed = words_[1]};
    bool all_read = true;
    for (side& one : sides) read(one, progress, names.warnings, all_read);
    const std::vector<run_profile>& base = sides[0].runs;
    const std::vector<run_profile>& changed = sides[1].runs;
    const std::string machines = difference_of_machines(sides);
    if (!machines.empty()) names.warnings.insert(names.warnings.begin(), machines);
    const comparison compared = compare(base, changed, {.margin = ratio_of(margin_).value_or(0)});
    report_document document = comparison_document(compared, names);
    std::vector<gate_limit> limits;
    limits.reserve(limits_.size());
    for (const std::string& text : limits_) {
        limits.push_back(*parse_gate_limit(text));
        const std::string unknown = unknown_figure(base, changed, limits.back());
        if (!unknown.empty()) throw usage_error(fmt::format("--fail-over {}: {}", text, unknown));
    }
    std::vector<gated_figure> gated = gate(base, changed, limits);
    if (!machines.empty() && !any_machine_)
        make_inconclusive(gated, "the baseline is of another machine (--any-machine)");
    add_gate(document, gated);
    if (const std::string place = place_of_page(); !place.empty()) {
        report_stream to(place);
        write_comparison_page(compared, document, to);
        to.finish();
        print_saved_page(place);
    } else {
        const std::unique_ptr<report_writer> writer =
            output_.make_writer(1, document.parts.size(), false, {.rows = options_.rows});
        writer->add(document);
        output_.write(writer->text());
    }
    if (!junit_.empty()) {
        report_stream to(junit_);
        to.write(junit_text(gated));
        to.finish();
    }
    const int status = gate_status(gated);
    return status == exit_ok && !all_read ? exit_failure : status;
}

std::string diff_command::place_of_page() const {
    if (!html_.empty()) return html_;
    return output_.format().name == "html" ? output_.place() : std::string();
}

int diff_command::gate_status(const std::vector<gated_figure>& gated) const {
    for (const gated_figure& figure : gated) {
        if (figure.found == gate_result::holds) continue;
        const std::string change = figure.change ? ", the change is " + change_text(*figure.change) : "";
        complain(fmt::format("--fail-over {}: {}{}{}", figure.limit.text, to_string(figure.found), change,
                             figure.why.empty() ? "" : "; " + figure.why));
    }
    switch (worst_of(gated)) {
        case gate_result::fails:
            return exit_finding;
        case gate_result::inconclusive:
            return exit_inconclusive;
        case gate_result::holds:
            break;
    }
    return exit_ok;
}

}  // namespace prof
