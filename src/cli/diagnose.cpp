// SPDX-License-Identifier: Apache-2.0
#include "cli/diagnose.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/selection/step_marks.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/progress.hpp"
#include "diagnose/diagnosis_report.hpp"
#include "export/chrome/trace_names.hpp"

namespace prof {
namespace {

constexpr std::string_view title_of_findings = "What is a finding";

constexpr double default_least_share = 0.01;

std::optional<double> percent_of_step(const std::string& text) {
    const std::string_view number = std::string_view(text).substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    constexpr double most = 100;
    return parse_number<double>(std::string(number), 0, most);
}

accepted_values percentage() {
    return {"a percentage of a step from 0 to 100",
            [](const std::string& text) { return percent_of_step(text).has_value(); }};
}

}  // namespace

diagnose_command::diagnose_command(command_arguments& arguments) {
    arguments
        .add("FILE", files_,
             "Captures (*.prof), traces of torch.profiler (*.json, *.json.gz), directories of them, or - for standard "
             "input")
        .value("");
    arguments.add("--above", above_, "Leave out what would gain less than this much of a step (default: 1, in percent)")
        .takes(percentage())
        .value("PERCENT")
        .group(title_of_findings);
    arguments.add("--fail-above", fail_above_, "Exit with 3 if a finding would gain more than this much of a step")
        .takes(percentage())
        .value("PERCENT")
        .group(title_of_findings);
    arguments.add("--step-range", step_range_, "Each range of this name, or DOMAIN:NAME, begins a step")
        .value("NAME")
        .group(title_of_findings);
    flags_.add_to(arguments);
    output_.add_to(arguments);
}

int diagnose_command::operator()() const {
    const capture_inputs inputs = captures_or_newest_run(files_);
    if (const outcome usable = output_.check(inputs.files); !usable.ok()) {
        complain(usable.message());
        return exit_usage;
    }
    if (inputs.files.empty()) return exit_failure;
    const std::unique_ptr<report_writer> writer = output_.make_writer(inputs.files.size(), 3, false);
    const progress_display progress;
    int status = inputs.all_found ? exit_ok : exit_failure;
    bool is_exceeded = false;
    for (const std::string& file : inputs.files) {
        try {
            timeline data = load_input(file, progress);
            const progress_line computing(progress, "diagnosing " + file);
            if (!step_range_.empty()) count_steps_by(data, step_range_);
            const diagnosis found = diagnose_timeline(
                data, percent_of_step(above_).value_or(100 * default_least_share) / 100, flags_.options());
            const double limit = fail_above_.empty() ? 2 : percent_of_step(fail_above_).value_or(0) / 100;
            is_exceeded |= std::any_of(found.findings.begin(), found.findings.end(),
                                       [&](const finding& each) { return found.share_of(each.gain_ns) > limit; });
            if (found.steps == 0) status = exit_failure;
            writer->add({.capture = heading_of(data, file),
                         .parts = diagnosis_parts(found, data, output_.format().is_for_people)});
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    output_.write(writer->text());
    return status == exit_ok && is_exceeded ? exit_finding : status;
}

diagnosis diagnose_timeline(const timeline& data, double least_share, const attribution_options& options) {
    const report_input input{.data = data, .projected = {.attribution = options}};
    const projected_timeline shown(input);
    return diagnose(shown.data(), shown.att(),
                    {.least_share = least_share, .step_function = shown.step_function(), .call_name = api_call_name});
}

void add_gains(report_document& document, const timeline& data, const attribution_options& options) {
    constexpr std::size_t most = 2'000'000;  // calls and operations; half a second
    if (document.capture.selection || data.api_calls.size() + data.ops.size() > most) return;
    for (report_part& part : document.parts) {
        if (part.answer) part.gains = dearest_changes(diagnose_timeline(data, default_least_share, options));
    }
}

}  // namespace prof
