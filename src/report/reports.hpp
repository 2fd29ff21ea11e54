// SPDX-License-Identifier: Apache-2.0
// Every report by name: libprof's own, and those that users know from Nsight Systems, with its columns and definitions
// (docs/reference/reports.md).
//
// To add a report: a maker in a file of its own in report/tables/, its declaration in makers.hpp, and a row in
// reports.cpp. A report of several captures together is a report_job (report_input.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "report/report_input.hpp"

namespace prof {

// The first is the default.
std::span<const report_kind> report_kinds() noexcept;
// The ones that most users want, in a phrase for the help of an option.
std::string_view reports_at_a_glance() noexcept;
// Those of `prof report --full`: what most questions need.
std::vector<const report_kind*> full_reports();
// Null if there is none of that name; '-' and '_' are the same in it.
const report_kind* find_report(std::string_view name) noexcept;

// Marks the columns that identify a row. REQUIRES: the part is named as its report.
void mark_keys(report_part& part);

// Marks the part as one of this kind, and arranges the rows of a list (report_input::sort and limit). Throws
// prof::error if the report cannot be sorted so.
void arrange(report_part& part, const report_kind& kind, std::string_view sort, std::size_t limit);

// These reports of a capture, without what its answers would gain (make_reports.hpp). Throws prof::error if one of them
// cannot be sorted as the input says.
report_document make_document(const report_input& input, std::span<const report_kind* const> reports);

}  // namespace prof
