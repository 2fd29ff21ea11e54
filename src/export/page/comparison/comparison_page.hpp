// SPDX-License-Identifier: Apache-2.0
// The page of a comparison: the waterfall, both trees side by side, the runs, and the tables of what changed. One
// thread.
#pragma once

#include "compare/comparison.hpp"
#include "export/byte_sink.hpp"
#include "report/report_document.hpp"

namespace prof {

// `document`: of the same comparison (comparison_report.hpp), with its limits. Throws what the sink throws.
void write_comparison_page(const comparison& of, const report_document& document, byte_sink& to);

}  // namespace prof
