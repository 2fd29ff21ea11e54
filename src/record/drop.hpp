// Why something could not be kept. Nothing is lost in silence: each cause has a counter, in the rings' shared mapping
// while the process runs and in the capture afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prof {

enum class drop_cause : std::uint32_t {
    ring_full = 0,            // a record found its thread's ring full
    enclosing_range_dropped,  // a range inside one that was dropped (kept out so that pushes and pops stay paired)
    no_ring,                  // a thread found no ring free
    names_full,               // a name found the name table full; its record stands with the empty name
    domains_full,             // a range of a domain beyond the domain table
    pop_without_push,         // a pop whose push was before the session or never came
    cupti_dropped,            // records that CUPTI itself reports as dropped
    cupti_no_buffer,          // CUPTI asked for a buffer and all were in use
    cupti_no_timestamp,       // GPU records without a start or end time
    cupti_unknown_record,     // activity records of a kind that was not asked for
    cupti_error,              // a CUPTI call failed while recording
    write_failed,             // records that could not be written to the capture (disk full, …)
    labels_full,              // names of threads, streams, categories beyond the label table
    forked_child,             // forked children that could not be recorded: each counts once
    graph_memory_full,        // nodes of graphs beyond what is kept from recording to recording
    signal_handler,  // made by a signal's handler that interrupted its thread in the middle of a record, or in the
                     // session
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
