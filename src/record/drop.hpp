// SPDX-License-Identifier: Apache-2.0
// Why data could not be kept. Each cause has a counter, in the rings' shared mapping while the process runs, and in the
// capture afterwards. Any thread counts, without a lock (region::count_drop). A new cause is added at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prof {

enum class drop_cause : std::uint32_t {
    ring_full = 0,            // a record that found its thread's ring full
    enclosing_range_dropped,  // a range inside a dropped range (dropped too, so that pushes and pops stay paired)
    no_ring,                  // a record of a thread that found no free ring
    names_full,               // a name that found the name table full; its record has the empty name
    domains_full,             // a range of a domain that found the domain table full
    pop_without_push,         // a pop whose push came before the session or never
    cupti_dropped,            // records that CUPTI reports as dropped
    cupti_no_buffer,          // CUPTI requested a buffer and all were in use
    cupti_no_timestamp,       // GPU records without a start or end time
    cupti_unknown_record,     // activity records of a kind that libprof does not enable
    cupti_error,              // a CUPTI call failed while recording
    write_failed,             // records that could not be written to the capture (disk full, …)
    labels_full,              // names of threads, streams or categories that found the label table full
    forked_child,             // forked children that could not be recorded; each counts once
    graph_memory_full,        // nodes of graphs beyond those that are kept from recording to recording
    signal_handler,  // a record made by a signal handler that interrupted its thread in the middle of a record or in
                     // the session
};
inline constexpr std::size_t drop_cause_count = 16;

inline constexpr std::array<std::string_view, drop_cause_count> drop_cause_names = {
    "ring_full",
    "enclosing_range_dropped",
    "no_ring",
    "names_full",
    "domains_full",
    "pop_without_push",
    "cupti_dropped",
    "cupti_no_buffer",
    "cupti_no_timestamp",
    "cupti_unknown_record",
    "cupti_error",
    "write_failed",
    "labels_full",
    "forked_child",
    "graph_memory_full",
    "signal_handler",
};

// By cause.
using drop_counts = std::array<std::uint64_t, drop_cause_count>;

constexpr std::string_view to_string(drop_cause cause) noexcept {
    const auto index = static_cast<std::size_t>(cause);
    return index < drop_cause_names.size() ? drop_cause_names[index] : std::string_view{"unknown"};
}

}  // namespace prof
