// SPDX-License-Identifier: Apache-2.0
#include "cli/diagnose.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>

#include "analysis/reports/reports.hpp"
#include "analysis/selection/step_marks.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/progress.hpp"

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

double largest_gain_share(const table& findings) {
    double largest = 0;
    for (std::size_t column = 0; column < findings.columns.size(); ++column) {
        if (findings.columns[column].key != "gain_share") continue;
        for (const table_row& row : findings.rows) largest = std::max(largest, std::get<double>(row[column].value));
    }
    return largest;
}

// Whether there was anything to examine.
bool is_examined(const table& findings) {
    return std::any_of(findings.totals.begin(), findings.totals.end(), [](const auto& total) {
        return total.first == "steps" && std::get<std::uint64_t>(total.second.value) != 0;
    });
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
    report_settings settings;
    settings.projected.attribution = flags_.options();
    settings.least_share = percent_of_step(above_).value_or(100 * default_least_share) / 100;
    const std::vector<const report_kind*> kinds = reports_named({"diagnose", "diagnose_places", "critical_path"});
    const std::unique_ptr<report_writer> writer = output_.make_writer(inputs.files.size(), kinds.size(), false);
    const progress_display progress;
    int status = inputs.all_found ? exit_ok : exit_failure;
    double largest_share = 0;
    for (const std::string& file : inputs.files) {
        try {
            timeline data = load_input(file, progress);
            const progress_line computing(progress, "diagnosing " + file);
            if (!step_range_.empty()) count_steps_by(data, step_range_);
            const report_document document = reports_of(data, file, settings, kinds, output_.format().is_for_people);
            const table& findings = document.parts.front().tables.front();
            largest_share = std::max(largest_share, largest_gain_share(findings));
            if (!is_examined(findings)) status = exit_failure;
            writer->add(document);
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    output_.write(writer->text());
    const bool fails = !fail_above_.empty() && 100 * largest_share > percent_of_step(fail_above_).value_or(0);
    return status == exit_ok && fails ? exit_finding : status;
}

}  // namespace prof
