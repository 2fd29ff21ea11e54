// SPDX-License-Identifier: Apache-2.0
// A diagnosis as a part of a report document: paragraphs for people, and tables for people and programs. Pure
// functions.
#pragma once

#include <vector>

#include "analysis/reports/report_document.hpp"
#include "diagnose/diagnosis.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The reports diagnose, diagnose_places and critical_path. Moments are times since the beginning of the capture, as
// --from takes them. `for_people`: the dearest rows of the critical path, and a sum of the others.
std::vector<report_part> diagnosis_parts(const diagnosis& of, const timeline& data, bool for_people);

// The dearest findings, at most `most`.
std::vector<priced_change> dearest_changes(const diagnosis& of, std::size_t most = 3);

}  // namespace prof
