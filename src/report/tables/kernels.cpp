// SPDX-License-Identifier: Apache-2.0
#include "report/tables/kernels.hpp"
#include "analysis/projection/operation_name.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/nsight_columns.hpp"
#include "report/tables/table_of_step.hpp"

namespace prof {

std::vector<kernel_row> kernel_table(const timeline& data, kernel_name_style names) {
    struct instances {
        std::vector<std::int64_t> durations_ns;
        std::string_view symbol;
        bool one_symbol = true;
        std::uint32_t registers_per_thread = 0;
        op_class kind = op_class::compute;
    };
    const op_classifier class_of(data);
    text_ids texts;
    std::map<std::uint32_t, instances> by_name;
    std::map<std::uint32_t, instances> by_graph;
    std::int64_t total_ns = 0;
    for (const gpu_op& op : data.ops) {
        if (op.kind == op_kind::graph) {
            by_graph[data.graphs[op.detail].graph_id].durations_ns.push_back(op.end_ns - op.start_ns);
        } else if (op.kind == op_kind::kernel) {
            const kernel_record& record = data.kernels[op.detail];
            const std::string_view symbol = data.name(name_id(record.name));
            instances& kernel = by_name[texts.of(record.name, [&] { return kernel_name(symbol, names); })];
            if (kernel.durations_ns.empty()) {
                kernel.registers_per_thread = record.registers_per_thread;
                kernel.symbol = symbol;
                kernel.kind = class_of(op);
            }
            kernel.one_symbol = kernel.one_symbol && kernel.symbol == symbol;
            kernel.durations_ns.push_back(op.end_ns - op.start_ns);
        } else {
            continue;
        }
        total_ns += op.end_ns - op.start_ns;
    }

    std::vector<kernel_row> rows;
    const auto add_row = [&](std::string name, const instances& kernel) {
        kernel_row row;
        row.name = std::move(name);
        if (kernel.one_symbol) row.symbol = kernel.symbol;
        row.time = summarize(kernel.durations_ns);
        row.share = share_of(row.time.total_ns, total_ns);
        row.registers_per_thread = kernel.registers_per_thread;
        row.kind = kernel.kind;
        rows.push_back(std::move(row));
    };
    for (const auto& [text, kernel] : by_name) add_row(texts.text(text), kernel);
    for (const auto& [id, graph] : by_graph) add_row(graph_name({.graph_id = id}), graph);
    std::sort(rows.begin(), rows.end(), [](const kernel_row& a, const kernel_row& b) {
        return a.time.total_ns != b.time.total_ns ? a.time.total_ns > b.time.total_ns
                                                  : std::tie(a.name, a.symbol) < std::tie(b.name, b.symbol);
    });
    return rows;
}

table kernels_report(const report_input& input) {
    report_columns<kernel_row> columns = {{{"name", "kernel"}, &kernel_row::name, true},
                                          {{"symbol", ""}, &kernel_row::symbol}};
    append(columns, duration_columns(&kernel_row::share, &kernel_row::time));
    append(columns,
           {{{"registers_per_thread", "registers", quantity::identity, 5}, &kernel_row::registers_per_thread},
            {{"class", "class", quantity::text, 6}, [](const kernel_row& row) { return to_string(row.kind); }}});
    const std::vector<kernel_row> rows = kernel_table(data_of_tables(input), input.names);
    kernel_row all{.name = "total"};
    std::int64_t communication_ns = 0;
    std::vector<std::int64_t> totals_ns;
    for (const kernel_row& row : rows) {
        all.time.total_ns += row.time.total_ns;
        all.time.instances += row.time.instances;
        totals_ns.push_back(row.time.total_ns);
        if (row.kind == op_class::communication) communication_ns += row.time.total_ns;
    }
    table out = make_table("kernels", "GPU time by kernel", columns, rows);
    out.totals = {{"total_ns", all.time.total_ns}, {"communication_ns", communication_ns}};
    out.sums = {sums_of(columns, all)};
    out.unit_ns = typical_time(std::move(totals_ns));
    out.legend = {{"%", "%: of the time of all kernels."}};
    if (input.step != nullptr) {
        out.heading = "GPU time of a step, by kernel";
        make_durations_of_step(out, *input.step);
        return or_none(std::move(out), "no kernel was launched in a step");
    }
    return or_none(std::move(out), "no kernel was recorded");
}

table cuda_gpu_kern_sum(const report_input& input) {
    const timeline& data = input.data;
    text_ids texts;
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const gpu_op& op : data.ops) {
        if (op.kind != op_kind::kernel) continue;
        const name_id symbol(data.kernels[op.detail].name);
        const std::uint32_t text = texts.of(symbol, [&] { return kernel_name(data.name(symbol), input.names); });
        durations_ns[texts.text(text)].push_back(op.end_ns - op.start_ns);
    }
    return time_summary("cuda_gpu_kern_sum", "Kernels by name", "Instances", "Name", durations_ns,
                        "no kernel was recorded");
}

}  // namespace prof
