// SPDX-License-Identifier: Apache-2.0
// The heading and the notes of a capture, which every document has. Pure functions.
#pragma once

#include <string>

#include "report/report_document.hpp"
#include "report/report_input.hpp"
#include "timeline/timeline.hpp"

namespace prof {

capture_heading heading_of(const timeline& data, std::string path = {});
// With what the request itself has in vain.
capture_heading heading_of(const report_input& input);

}  // namespace prof
