// SPDX-License-Identifier: Apache-2.0
#include "cli/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/selection/step_choice.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/progress_line.hpp"
#include "report/reports.hpp"

namespace prof {
namespace {

constexpr std::string_view title_of_findings = "What is a finding";

std::optional<double> percent_of_step(const std::string& text) {
    const std::string_view number = std::string_view(text).substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
    constexpr double most = 100;
    return parse_number<double>(std::string(number), 0, most);
}

accepted_values percentage() {
    return {"a percentage of a step from 0 to 100",
            [](const std::string& text) { return percent_of_step(text).has_value(); }};
}

// Null: nothing was found.
const finding* dearest(const diagnosis& found) {
    const auto largest = std::max_element(found.findings.begin(), found.findings.end(),
                                          [](const finding& a, const finding& b) { return a.gain_ns < b.gain_ns; });
    return largest == found.findings.end() ? nullptr : &*largest;
}

// Of a step.
double largest_gain_share(const diagnosis& found) {
    const finding* const largest = dearest(found);
    return largest == nullptr ? 0 : found.share_of(largest->gain_ns);
}

// Why nothing was examined; "": something was.
std::string why_not_examined(const diagnosis& found) {
    if (found.steps != 0) return {};
    return found.not_looked.empty() ? "nothing could be examined" : found.not_looked.front();
}

// Leaves the reports of the job that have a sentence, and those on its ranks only if there are several.
void keep_told(report_document& job) {
    std::erase_if(job.parts, [](const report_part& part) {
        return block_in<text_block>(part) == nullptr || is_of_one_rank(part);
    });
}

const diagnosis& diagnosis_in(const report_document& document) {
    return block_in<findings_block>(document.parts.front())->found;
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
    part_.add_times_to(arguments);
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
    report_settings settings;
    settings.may_use_threads = true;
    settings.projected.attribution = flags_.options();
    settings.least_share = percent_of_step(above_).value_or(100 * default_least_share) / 100;
    settings.selection = part_.request();
    // count_steps() changes the timeline, without a copy.
    settings.counted_by = std::exchange(settings.selection.step_range, {});
    const std::vector<const report_kind*> kinds =
        reports_named({"diagnose", "diagnose_places", "critical_path", "ranks", "standstill"});
    job_reports job(kinds, inputs.files.size());
    // Of one capture nobody waits for others.
    std::vector<const report_kind*> of_captures;
    for (const report_kind* const kind : job.of_captures()) {
        if (kind->begin_job == nullptr) of_captures.push_back(kind);
    }
    const std::unique_ptr<report_writer> writer =
        output_.make_writer(inputs.files.size(), of_captures.size(), false, settings.shown);
    const progress_display progress;
    bool all_examined = inputs.all_found;
    bool any_fails = false;
    parts_not_found without;
    for (const std::string& file : inputs.files) {
        std::string complaint;
        try {
            timeline data = load_input(file, progress);
            const progress_line computing(progress, "diagnosing " + file);
            flags_.apply_to(data);
            part_.count_steps(data);
            const report_document document = make_reports(data, file, settings, of_captures, &job);
            const diagnosis& found = diagnosis_in(document);
            if (const std::string reason = why_not_examined(found); !reason.empty()) {
                complaint = fmt::format("{}: {}", file, reason);
                all_examined = false;
            } else if (!fail_above_.empty()) {
                any_fails |= fails(data, file, settings, found, complaint);
            }
            writer->add(document);
        } catch (const nothing_selected& failure) {
            without.add(file, failure.what());
        } catch (const error& failure) {
            complaint = failure.what();
            all_examined = false;
        }
        if (!complaint.empty()) complain(complaint);
    }
    if (!without.report(inputs.files.size())) all_examined = false;
    std::optional<report_document> together = job.finish(settings);
    if (together) keep_told(*together);
    if (together && !together->parts.empty()) writer->add(*together);
    output_.write(writer->text());
    if (any_fails) return exit_finding;
    return all_examined ? exit_ok : exit_failure;
}

// Whether a finding gains too much. What --above leaves out is looked for anew, and named in the complaint.
bool diagnose_command::fails(const timeline& data, const std::string& file, const report_settings& settings,
                             const diagnosis& shown, std::string& complaint) const {
    const double limit = percent_of_step(fail_above_).value_or(0) / 100;
    if (largest_gain_share(shown) > limit) return true;
    if (limit >= settings.least_share) return false;
    report_settings lower = settings;
    lower.least_share = limit;
    const report_document all = make_reports(data, file, lower, reports_named({"diagnose"}));
    const diagnosis& found = diagnosis_in(all);
    if (largest_gain_share(found) <= limit) return false;
    complaint =
        fmt::format("{}: what --above leaves out would gain more than --fail-above {}: {}: up to {:.2f} % of a step",
                    file, fail_above_, terminal_safe(dearest(found)->title), 100 * largest_gain_share(found));
    return true;
}

}  // namespace prof
