// SPDX-License-Identifier: Apache-2.0
// Notes that several documents have, and the legends of their tables: they stand once, below all of them. Pure.
#pragma once

#include <string>
#include <vector>

#include "export/report/report_text.hpp"
#include "report/report_document.hpp"

namespace prof {

// Takes the notes that more than one of the documents has out of all of them. Returns these and what explains the
// tables, each line once, as text below the last document; "" if there is none.
std::string take_common_lines(std::vector<report_document>& documents, const text_layout& layout);

}  // namespace prof
