// SPDX-License-Identifier: Apache-2.0
#include "session/capture_diagnosis.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/selection/time_slices.hpp"
#include "base/json_text.hpp"
#include "diagnose/diagnosis_report.hpp"
#include "export/chrome/trace_names.hpp"

namespace prof {

namespace {

// `steps`: as in diagnosis_options.
diagnosis diagnosed(const timeline& data, const projection_options& projected, double least_share,
                    const whole_steps* steps = nullptr) {
    const report_input input{.data = data, .projected = projected};
    const projected_timeline shown(input);
    return diagnose(shown.data(), shown.att(),
                    {.least_share = least_share,
                     .step_function = shown.step_function(),
                     .call_name = api_call_name,
                     .steps = steps});
}

}  // namespace

const diagnosis& capture_diagnosis::get() {
    if (!made_) made_ = diagnosed(data_, projected_, least_share_);
    return *made_;
}

report_part capture_diagnosis::report(std::string_view name, bool for_people) {
    std::vector<report_part> parts = diagnosis_parts(get(), data_, for_people);
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const report_part& part) { return part.name == name; });
    return std::move(found == parts.end() ? parts.front() : *found);
}

std::optional<priced_changes> capture_diagnosis::gains(const step_figures& of, const time_answer& answer) {
    const bool is_small = data_.api_calls.size() + data_.ops.size() <= limits_.records + limits_.records / 2;
    if (made_ || is_small) {
        if (!get().has_steps) return {};
        return priced_changes{.dearest = dearest_changes(get())};
    }
    step_sample sample = sample_steps(data_, of.whole.steps, limits_);
    if (sample.steps.empty()) return {};
    const timeline slices = slices_of(data_, sample.spans);
    whole_steps steps = of.whole;
    steps.steps = std::move(sample.steps);
    diagnosis priced = diagnosed(slices, projected_, least_share_, &steps);
    if (priced.steps == 0) return {};
    priced_changes out{.sampled = priced.steps};
    extend_to_all(priced, of.whole.steps, !answer.of.slow.empty());
    out.dearest = dearest_changes(priced);
    return out;
}

void capture_diagnosis::add_gains(report_document& document) {
    if (document.capture.selection) return;
    for (report_part& part : document.parts) {
        if (part.answer && part.step) part.gains = gains(*part.step, *part.answer);
    }
}

void add_next_command(const timeline& data, report_document& document) {
    if (document.capture.selection || data.api_calls.empty()) return;
    std::error_code failed;
    const std::filesystem::file_status file = std::filesystem::status(document.capture.path, failed);
    // A pipe cannot be read again. A file removed since it was opened changes nothing of its report.
    const bool is_pipe = std::filesystem::exists(file) && !std::filesystem::is_regular_file(file);
    if (is_pipe || document.capture.path == "-") return;
    for (report_part& part : document.parts) {
        const bool has_more = part.answer && (!part.gains || !part.gains->dearest.empty());
        if (has_more) part.next = "prof diagnose " + terminal_safe(document.capture.path);
    }
}

}  // namespace prof
