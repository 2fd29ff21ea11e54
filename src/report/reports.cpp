// SPDX-License-Identifier: Apache-2.0
#include "report/reports.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/suggestion.hpp"
#include "report/capture_heading.hpp"
#include "report/job_knowledge.hpp"
#include "report/makers.hpp"
#include "report/row_order.hpp"

namespace prof {
namespace {

// A report that is one table.
template <table (*make)(const report_input&)>
report_part from_table(const report_input& input) {
    return part_of(make(input));
}

// A report of a job: a row without `make`.
template <std::unique_ptr<report_job> (*begin)(job_knowledge&)>
constexpr report_kind of_job(report_kind row) {
    row.begin_job = begin;
    row.make = [](const report_input& input) {
        job_knowledge shared;
        const auto made = begin(shared);
        shared.add(input);
        made->add(input, heading_of(input));
        return made->finish();
    };
    return row;
}

constexpr report_kind kinds[] = {
    {"gpu-projection", "GPU time by range, with what other threads launched for it (default)", "path|type",
     gpu_projection_report, false, false},
    {"breakdown", "where a step's time goes: compute, communication, copies, idle by cause", "use|cause|call|part",
     from_table<breakdown_report>, false, false},
    {"idle", "why the GPU was idle: what the host did, in which call and range", "group|cause|call|place",
     from_table<idle_report>, false},
    {"diagnose", "what to change, and what a step would gain", "rule|finding", diagnose_report, false, false, true},
    {"diagnose_places", "the places of what diagnose finds", "finding|place", diagnose_places_report, false, false,
     true},
    {"lines", "the host's time by line of the program and cause, and the gain", "line|cause", lines_report, false, true,
     true},
    {"critical_path", "what the steps wait for", "kind|where|module", critical_path_report, false, false, true},
    {"gpu_gaps", "the gaps in which the GPU was idle, longest first: cause, neighbours, queue depth", "device|start_ns",
     from_table<gpu_gaps_report>, false},
    {"small_kernels", "runs of kernels below 10 us, by place, and whether the GPU waits for their launches",
     "place|is_replayed", from_table<small_kernels_report>, false},
    {"small_kernel_operators", "PyTorch's operators and the modules that launch these kernels",
     "operator|module|is_replayed", from_table<small_kernel_operators_report>, false},
    {"kernels", "GPU time by kernel", "name", from_table<kernels_report>, false},
    {"copies", "GPU time and bytes by kind of copy and set, with the memories' kinds", "operation",
     from_table<copies_report>, false},
    {"steps", "GPU time a step by range, estimated from the steps that were captured", "path|type",
     from_table<steps_report>, false, false},
    {"functions", "functions by range, by samples of perf (--perf)", "range|function|file",
     from_table<functions_report>, false, false},
    {"counters", "the values of the program's counters: first, mean, least, largest, last", "Counter",
     from_table<counters_report>, false},
    {"memory", "what held GPU memory: at the peak, at an out-of-memory error, at the end; by use, range and module",
     "device|use|path|module", memory_report, false},
    {"memory_lines", "what held GPU memory, by the line of the program that asked for it", "device|line|code",
     memory_lines_report, false, false},
    {"memory_pieces",
     "CUDA's own memory by kind, the library that called, and range: device, pools, pinned host memory",
     "device|kind|caller|use|path", cuda_memory_report, false},
    {"jax_memory", "what JAX had in memory at the end: arrays and programs by line, and its allocators' figures",
     "device|kind|line|code", jax_memory_report, false},
    {"memory_steps", "the peak of each step: how much, when, in which range; growth, churn, reserved memory",
     "device|step", memory_steps_report, false},
    {"memory_findings", "what to change about memory: growth, fragmentation, allocation in steps, retries",
     "device|finding|path|module", memory_findings_report, false, false},
    {"memory_checkpoints", "what checkpointing a module would save of the peak, and what it would cost of a step",
     "device|module|class", memory_checkpoints_report, false},
    {"death", "how the process ended: ranges still open, launches that did not complete",
     "what|tid|range|kernel|before_end_ns", from_table<death_report>, false, false},
    {"pytorch_ops", "time by operator, backward node and record_function range of PyTorch", "name",
     from_table<pytorch_ops_report>, false},
    {"modules", "GPU time by torch.nn.Module and phase: `prof run --modules` records them", "path",
     from_table<modules_report>, false, false},
    {"compilation", "what was compiled, by JAX or torch.compile: how often, how long", "compiled",
     from_table<compilation_report>, false},
    {"mfu", "throughput and model FLOPs utilisation, each figure with its source", "figure", from_table<mfu_report>,
     false, false},
    of_job<begin_processes_job>({"processes", "all captures at a glance: a line for each process",
                                 "rank|pid|program|host|part", nullptr, false}),
    of_job<begin_ranks_job>({"ranks", "a job's ranks, the worst first: who holds it up, and what each step would gain",
                             "job|rank|capture", nullptr, false, false, true}),
    of_job<begin_stragglers_job>({"stragglers", "ranks, hosts and networks that hold a job up: price, cause, place",
                                  "job|kind|name", nullptr, false, false, true}),
    of_job<begin_collectives_job>({"collectives",
                                   "a job's collectives: arrival and launch skew, transfer, bandwidth, exposed time",
                                   "job|communicator|function|bytes|ranks", nullptr, false, false}),
    of_job<begin_clocks_job>(
        {"clocks", "the clocks of a job's hosts: offset, drift, error", "job|host|first_rank", nullptr, false, false}),
    of_job<begin_job_path_job>({"job_path",
                                "the job's critical path: whose work and which transfers its steps wait for",
                                "job|part|communicator", nullptr, false, false}),
    of_job<begin_standstill_job>({"standstill",
                                  "in what collective a job's ranks waited when their recordings ended, and for whom",
                                  "job|finding|rank|capture", nullptr, false, false}),
    {"temporal_breakdown", "GPU busy and idle, from the first operation to the last (HTA's)", "rank|scope|device",
     from_table<temporal_breakdown_report>, false},
    {"comm_comp_overlap", "communication that runs while kernels compute (HTA's)", "rank|scope|device",
     from_table<comm_comp_overlap_report>, false},
    {"idle_time_breakdown", "idle time between a stream's operations, by what it waits for (HTA's)",
     "rank|scope|device|stream|category", from_table<idle_time_breakdown_report>, false},
    {"gpu_kernel_types", "GPU time by the kinds of work that run at once (HTA's)", "rank|scope|with_memory|kernel_type",
     from_table<gpu_kernel_types_report>, false},
    {"gpu_kernel_breakdown", "GPU time by kind of work and kernel (HTA's)", "rank|scope|kernel_type|name",
     from_table<gpu_kernel_breakdown_report>, false},
    {"cuda_kernel_launch_stats", "launches: the call, the wait, the work (HTA's)", "rank|scope|with_memory",
     from_table<cuda_kernel_launch_stats_report>, false},
    {"cuda_kernel_launches", "the same, one by one", "rank|tid|correlation|start_ns",
     from_table<cuda_kernel_launches_report>, false},
    {"queue_length", "operations that wait in each stream's queue (HTA's)", "rank|scope|device|stream",
     from_table<queue_length_report>, false},
    {"memory_bandwidth", "rates of copies and sets (HTA's)", "rank|scope|name", from_table<memory_bandwidth_report>,
     false},
    {"cuda_api_sum", "CUDA calls: host time by function (Nsight's)", "Name", from_table<cuda_api_sum>},
    {"cuda_gpu_kern_sum", "kernels: GPU time by name (Nsight's)", "Name", from_table<cuda_gpu_kern_sum>},
    {"cuda_gpu_mem_size_sum", "copies and sets: bytes by direction (Nsight's)", "Operation",
     from_table<cuda_gpu_mem_size_sum>},
    {"cuda_gpu_mem_time_sum", "copies and sets: GPU time by direction (Nsight's)", "Operation",
     from_table<cuda_gpu_mem_time_sum>},
    {"cuda_kern_exec_sum", "kernels: time of call, queue and execution (Nsight's)",
     "PID|TID|DevId|API Name|Kernel Name", from_table<cuda_kern_exec_sum>},
    {"nvtx_gpu_proj_sum", "ranges projected on the GPU, by name (Nsight's: launching thread only)", "Range|Style",
     from_table<nvtx_gpu_proj_sum>},
    {"nvtx_gpu_proj_trace", "ranges projected on the GPU, one by one (Nsight's)", "RangeId",
     from_table<nvtx_gpu_proj_trace>},
    {"nvtx_kern_sum", "kernels by range and thread (Nsight's)", "NVTX Range|Style|PID|TID|Kernel Name",
     from_table<nvtx_kern_sum>},
    {"nvtx_pushpop_sum", "push/pop ranges: host time by name (Nsight's)", "Range", from_table<nvtx_pushpop_sum>},
};

}  // namespace

std::span<const report_kind> report_kinds() noexcept { return kinds; }

std::string_view reports_at_a_glance() noexcept {
    return "gpu-projection (default): GPU time by range; kernels; copies; modules: by torch.nn.Module; pytorch_ops: by "
           "operator of PyTorch's; and Nsight's, such as nvtx_gpu_proj_sum";
}

std::vector<const report_kind*> full_reports() {
    std::vector<const report_kind*> out;
    for (const std::string_view name : {"gpu-projection", "breakdown", "idle", "kernels", "copies", "pytorch_ops",
                                        "modules", "compilation", "counters", "memory", "diagnose", "critical_path"}) {
        out.push_back(find_report(name));
    }
    return out;
}

const report_kind* find_report(std::string_view name) noexcept {
    const auto* const found = std::find_if(std::begin(kinds), std::end(kinds),
                                           [&](const report_kind& kind) { return is_same_name(kind.name, name); });
    return found == std::end(kinds) ? nullptr : found;
}

void mark_keys(report_part& part) {
    for (report_block& block : part.blocks) {
        auto* const made = std::get_if<table>(&block);
        if (made == nullptr) continue;
        for (std::string_view rest = find_report(part.name)->keys; !rest.empty();) {
            const std::string_view key = rest.substr(0, rest.find('|'));
            for (table_column& column : made->columns) column.is_key = column.is_key || column.key == key;
            rest.remove_prefix(std::min(rest.size(), key.size() + 1));
        }
    }
}

void arrange(report_part& part, const report_kind& kind, std::string_view sort, std::size_t limit) {
    part.is_nsight = kind.is_nsight;
    part.is_of_job = kind.begin_job != nullptr;
    mark_keys(part);
    if (!sort.empty() && !kind.is_list) {
        throw impossible_order(
            "--sort: " + std::string(kind.name) +
            " is no list of rows that may be in any order; kernels, copies and modules, say, can be sorted");
    }
    if (!kind.is_list) return;
    for (report_block& block : part.blocks) {
        auto* const list = std::get_if<table>(&block);
        if (list == nullptr) continue;
        if (!sort.empty()) sort_rows(*list, sort);
        limit_rows(*list, limit);
    }
}

report_document make_document(const report_input& input, std::span<const report_kind* const> reports) {
    report_document out{.capture = heading_of(input)};
    for (const report_kind* const kind : reports) {
        out.parts.push_back(kind->make(input));
        arrange(out.parts.back(), *kind, input.sort, input.limit);
    }
    return out;
}

}  // namespace prof
