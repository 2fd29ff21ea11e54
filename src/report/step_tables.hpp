// SPDX-License-Identifier: Apache-2.0
// The figures of a step as tables, for programs that read tables only. A pure function.
#pragma once

#include <string>
#include <vector>

#include "report/report_document.hpp"
#include "report/table.hpp"

namespace prof {

// Tables of a report that has figures of a step: `step`, with one row or none, and `step_parts`, with a row for each
// phase; `answer`, with one row or none, `answer_parts` and `answer_slowest`; `gains`, where the steps were diagnosed.
// The columns are named as the members of the objects "step", "answer" and "gains" in JSON, which are made of them.
std::vector<table> step_tables(const std::string& report, const answer_block& of);

}  // namespace prof
