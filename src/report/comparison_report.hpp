// SPDX-License-Identifier: Apache-2.0
// A comparison of two groups of runs as a document: what is not the same, the verdict, the waterfall, what changed
// most. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/limits.hpp"
#include "report/report_document.hpp"

namespace prof {

struct comparison_names {
    std::string base{};  // as the user gave them
    std::string changed{};
    std::vector<std::string> warnings{};  // of the captures
};

// Whether limits hold; a report of its own, diff_gate, for the same document. Without limits there is none.
void add_gate(report_document& to, const std::vector<gated_figure>& of);
// The same as JUnit's XML, a test case for each limit: one that is inconclusive is skipped.
std::string junit_text(const std::vector<gated_figure>& of);

// Each table is a report of its own: diff_differences, diff, diff_waterfall, diff_ranges, diff_modules, diff_kernels,
// diff_lines and diff_findings.
report_document comparison_document(const comparison& of, const comparison_names& names);

// "the step is slower by 3.1 % (+2.4 % to +3.8 %)"; of a pair that the two differ.
std::string verdict_sentence(std::string_view name, const judged_figure& of);

// "+3.1 %"
std::string change_text(double ratio);

}  // namespace prof
