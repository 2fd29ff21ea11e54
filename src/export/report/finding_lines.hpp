// SPDX-License-Identifier: Apache-2.0
// What was found, in words. A pure function.
#pragma once

#include <string>
#include <vector>

#include "report/report_document.hpp"

namespace prof {

// Lines of any length, ready for a terminal, with blanks before them that show their depth. An empty one divides.
std::vector<std::string> finding_lines(const findings_block& block);

}  // namespace prof
