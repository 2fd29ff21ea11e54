// SPDX-License-Identifier: Apache-2.0
// The runs of a program as a document: each run's step, and how much the runs spread. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "report/report_document.hpp"

namespace prof {

// A row for each; `are_two_groups`: with the side.
table runs_table(const std::string& report, std::span<const compared_run> runs, bool are_two_groups);

// Of one group. REQUIRES: it is not empty.
report_document runs_document(const std::vector<run_profile>& runs, const std::string& title,
                              const std::vector<std::string>& warnings);

}  // namespace prof
