#include "export/report/report_json.hpp"

#include <nlohmann/json.hpp>
#include <variant>

#include "analysis/reports/capture_notes.hpp"
#include "base/json_text.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

using json = nlohmann::ordered_json;

json row_json(const projection_row& row, std::string_view type) {
    return {{"path", printable(row.path)},
            {"type", type},
            {"name", printable(row.name)},
            {"depth", row.depth},
            {"captured", row.is_captured},
            {"observed", row.is_observed},
            {"instances", row.instances},
            {"merged_names", row.merged_names},
            {"host_ns", row.host_ns},
            {"gpu_sum_ns", row.gpu_sum_ns},
            {"gpu_self_ns", row.gpu_self_ns},
            {"gpu_child_ns", row.gpu_child_ns},
            {"gpu_busy_ns", row.gpu_busy_ns},
            {"gpu_span_ns", row.gpu_span_ns},
            {"ops", row.ops},
            {"self_ops", row.self_ops},
            {"adopted_ops", row.adopted_ops},
            {"adopted_ns", row.adopted_ns},
            {"instance_min_ns", row.instance_min_ns},
            {"instance_median_ns", row.instance_median_ns},
            {"instance_max_ns", row.instance_max_ns},
            {"instance_stddev_ns", row.instance_stddev_ns},
            {"communication_ns", row.communication_ns},
            {"wait_ns", row.wait_ns},
            {"payload_bytes", row.payload_bytes}};
}

// Over all steps that are counted; what is not known is null.
json step_json(const step_figures& steps) {
    const auto if_gpu = [&](auto value) { return steps.has_gpu ? json(value) : json(); };
    json out = {{"steps", steps.steps},
                {"source", step_source_name(steps.source)},
                {"is_first", steps.is_first},
                {"ended_by", nullptr},
                {"host_median_ns", steps.host_median_ns},
                {"host_ns", steps.host_ns},
                {"gpu_sum_ns", if_gpu(steps.gpu_sum_ns)},
                {"gpu_busy_ns", if_gpu(steps.gpu_busy_ns)},
                {"ops", if_gpu(steps.ops)},
                {"devices", if_gpu(steps.devices)},
                {"parts", json::array()}};
    if (steps.witness == optimizer_witness) out["ended_by"] = "optimizers";
    if (steps.witness == call_witness) out["ended_by"] = "calls";
    if (steps.witness == annotation_witness) out["ended_by"] = "annotations";
    if (steps.witness == profiler_witness) out["ended_by"] = "profiler";
    if (!steps.function.empty()) out["function"] = printable(steps.function);
    for (const step_part& part : steps.parts) {
        out["parts"].push_back({{"phase", part.name.empty() ? json() : json(printable(part.name))},
                                {"gpu_sum_ns", part.gpu_sum_ns},
                                {"ops", part.ops}});
    }
    return out;
}

json begin(std::string_view report, std::string_view capture) {
    return {{"report", report}, {"capture", printable(capture)}};
}

void add_quality(json& out, const timeline& data) {
    json& dropped = out["dropped"] = json::object();
    for (const auto& [cause, count] : data.quality.dropped) dropped[cause] = count;
    json& notes = out["notes"] = json::array();
    for (const std::string& note : capture_notes(data)) notes.push_back(printable(note));
}

json cell_json(const table_cell& cell) {
    if (const auto* const text = std::get_if<std::string>(&cell.value)) return printable(*text);
    if (const auto* const real = std::get_if<double>(&cell.value)) return *real;
    if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) return *whole;
    if (const auto* const whole = std::get_if<std::uint64_t>(&cell.value)) return *whole;
    return nullptr;
}

}  // namespace

json projection_json(std::string_view capture, const timeline& data, const std::optional<step_figures>& steps,
                     const projection& projected) {
    json out = begin("gpu-projection", capture);
    out["step"] = steps ? step_json(*steps) : json();
    out["total_gpu_ns"] = projected.total_gpu_ns;
    out["total_busy_ns"] = projected.total_busy_ns;
    out["total_ops"] = projected.total_ops;
    out["adopted_ops"] = projected.adopted_ops;
    out["ops_of_unseen_captures"] = projected.ops_of_unseen_captures;
    out["ops_of_ambiguous_captures"] = projected.ops_of_ambiguous_captures;
    out["communication_ns"] = projected.communication_ns;
    out["wait_ns"] = projected.wait_ns;
    json& rows = out["rows"] = json::array();
    for (const projection_row& row : projected.rows)
        rows.push_back(row_json(row, row_type(row.kind, row.is_captured, row.is_observed)));
    json& process_ranges = out["process_ranges"] = json::array();
    for (const projection_row& row : projected.process_ranges) process_ranges.push_back(row_json(row, "start_end"));
    add_quality(out, data);
    return out;
}

json table_json(std::string_view capture, const timeline& data, const table& of) {
    json out = begin(of.report, capture);
    for (const auto& [key, total] : of.totals) out[key] = cell_json(total);
    json& list = out["rows"] = json::array();
    for (const auto& row : of.rows) {
        json& item = list.emplace_back(json::object());
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!of.columns[i].key.empty()) item[of.columns[i].key] = cell_json(row[i]);
        }
    }
    add_quality(out, data);
    for (const std::string& note : of.notes) out["notes"].push_back(printable(note));
    return out;
}

}  // namespace prof
