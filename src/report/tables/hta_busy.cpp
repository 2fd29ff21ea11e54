// SPDX-License-Identifier: Apache-2.0
// temporal_breakdown, comm_comp_overlap and idle_time_breakdown.
#include <string>
#include <utility>

#include "analysis/hta/idle_gaps.hpp"
#include "analysis/hta/state_times.hpp"
#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/hta_tables.hpp"

namespace prof {
namespace {

constexpr type_set computation = bit_of(kernel_type::computation);
constexpr type_set communication = bit_of(kernel_type::communication);

void add_device_column(table& out) { out.columns.push_back({"device", "GPU", quantity::identity, 2}); }

}  // namespace

table temporal_breakdown_report(const report_input& input) {
    table out = scoped_table("temporal_breakdown", "GPU busy and idle, from the first operation to the last");
    add_device_column(out);
    for (table_column column :
         {own_time("kernel_time_ns", "span"), own_time("idle_ns", "idle"), own_time("compute_ns", "compute"),
          own_time("non_compute_ns", "other"), table_column{"idle_share", "idle%", quantity::share},
          table_column{"compute_share", "compute%", quantity::share},
          table_column{"non_compute_share", "other%", quantity::share},
          own_time("exposed_communication_ns", "exposed comm", 4), own_time("exposed_memory_ns", "exposed copies", 5),
          own_time("between_windows_ns", "")}) {
        out.columns.push_back(std::move(column));
    }
    const hta_input from = hta_input_of(input);
    for (const hta_scope scope : both_scopes) {
        for (const auto& [device, times] : measure_states(from, scope)) {
            const std::int64_t span_ns = times.span_ns();
            const std::int64_t compute_ns = times.with(computation);
            const std::int64_t other_ns = times.busy_ns() - compute_ns;
            const std::int64_t not_compute_ns = times.with(communication) - times.with(communication | computation);
            table_row row = scoped_row(input.data, scope);
            row.insert(row.end(),
                       {cell_of(device), span_ns, times.idle_ns(), compute_ns, other_ns,
                        share_of(times.idle_ns(), span_ns), share_of(compute_ns, span_ns), share_of(other_ns, span_ns),
                        not_compute_ns, other_ns - not_compute_ns, times.outside_ns()});
            out.rows.push_back(std::move(row));
        }
    }
    out.legend = {{"", "compute: kernels compute, whatever else runs. other: busy without computing."},
                  {"", "all: by GPU. hta: HTA's figures, all GPUs of the process as one."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

table comm_comp_overlap_report(const report_input& input) {
    table out = scoped_table("comm_comp_overlap", "Communication that runs while kernels compute");
    add_device_column(out);
    for (table_column column :
         {own_time("communication_ns", "communication"), own_time("overlap_ns", "overlapped"),
          own_time("exposed_ns", "exposed"), table_column{"overlap_share", "overlap%", quantity::share}}) {
        out.columns.push_back(std::move(column));
    }
    for (const hta_scope scope : both_scopes) {
        for (const auto& [device, times] : measure_states(hta_input_of(input), scope)) {
            const std::int64_t communication_ns = times.with(communication);
            if (communication_ns == 0) continue;
            const std::int64_t overlap_ns = times.with(communication | computation);
            table_row row = scoped_row(input.data, scope);
            row.insert(row.end(), {cell_of(device), communication_ns, overlap_ns, communication_ns - overlap_ns,
                                   share_of(overlap_ns, communication_ns)});
            out.rows.push_back(std::move(row));
        }
    }
    return or_none(std::move(out), "no communication was recognised; --communication names kernels that are");
}

table idle_time_breakdown_report(const report_input& input) {
    table out = scoped_table("idle_time_breakdown", "Idle time between the operations of each stream");
    add_device_column(out);
    for (table_column column :
         {table_column{"stream", "stream", quantity::identity}, table_column{"category", "waits for"},
          own_time("idle_ns", "idle"), table_column{"idle_share", "%", quantity::share},
          table_column{"gaps", "gaps", quantity::count}}) {
        out.columns.push_back(std::move(column));
    }
    for (const hta_scope scope : both_scopes) {
        for (const stream_idle& stream : measure_idle(hta_input_of(input), scope)) {
            for (std::size_t i = 0; i < idle_categories; ++i) {
                const auto category = static_cast<idle_category>(i);
                const idle_sum& sum = stream.by_category[i];
                // HTA puts a stream's first operation, which has no gap, into the last category.
                const bool is_kept = scope == hta_scope::hta && category == idle_category::other;
                if (sum.gaps == 0 && !is_kept) continue;
                table_row row = scoped_row(input.data, scope);
                row.insert(row.end(), {cell_of(stream.device), stream.stream, std::string(to_string(category)),
                                       sum.idle_ns, share_of(sum.idle_ns, stream.total_ns()), sum.gaps});
                out.rows.push_back(std::move(row));
            }
        }
    }
    out.legend = {{"", "host_wait: launched after the stream was idle. kernel_wait: a short gap. other: a longer one."},
                  {"", "Short is below 5 us; to HTA, below 30 us."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

}  // namespace prof
