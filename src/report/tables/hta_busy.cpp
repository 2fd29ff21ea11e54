// SPDX-License-Identifier: Apache-2.0
// temporal_breakdown, comm_comp_overlap and idle_time_breakdown.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/hta/idle_gaps.hpp"
#include "analysis/hta/state_times.hpp"
#include "report/makers.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/hta_tables.hpp"

namespace prof {
namespace {

constexpr type_set computation = bit_of(kernel_type::computation);
constexpr type_set communication = bit_of(kernel_type::communication);

template <typename TRow>
report_columns<TRow> device_columns(const timeline& data) {
    report_columns<TRow> out = scope_columns<TRow>(data);
    out.push_back({{"device", "GPU", quantity::identity, 2}, &TRow::device});
    return out;
}

struct scoped_states : device_states {
    hta_scope scope;

    std::int64_t span_ns() const { return times.span_ns(); }
    std::int64_t idle_ns() const { return times.idle_ns(); }
    std::int64_t outside_ns() const { return times.outside_ns(); }
    std::int64_t compute_ns() const { return times.with(computation); }
    std::int64_t other_ns() const { return times.busy_ns() - compute_ns(); }
    std::int64_t communication_ns() const { return times.with(communication); }
    std::int64_t overlap_ns() const { return times.with(communication | computation); }
    std::int64_t exposed_ns() const { return communication_ns() - overlap_ns(); }
    std::int64_t exposed_copies_ns() const { return other_ns() - exposed_ns(); }
};

// Cells of the share that one time has of another.
auto share_of_time(std::int64_t (scoped_states::*part)() const, std::int64_t (scoped_states::*whole)() const) {
    return [=](const scoped_states& gpu) { return share_of((gpu.*part)(), (gpu.*whole)()); };
}

std::vector<scoped_states> states_of(const report_input& input) {
    const hta_input from = hta_input_of(input);
    std::vector<scoped_states> out;
    for (const hta_scope scope : both_scopes) {
        for (const device_states& measured : measure_states(from, scope)) out.push_back({measured, scope});
    }
    return out;
}

struct idle_of_stream {
    hta_scope scope;
    std::optional<std::uint32_t> device;
    std::uint32_t stream;
    idle_category category;
    idle_sum sum;
    std::int64_t total_ns;
};

std::vector<idle_of_stream> idle_of_streams(const report_input& input) {
    std::vector<idle_of_stream> out;
    for (const hta_scope scope : both_scopes) {
        for (const stream_idle& stream : measure_idle(hta_input_of(input), scope)) {
            for (std::size_t i = 0; i < idle_categories; ++i) {
                const auto category = static_cast<idle_category>(i);
                const idle_sum& sum = stream.by_category[i];
                // HTA puts a stream's first operation, which has no gap, into the last category.
                const bool is_kept = scope == hta_scope::hta && category == idle_category::other;
                if (sum.gaps == 0 && !is_kept) continue;
                out.push_back({scope, stream.device, stream.stream, category, sum, stream.total_ns()});
            }
        }
    }
    return out;
}

}  // namespace

table temporal_breakdown_report(const report_input& input) {
    using row = scoped_states;
    report_columns<row> columns = device_columns<row>(input.data);
    append(columns, {{{"kernel_time_ns", "span", quantity::time_ns}, &row::span_ns},
                     {{"idle_ns", "idle", quantity::time_ns}, &row::idle_ns},
                     {{"compute_ns", "compute", quantity::time_ns}, &row::compute_ns},
                     {{"non_compute_ns", "other", quantity::time_ns}, &row::other_ns},
                     {{"idle_share", "idle%", quantity::share}, share_of_time(&row::idle_ns, &row::span_ns)},
                     {{"compute_share", "compute%", quantity::share}, share_of_time(&row::compute_ns, &row::span_ns)},
                     {{"non_compute_share", "other%", quantity::share}, share_of_time(&row::other_ns, &row::span_ns)},
                     {{"exposed_communication_ns", "exposed comm", quantity::time_ns, 4}, &row::exposed_ns},
                     {{"exposed_memory_ns", "exposed copies", quantity::time_ns, 5}, &row::exposed_copies_ns},
                     {{"between_windows_ns", "", quantity::time_ns}, &row::outside_ns}});
    table out = make_table("temporal_breakdown", "GPU busy and idle, from the first operation to the last", columns,
                           states_of(input));
    out.legend = {{"", "compute: kernels compute, whatever else runs. other: busy without computing."},
                  {"", "all: by GPU. hta: HTA's figures, all GPUs of the process as one."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

table comm_comp_overlap_report(const report_input& input) {
    using row = scoped_states;
    report_columns<row> columns = device_columns<row>(input.data);
    append(columns,
           {{{"communication_ns", "communication", quantity::time_ns}, &row::communication_ns},
            {{"overlap_ns", "overlapped", quantity::time_ns}, &row::overlap_ns},
            {{"exposed_ns", "exposed", quantity::time_ns}, &row::exposed_ns},
            {{"overlap_share", "overlap%", quantity::share}, share_of_time(&row::overlap_ns, &row::communication_ns)}});
    std::vector<row> rows = states_of(input);
    std::erase_if(rows, [](const row& gpu) { return gpu.communication_ns() == 0; });
    return or_none(make_table("comm_comp_overlap", "Communication that runs while kernels compute", columns, rows),
                   "no communication was recognised; --communication names kernels that are");
}

table idle_time_breakdown_report(const report_input& input) {
    using row = idle_of_stream;
    report_columns<row> columns = device_columns<row>(input.data);
    append(columns, {{{"stream", "stream", quantity::identity}, &row::stream},
                     {{"category", "waits for"}, [](const row& stream) { return to_string(stream.category); }},
                     {{"idle_ns", "idle", quantity::time_ns}, [](const row& stream) { return stream.sum.idle_ns; }},
                     {{"idle_share", "%", quantity::share},
                      [](const row& stream) { return share_of(stream.sum.idle_ns, stream.total_ns); }},
                     {{"gaps", "gaps", quantity::count}, [](const row& stream) { return stream.sum.gaps; }}});
    table out = make_table("idle_time_breakdown", "Idle time between the operations of each stream", columns,
                           idle_of_streams(input));
    out.legend = {{"", "host_wait: launched after the stream was idle. kernel_wait: a short gap. other: a longer one."},
                  {"", "Short is below 5 us; to HTA, below 30 us."}};
    return or_none(std::move(out), "no GPU operation was recorded");
}

}  // namespace prof
