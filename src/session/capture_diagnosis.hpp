// SPDX-License-Identifier: Apache-2.0
// The diagnosis of a timeline that reports show, made once, when it is first asked for. One thread.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/projection/projection.hpp"
#include "analysis/reports/report_document.hpp"
#include "diagnose/diagnosis.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class capture_diagnosis {
public:
    // The arguments must outlive it. `least_share`: as diagnosis_options.
    capture_diagnosis(const timeline& data, const projection_options& projected, double least_share)
        : data_(data), projected_(projected), least_share_(least_share) {}

    // The report of that name (diagnosis_report.hpp). REQUIRES: it is one of them.
    report_part report(std::string_view name, bool for_people);
    // Adds the dearest changes to the parts of the document that begin with a step, unless the document is of a part of
    // the capture, or the capture so large that people would wait for them.
    void add_gains(report_document& document);

private:
    const diagnosis& get();

    const timeline& data_;
    const projection_options& projected_;
    double least_share_;
    std::optional<diagnosis> made_;
};

}  // namespace prof
