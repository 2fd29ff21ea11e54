// SPDX-License-Identifier: Apache-2.0
#include "session/capture_diagnosis.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/reports.hpp"
#include "diagnose/diagnosis_report.hpp"
#include "export/chrome/trace_names.hpp"

namespace prof {

const diagnosis& capture_diagnosis::get() {
    if (!made_) {
        const report_input input{.data = data_, .projected = projected_};
        const projected_timeline shown(input);
        made_ =
            diagnose(shown.data(), shown.att(),
                     {.least_share = least_share_, .step_function = shown.step_function(), .call_name = api_call_name});
    }
    return *made_;
}

report_part capture_diagnosis::report(std::string_view name, bool for_people) {
    std::vector<report_part> parts = diagnosis_parts(get(), data_, for_people);
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const report_part& part) { return part.name == name; });
    return std::move(found == parts.end() ? parts.front() : *found);
}

void capture_diagnosis::add_gains(report_document& document) {
    constexpr std::size_t most = 2'000'000;  // calls and operations; half a second
    if (document.capture.selection || data_.api_calls.size() + data_.ops.size() > most) return;
    for (report_part& part : document.parts) {
        if (part.answer) part.gains = dearest_changes(get());
    }
}

}  // namespace prof
