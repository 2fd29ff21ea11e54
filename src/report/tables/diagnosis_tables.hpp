// SPDX-License-Identifier: Apache-2.0
// A diagnosis as tables for programs. Moments are times since the beginning of the capture, as --from takes them. Pure
// functions.
#pragma once

#include "report/report_document.hpp"

namespace prof {

// A row for each finding, dearest first.
table findings_table(const diagnosis& of);
// A row for each place of each finding.
table places_table(const findings_block& block);

}  // namespace prof
