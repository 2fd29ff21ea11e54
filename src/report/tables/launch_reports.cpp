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

// Kernels of one name on one device, launched by one kind of call on one thread.
struct executed_kernels {
    std::uint32_t tid;
    std::uint32_t device;
    duration_statistics total, call, queue, kernel;
    std::string call_name, kernel_name;
};

report_columns<executed_kernels> execution_columns(const timeline& data) {
    report_columns<executed_kernels> out = {
        {id_column("PID", 6), [pid = process_cell(data)](const auto&) { return pid; }},
        {id_column("TID", 3), &executed_kernels::tid},
        {id_column("DevId", 5), &executed_kernels::device},
        {count_column("Count"), [](const auto& row) { return row.kernel.instances; }},
        {count_column("QCount", 1), [](const auto& row) { return row.queue.instances; }}};
    constexpr int rarely_shown = 7;
    for (const auto& [prefix, time] :
         {std::pair("T", &executed_kernels::total), std::pair("A", &executed_kernels::call),
          std::pair("Q", &executed_kernels::queue), std::pair("K", &executed_kernels::kernel)}) {
        report_columns<executed_kernels> statistics = statistics_columns(time, prefix);
        for (auto& one : statistics) one.column.importance = one.column.importance == 0 ? 0 : rarely_shown;
        append(out, std::move(statistics));
    }
    append(out, {{{"API Name", "API Name", quantity::text, 2}, &executed_kernels::call_name},
                 {text_column("Kernel Name"), &executed_kernels::kernel_name}});
    return out;
}

}  // namespace

table cuda_api_sum(const report_input& input) {
    call_texts names{input};
    std::map<std::string, std::vector<std::int64_t>> durations_ns;
    for (const timeline_api_call& call : input.data.api_calls) {
        if (has_returned(call)) durations_ns[names.text(names.of(call))].push_back(call.end_ns - call.start_ns);
    }
    return time_summary("cuda_api_sum", "CUDA calls on the host", "Num Calls", "Name", durations_ns,
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
    std::vector<executed_kernels> rows;
    for (const auto& [key, of] : groups) {
        const auto& [tid, device, call, kernel] = key;
        rows.push_back({tid, device, summarize(of.total_ns), summarize(of.call_ns), summarize(of.queue_ns),
                        summarize(of.kernel_ns), names.text(call), kernel_texts.text(kernel)});
    }
    rows = largest_first(std::move(rows), [](const executed_kernels& row) { return row.total.total_ns; });
    table out = make_table("cuda_kern_exec_sum", "Kernels from call to end", execution_columns(data), rows);
    out.legend = {{"", "T: from the call's start to the later end. A: the call. Q: the wait. K: the kernel."}};
    if (input.sort.empty()) out.remark = ", by TAvg times Count";
    return or_none(std::move(out), "no kernel of a recorded call was recorded");
}

}  // namespace prof
