#include "export/report_json.hpp"

#include <nlohmann/json.hpp>

#include "export/capture_notes.hpp"
#include "export/json_text.hpp"

namespace prof {
namespace {

using json = nlohmann::ordered_json;

json row_json(const projection_row& row) {
    return {{"path", printable(row.path)},
            {"name", printable(row.name)},
            {"depth", row.depth},
            {"captured", row.is_captured},
            {"instances", row.instances},
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

json rows_json(const std::vector<projection_row>& rows) {
    json out = json::array();
    for (const projection_row& row : rows) out.push_back(row_json(row));
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

void add_statistics(json& row, double share, const duration_statistics& time) {
    row["share"] = share;
    row["instances"] = time.instances;
    row["total_ns"] = time.total_ns;
    row["min_ns"] = time.min_ns;
    row["median_ns"] = time.median_ns;
    row["mean_ns"] = time.mean_ns;
    row["max_ns"] = time.max_ns;
    row["stddev_ns"] = time.stddev_ns;
}

template <typename TRow>
std::int64_t total_ns(const std::vector<TRow>& rows) {
    std::int64_t total = 0;
    for (const TRow& row : rows) total += row.time.total_ns;
    return total;
}

}  // namespace

json projection_json(std::string_view capture, const timeline& data, const projection& projected) {
    json out = begin("gpu-projection", capture);
    out["total_gpu_ns"] = projected.total_gpu_ns;
    out["total_busy_ns"] = projected.total_busy_ns;
    out["total_ops"] = projected.total_ops;
    out["adopted_ops"] = projected.adopted_ops;
    out["ops_of_unseen_captures"] = projected.ops_of_unseen_captures;
    out["ops_of_ambiguous_captures"] = projected.ops_of_ambiguous_captures;
    out["communication_ns"] = projected.communication_ns;
    out["wait_ns"] = projected.wait_ns;
    out["rows"] = rows_json(projected.rows);
    out["process_ranges"] = rows_json(projected.process_ranges);
    add_quality(out, data);
    return out;
}

json kernels_json(std::string_view capture, const timeline& data, const std::vector<kernel_row>& rows) {
    json out = begin("kernels", capture);
    out["total_ns"] = total_ns(rows);
    json& list = out["rows"] = json::array();
    for (const kernel_row& row : rows) {
        json& item = list.emplace_back(json::object());
        item["name"] = printable(row.name);
        item["symbol"] = printable(row.symbol);
        add_statistics(item, row.share, row.time);
        item["registers_per_thread"] = row.registers_per_thread;
        item["class"] = to_string(row.kind);
    }
    add_quality(out, data);
    return out;
}

json pytorch_ops_json(std::string_view capture, const timeline& data, const pytorch_table& table) {
    json out = begin("pytorch_ops", capture);
    out["backward_nodes"] = table.backward_nodes;
    out["unlinked_nodes"] = table.unlinked_nodes;
    out["ambiguous_nodes"] = table.ambiguous_nodes;
    json& list = out["rows"] = json::array();
    for (const pytorch_row& row : table.rows) {
        list.push_back({{"name", printable(row.name)},
                        {"calls", row.calls},
                        {"cpu_total_ns", row.cpu_total_ns},
                        {"cpu_self_ns", row.cpu_self_ns},
                        {"gpu_total_ns", row.gpu_total_ns},
                        {"gpu_self_ns", row.gpu_self_ns},
                        {"gpu_ops", row.gpu_ops},
                        {"backward_gpu_ns", row.backward_gpu_ns},
                        {"backward_calls", row.backward_calls}});
    }
    add_quality(out, data);
    return out;
}

json transfers_json(std::string_view capture, const timeline& data, const std::vector<transfer_row>& rows) {
    json out = begin("copies", capture);
    out["total_ns"] = total_ns(rows);
    json& list = out["rows"] = json::array();
    for (const transfer_row& row : rows) {
        json& item = list.emplace_back(json::object());
        item["operation"] = printable(row.operation);
        add_statistics(item, row.share, row.time);
        item["bytes"] = row.bytes;
        item["min_bytes"] = row.min_bytes;
        item["max_bytes"] = row.max_bytes;
        item["gigabytes_per_s"] = row.gigabytes_per_s;
    }
    add_quality(out, data);
    return out;
}

}  // namespace prof
