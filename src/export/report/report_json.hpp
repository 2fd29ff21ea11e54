// Reports as JSON. Times in ns; names as printable() makes them (json_text.hpp), so nothing of a name is lost.
// Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "analysis/projection/projection.hpp"
#include "analysis/reports/table.hpp"
#include "analysis/steps/step_figures.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// {"report": "gpu-projection", "capture": …, "step": {"steps", "source", "host_ns", …} or null, "total_gpu_ns", …,
// "rows": [{"path", "depth", "instances", "host_ns", "gpu_sum_ns", "gpu_self_ns", "gpu_child_ns", "gpu_busy_ns",
// "gpu_span_ns", "ops", "adopted_ops", …}], "process_ranges": […], "dropped": {cause: count}, "notes": […]}
nlohmann::ordered_json projection_json(std::string_view capture, const timeline& data,
                                       const std::optional<step_figures>& steps, const projection& projected);

// {"report": its name, "capture", its totals, "rows": [{column: value}], "dropped", "notes"}
nlohmann::ordered_json table_json(std::string_view capture, const timeline& data, const table& of);

}  // namespace prof
