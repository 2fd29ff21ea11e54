// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/tables/nsight_columns.hpp"

namespace prof {
namespace {

// Names of calls, made once each.
class call_texts {
public:
    explicit call_texts(const report_input& input) : input_(input) {}
    std::uint32_t of(const timeline_api_call& call) {
        return texts_.of(call_name_key(call), [&] { return input_.call_name(call); });
    }
    const std::string& text(std::uint32_t id) const { return texts_.text(id); }

private:
    const report_input& input_;
    text_ids texts_;
};

// A call that was never seen to return has no length.
bool has_returned(const timeline_api_call& call) noexcept { return call.end_ns != 0; }

}  // namespace

table cuda_api_sum(const report_input& input) {
    call_texts names{input};
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const timeline_api_call& call : input.data.api_calls) {
        if (has_returned(call)) durations_ns[names.text(names.of(call))].push_back(call.end_ns - call.start_ns);
    }
    return time_summary({"cuda_api_sum", "CUDA calls on the host", {}, {}, {}}, "Num Calls", "Name", durations_ns,
                        "no CUDA call was recorded");
}

table cuda_kern_exec_sum(const report_input& input) {
    struct group {
        std::vector<std::int64_t> total_ns, call_ns, queue_ns, kernel_ns;
    };
    const timeline& data = input.data;
    call_texts names{input};
    text_ids kernel_texts;
    // Thread, device, call's name, kernel's name.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, group> groups;
    for (const gpu_op& op : data.ops) {
        if (op.kind != op_kind::kernel || op.launch == npos) continue;
        const timeline_api_call& call = data.api_calls[op.launch];
        if (!has_returned(call)) continue;
        const name_id symbol(data.kernels[op.detail].name);
        const std::uint32_t kernel =
            kernel_texts.of(symbol, [&] { return kernel_name(data.name(symbol), input.names); });
        group& of = groups[{data.threads[call.thread].tid, data.place_of(op).device, names.of(call), kernel}];
        of.total_ns.push_back(std::max(call.end_ns, op.end_ns) - call.start_ns);
        of.call_ns.push_back(call.end_ns - call.start_ns);
        if (op.start_ns > call.end_ns) of.queue_ns.push_back(op.start_ns - call.end_ns);
        of.kernel_ns.push_back(op.end_ns - op.start_ns);
    }

    table out{"cuda_kern_exec_sum", "Kernels from call to end", {}, {}, {}};
    out.columns = {id_column("PID", 6), id_column("TID", 3), id_column("DevId", 5), count_column("Count"),
                   count_column("QCount", 1)};
    for (const char* const phase : {"T", "A", "Q", "K"}) {
        out.columns.push_back(time_column(std::string{phase} + "Avg"));
        for (const char* const statistic : {"Med", "Min", "Max", "StdDev"}) {
            out.columns.push_back(time_column(std::string{phase} + statistic, 7));
        }
    }
    out.columns.push_back({"API Name", "API Name", quantity::text, 2});
    out.columns.push_back(text_column("Kernel Name"));
    const table_cell pid = process_cell(data);
    std::vector<std::pair<std::int64_t, std::vector<table_cell>>> rows;
    for (const auto& [key, of] : groups) {
        const auto& [tid, device, call, kernel] = key;
        std::vector<table_cell> row = {pid, tid, device, of.kernel_ns.size(), of.queue_ns.size()};
        for (const auto* const phase : {&of.total_ns, &of.call_ns, &of.queue_ns, &of.kernel_ns}) {
            add_statistics(row, *phase);
        }
        row.emplace_back(names.text(call));
        row.emplace_back(kernel_texts.text(kernel));
        rows.emplace_back(summarize(of.total_ns).total_ns, std::move(row));
    }
    out.rows = largest_first(std::move(rows));
    out.legend = {{"", "T: from the call's start to the later end. A: the call. Q: the wait. K: the kernel."}};
    if (input.sort.empty()) out.remark = ", by TAvg times Count";
    return or_none(std::move(out), "no kernel of a recorded call was recorded");
}

}  // namespace prof
