// Reports as JSON. Times in ns; names as printable() makes them (json_text.hpp), so nothing of a name is lost.
// Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/projection.hpp"
#include "analysis/pytorch_ops.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// {"report": "gpu-projection", "capture": …, "total_gpu_ns", …, "rows": [{"path", "depth", "instances", "host_ns",
// "gpu_sum_ns", "gpu_self_ns", "gpu_child_ns", "gpu_busy_ns", "gpu_span_ns", "ops", "adopted_ops", …}],
// "process_ranges": […], "dropped": {cause: count}, "notes": […]}
nlohmann::ordered_json projection_json(std::string_view capture, const timeline& data, const projection& projected);

// {"report": "kernels", "capture", "total_ns", "rows": […], "dropped", "notes"}
nlohmann::ordered_json kernels_json(std::string_view capture, const timeline& data,
                                    const std::vector<kernel_row>& rows);
// {"report": "pytorch_ops", "capture", "backward_nodes", "unlinked_nodes", "ambiguous_nodes", "rows": [{"name",
// "calls", "cpu_total_ns", "cpu_self_ns", "gpu_total_ns", "gpu_self_ns", "gpu_ops", "backward_gpu_ns",
// "backward_calls"}], "dropped", "notes"}
nlohmann::ordered_json pytorch_ops_json(std::string_view capture, const timeline& data, const pytorch_table& table);
nlohmann::ordered_json transfers_json(std::string_view capture, const timeline& data,
                                      const std::vector<transfer_row>& rows);

}  // namespace prof
