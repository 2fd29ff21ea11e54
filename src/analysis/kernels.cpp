#include "analysis/kernels.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/durations.hpp"

namespace prof {

std::vector<kernel_row> kernel_table(const timeline& data) {
    struct instances {
        std::vector<std::int64_t> durations_ns;
        std::uint32_t registers_per_thread = 0;
    };
    std::unordered_map<std::string_view, instances> by_symbol;
    std::unordered_map<std::uint32_t, instances> by_graph;
    std::int64_t total_ns = 0;
    for (const gpu_op& op : data.ops) {
        if (op.kind == op_kind::graph) {
            by_graph[data.graphs[op.detail].graph_id].durations_ns.push_back(op.end_ns - op.start_ns);
        } else if (op.kind == op_kind::kernel) {
            instances& kernel = by_symbol[data.kernel_symbol(op)];
            if (kernel.durations_ns.empty()) kernel.registers_per_thread = data.kernels[op.detail].registers_per_thread;
            kernel.durations_ns.push_back(op.end_ns - op.start_ns);
        } else {
            continue;
        }
        total_ns += op.end_ns - op.start_ns;
    }

    std::vector<kernel_row> rows;
    const auto add_row = [&](std::string name, std::string_view symbol, const instances& kernel) {
        kernel_row row;
        row.symbol = symbol;
        row.name = std::move(name);
        row.time = summarize(kernel.durations_ns);
        row.share = share_of(row.time.total_ns, total_ns);
        row.registers_per_thread = kernel.registers_per_thread;
        if (is_communication_kernel(symbol)) row.kind = op_class::communication;
        rows.push_back(std::move(row));
    };
    for (const auto& [symbol, kernel] : by_symbol) {
        add_row(symbol.empty() ? "(unnamed)" : demangle(symbol), symbol, kernel);
    }
    for (const auto& [id, graph] : by_graph) add_row(graph_name({.graph_id = id}), {}, graph);
    std::sort(rows.begin(), rows.end(), [](const kernel_row& a, const kernel_row& b) {
        return a.time.total_ns != b.time.total_ns ? a.time.total_ns > b.time.total_ns
                                                  : std::tie(a.name, a.symbol) < std::tie(b.name, b.symbol);
    });
    return rows;
}

std::string graph_name(const graph_record& graph) { return "CUDA graph " + std::to_string(graph.graph_id); }

std::string demangle(std::string_view symbol) {
    std::string mangled{symbol};
    // The demangler takes the names of types too ("i" is int): a C function's name is none of its business.
    if (!mangled.starts_with("_Z")) return mangled;
    const std::unique_ptr<char, decltype(&std::free)> name{
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr), &std::free};
    return name ? std::string{name.get()} : mangled;
}

}  // namespace prof
