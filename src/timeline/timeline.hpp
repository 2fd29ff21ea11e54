// A capture read back as correlated, immutable data: threads, the range tree, API calls, GPU operations.
//
// load_timeline() is the one way to make one; afterwards nothing changes it, so any number of threads may read it.
// Entities refer to each other by index into these vectors; `npos` means "none". Times are nanoseconds in CUPTI's
// clock (by default CLOCK_REALTIME); host ticks were converted with the capture's clock snapshots.
// Cost: linear in the capture's records; memory about 100 bytes a record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/drop.hpp"
#include "record/gpu_record.hpp"
#include "record/record.hpp"

namespace prof {

inline constexpr std::uint32_t npos = UINT32_MAX;

struct timeline_thread {
    std::uint64_t uid = 0;
    std::uint32_t tid = 0;
    std::string name;         // NVTX's name if given, else the kernel's
    std::string system_name;  // the kernel's (comm): what adoption's pattern looks at
};

enum class range_style : std::uint8_t { push_pop, start_end };

struct timeline_range {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // if it was never seen to close: the end of the capture, or where records are missing
    std::uint64_t payload = 0;
    std::uint32_t name = 0;           // timeline::name(); raw, as the process gave it
    std::uint32_t thread = npos;      // index into threads
    std::uint32_t end_thread = npos;  // differs from `thread` only for start_end
    std::uint32_t parent = npos;      // the range that was innermost on this thread when it opened (push_pop only)
    std::uint32_t depth = 0;          // 0 for a range with no parent
    std::uint32_t color = 0;          // ARGB; 0 none
    std::uint32_t category = 0;
    std::uint16_t domain = 0;  // index into domains
    payload_type payload_kind = payload_type::none;
    range_style style = range_style::push_pop;
    bool open_at_end = false;  // never seen to close
};

struct timeline_mark {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    std::uint32_t name = 0;
    std::uint32_t thread = npos;
    std::uint32_t color = 0;
    std::uint32_t category = 0;
    std::uint16_t domain = 0;
    payload_type payload_kind = payload_type::none;
};

// The push/pop ranges open on a thread at one moment, latest opened first, as a persistent list: pushing adds a node
// on top, popping another domain's range from the middle rebuilds what stood above it.
struct open_node {
    std::uint32_t range = npos;
    std::uint32_t below = npos;  // index into open_nodes
};

struct timeline_api_call {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;        // 0: never seen to return
    std::uint64_t correlation = 0;  // correlation_key()
    std::uint32_t thread = npos;
    std::uint32_t kernel_name = 0;  // 0: not a kernel launch, or name unknown
    std::uint32_t cbid = 0;         // CUPTI callback id within `domain`
    std::uint32_t open = npos;      // index into open_nodes: what was open on its thread when it was called
    std::uint32_t first_op = npos;  // its GPU operations: ops whose `launch` is this call, in time order,
    std::uint32_t op_count = 0;     //   stand at timeline::ops_by_launch[first_op … first_op + op_count)
    api_domain domain = api_domain::none;
};

enum class op_kind : std::uint8_t { kernel, memcpy, memset };  // memcpy includes peer copies

struct gpu_op {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // ≥ start_ns
    std::uint64_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t launch = npos;  // index into api_calls; npos: no launch of it was seen
    std::uint32_t detail = 0;     // index into kernels or transfers, by kind
    op_kind kind = op_kind::kernel;
};

struct timeline_domain {
    std::string name;  // "" is NVTX's default domain
};

// What a reader should know before it trusts the rest.
struct timeline_quality {
    // Cause → count; causes with 0 left out. Those of drop_cause, and three that only a reader can see:
    // end_without_start, nested_too_deep (ranges beyond deepest_nesting), cause_N (of a newer libprof).
    std::map<std::string, std::uint64_t> dropped;
    std::uint64_t ranges_open_at_end = 0;
    // Kernel launches that left no GPU record: not carried out when the capture ended, captured into a graph instead of
    // being run, failed, or their record was lost.
    std::uint64_t launches_without_completion = 0;
    std::uint64_t damaged_bytes = 0;      // of the file, passed over
    std::uint64_t recovered_records = 0;  // read from the rings of a process that died
    bool ended = false;                   // the capture was closed in good order
    std::string recovery;                 // if not: one line on what its rings still held
    std::vector<std::string> notes;       // one line each, for people
};

struct timeline {
    std::map<std::string, std::string> properties;  // pid, hostname, rank, command, … (docs/capture-format.md)
    std::vector<timeline_thread> threads;
    std::vector<timeline_domain> domains;                             // at least the default one
    std::unordered_map<std::uint64_t, std::uint32_t> category_names;  // domain << 32 | category → name
    std::unordered_map<std::uint32_t, std::uint32_t> stream_names;    // CUPTI stream id → name
    std::vector<timeline_range> ranges;  // by start_ns; a parent stands before its children
    std::vector<timeline_mark> marks;    // by time_ns
    std::vector<open_node> open_nodes;
    std::vector<timeline_api_call> api_calls;  // by start_ns
    std::vector<gpu_op> ops;                   // by start_ns
    std::vector<std::uint32_t> ops_by_launch;  // indices into ops, grouped (timeline_api_call::first_op)
    std::vector<kernel_record> kernels;
    std::vector<transfer_record> transfers;
    std::vector<device_record> devices;
    timeline_quality quality;
    std::int64_t start_ns = 0;  // the capture's first and last moment
    std::int64_t end_ns = 0;

    std::unordered_map<std::uint32_t, std::string> name_table;

    // The text of a name id; "" for 0 and for an id whose name was lost.
    std::string_view name(std::uint32_t id) const noexcept {
        const auto found = name_table.find(id);
        return found == name_table.end() ? std::string_view{} : std::string_view{found->second};
    }
    // Kernel symbol (mangled) of a kernel operation, as CUPTI gave it.
    std::string_view kernel_symbol(const gpu_op& op) const noexcept { return name(kernels[op.detail].name); }
};

// Throws prof::error (one line) when the file cannot be opened or is no capture; damage inside is passed over, counted
// in quality, and everything intact is kept.
timeline load_timeline(const std::string& path);

}  // namespace prof
