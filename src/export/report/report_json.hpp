// SPDX-License-Identifier: Apache-2.0
// Reports as JSON. Times in ns; names as printable() makes them (json_text.hpp), so nothing of a name is lost.
// Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/report_document.hpp"

namespace prof {

// {"report": its name, "capture", "process": {"program", "rank", "recorded_ns", …}, "step": {"steps", "source",
// "host_ns", …} or null where the report has one, its totals, "rows": [{column: value}], the rows of further tables
// under their own keys, "dropped": {cause: count}, "warnings": […], "notes": […]}
nlohmann::ordered_json report_json(const capture_heading& capture, const report_part& part);

}  // namespace prof
