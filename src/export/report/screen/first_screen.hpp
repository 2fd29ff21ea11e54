// SPDX-License-Identifier: Apache-2.0
// The first screen of a capture: how long a step is, where it goes, what would shorten it, and what to type next, in as
// many lines as there are. docs/guide/screen.md describes it. A pure function.
#pragma once

#include <string>
#include <vector>

#include "export/report/screen/screen_table.hpp"
#include "report/report_document.hpp"

namespace prof {

// Lines of at most layout.width cells, at most layout.lines of them; none if the document has no answer. The order of
// its blocks and their first words do not change. Fewer lines mean fewer rows and gains, and never other numbers.
std::vector<std::string> first_screen(const report_document& document, const screen_layout& layout);

// Whether the document has what the first screen is made of.
bool has_first_screen(const report_document& document) noexcept;

}  // namespace prof
