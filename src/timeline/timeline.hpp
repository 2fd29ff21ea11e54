// A capture read back as correlated, immutable data: threads, the range tree, API calls, GPU operations.
//
// load_timeline() is the one way to make one; afterwards nothing changes it, so any number of threads may read it.
// Entities refer to each other by index into these vectors; `npos` means "none". Times are nanoseconds in CUPTI's
// clock (by default CLOCK_REALTIME); host ticks were converted with the capture's clock snapshots.
// Cost: linear in the capture's records; memory about 100 bytes a record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/activities.hpp"
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

// `earlier`: a push/pop range of a time in which nothing was recorded. It is known for the sake of the graphs' nodes
// that were captured in it, and takes part in nothing else.
enum class range_style : std::uint8_t { push_pop, start_end, earlier };

struct timeline_range {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // if it was never seen to close: the end of its window, or where records are missing
    std::int64_t left_ns = INT64_MAX;  // from here on work inside does not count for it, though it has not ended
    std::uint64_t payload = 0;
    std::uint32_t name = 0;           // timeline::name(); raw, as the process gave it
    std::uint32_t thread = npos;      // index into threads
    std::uint32_t end_thread = npos;  // differs from `thread` only for start_end
    // The range that was innermost on this thread when it opened (push_pop only). An operator of PyTorch's is no range
    // of the program's, and parent of operators only.
    std::uint32_t parent = npos;
    std::uint32_t depth = 0;         // 0 for a range with no parent
    std::uint32_t works_for = npos;  // index into work_parents: given explicitly where its root opened (push_pop only)
    std::uint32_t color = 0;         // ARGB; 0 none
    std::uint32_t category = 0;
    std::uint16_t domain = 0;  // index into domains
    payload_type payload_kind = payload_type::none;
    range_style style = range_style::push_pop;
    bool open_at_end = false;        // never seen to close
    bool open_at_start = false;      // opened before the kept part of the capture, which is where it begins here
    bool is_operator = false;        // of PyTorch's (an operator, a backward node): takes no part in attribution
    bool is_replayed_alike = false;  // work of a graph captured in it is not apart from what is launched in it
    bool is_module = false;          // a call of a module (module_domain): takes no part in attribution either
    // autograd's, of the node that an operator makes or a backward node is; of a module's call, of the next node when
    // it ended, as `payload` when it began; -1: none
    std::int64_t sequence = -1;

    bool takes_part() const noexcept { return !is_operator && !is_module; }  // in attribution
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
    // The same, where `below` is none since the thread works for another: what it had set aside.
    std::uint32_t aside = npos;

    // What is below on the thread itself, whomever it works for.
    std::uint32_t below_on_thread() const noexcept { return below == npos ? aside : below; }
};

// A place that threads may declare to work for: what was open on `thread` at `time_ns`.
struct work_parent {
    std::int64_t time_ns = 0;
    std::uint32_t thread = npos;
    std::uint32_t open = npos;       // index into open_nodes
    std::uint32_t works_for = npos;  // index into work_parents: whom the thread itself worked for then
    bool is_earlier = false;         // as timeline_graph_node's
};

struct timeline_api_call {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;        // 0: never seen to return
    std::uint64_t correlation = 0;  // correlation_key()
    std::uint32_t thread = npos;
    std::uint32_t kernel_name = 0;        // 0: not a kernel launch, or name unknown
    std::uint32_t cbid = 0;               // CUPTI callback id within `domain`
    std::uint32_t graph = 0;              // id of the instantiated graph that it launches; 0: none, or unknown
    std::uint32_t open = npos;            // index into open_nodes: what was open on its thread when it was called,
                                          //   PyTorch's operators left out
    std::uint32_t open_on_thread = npos;  // the same with what is set aside while the thread works for another; below
                                          //   it is what open_node::below_on_thread says
    std::uint32_t torch_open = npos;      // index into torch_nodes: of `open`, what PyTorch's observer had pushed
    std::uint32_t works_for = npos;       // index into work_parents: for whom the thread had declared to work
    std::uint32_t first_op = npos;        // its GPU operations: ops whose `launch` is this call, in time order,
    std::uint32_t op_count = 0;           //   stand at timeline::ops_by_launch[first_op … first_op + op_count)
    api_domain domain = api_domain::none;
    api_class kind = api_class::launch;
    bool is_unfinished = false;  // it launched a kernel of which no GPU record came (launches_without_completion)
    bool is_captured = false;    // it put a node into a graph instead of doing its work
};

// A node of a CUDA graph as it was made: captured from a stream, or added by a call. Copies (an instantiated graph's
// nodes) have entries too, but operations refer to the node that was captured.
struct timeline_graph_node {
    std::int64_t created_ns = 0;
    std::uint32_t thread = npos;
    std::uint32_t open = npos;       // index into open_nodes: what was open on its thread when it was made
    std::uint32_t works_for = npos;  // as timeline_api_call's
    std::uint32_t graph = 0;         // id of the graph that it was made in; 0: unknown, or it is a copy
    bool is_earlier = false;         // made while nothing was recorded: its ranges are of style `earlier`
};

// A stream began to be captured into a graph.
struct capture_begin {
    std::int64_t time_ns = 0;
    std::uint32_t thread = npos;
};

enum class op_kind : std::uint8_t { kernel, memcpy, memset, graph };  // memcpy includes peer copies
constexpr bool is_transfer(op_kind kind) noexcept { return kind == op_kind::memcpy || kind == op_kind::memset; }

// Of a gpu_op::graph_node: a node of a graph that was captured when nobody listened, or in records that were lost.
inline constexpr std::uint32_t graph_capture_unseen = npos - 1;

struct gpu_op {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // ≥ start_ns
    std::uint64_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t launch = npos;      // index into api_calls; npos: no launch of it was seen
    std::uint32_t detail = 0;         // index into kernels, transfers or graphs, by kind
    std::uint32_t graph_node = npos;  // index into graph_nodes, or graph_capture_unseen; npos: not of a graph's node
    op_kind kind = op_kind::kernel;
};

// A stretch of time in which everything was recorded. What was open at its end was cut there.
struct timeline_window {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t first_step = 0;  // the step it began in (docs/schedule.md)
    std::uint64_t last_step = 0;   // the step it ended in, or the last it has
    // The steps from which its own were drawn at random: the first, and how many; 0: they were not.
    std::uint64_t drawn_first = 0;
    std::uint64_t drawn_among = 0;
    std::uint32_t epoch = 0;      // stands above the correlation ids of its launches (correlation_key)
    bool ends_with_step = false;  // it ended where its last step did, which is whole
};

struct timeline_domain {
    std::string name;  // "" is NVTX's default domain
};

// What a reader should know before it trusts the rest.
struct timeline_quality {
    // Cause → count; causes with 0 left out. Those of drop_cause, and four that only a reader can see:
    // end_without_start, nested_too_deep (ranges set aside: deepest_nesting), unknown_parent (adopt_push of a place
    // that is not in this capture), cause_N (of a newer libprof).
    std::map<std::string, std::uint64_t> dropped;
    std::uint64_t ranges_open_at_end = 0;
    // Only the latest part of the recording was kept (docs/flight-recorder.md); of what came before: records, GPU
    // records, ranges that were still open where the kept part begins, and GPU work launched before and done after.
    bool is_latest_part = false;
    std::uint64_t trimmed_records = 0;
    std::uint64_t trimmed_gpu_records = 0;
    std::uint64_t ranges_open_at_start = 0;
    std::uint64_t launched_before = 0;
    // Kernel launches that left no GPU record: not carried out when the capture ended, failed, or their record was
    // lost. Those that were captured into a graph are not among them; where that is unknown, none is.
    std::uint64_t launches_without_completion = 0;
    std::uint64_t damaged_bytes = 0;      // of the file, passed over
    std::uint64_t cut_off_bytes = 0;      // of the file's end, which is that of no whole chunk
    std::uint64_t recovered_records = 0;  // read from the rings of a process that died
    bool ended = false;                   // the capture was closed in good order
    bool died = false;                    // it was sealed: its process died, or ended without closing it
    std::uint32_t how = 0;                // it died: format::end_entry::how
    std::string recovery;                 // if not: one line on what its rings still held
    std::vector<std::string> notes;       // one line each, for people
};

struct timeline {
    std::map<std::string, std::string> properties;  // pid, hostname, rank, command, … (docs/capture-format.md)
    activity_set activities = activity_set::all();  // what was to be recorded beside the ranges
    std::vector<timeline_thread> threads;
    std::vector<timeline_domain> domains;                             // at least the default one
    std::unordered_map<std::uint64_t, std::uint32_t> category_names;  // domain << 32 | category → name
    std::unordered_map<std::uint64_t, std::uint32_t> stream_names;    // stream_key() → name
    std::vector<timeline_range> ranges;  // by start_ns; a parent stands before its children
    std::vector<timeline_mark> marks;    // by time_ns
    std::vector<open_node> open_nodes;
    std::vector<work_parent> work_parents;
    std::vector<open_node> torch_nodes;  // of ranges from PyTorch's observer: one each, on top of what was open of them
    std::vector<timeline_api_call> api_calls;  // by start_ns
    std::vector<gpu_op> ops;                   // by start_ns
    std::vector<std::uint32_t> ops_by_launch;  // indices into ops, grouped (timeline_api_call::first_op)
    std::vector<kernel_record> kernels;
    std::vector<transfer_record> transfers;
    std::vector<graph_record> graphs;
    std::vector<timeline_graph_node> graph_nodes;
    std::vector<capture_begin> capture_begins;  // by time_ns; also while nothing was recorded
    std::vector<device_record> devices;
    std::vector<timeline_window> windows;  // by start_ns; at least one
    timeline_quality quality;
    std::int64_t start_ns = 0;  // the capture's first and last moment
    std::int64_t end_ns = 0;

    std::unordered_map<std::uint32_t, std::string> name_table;

    // A property's text, "" if there is none of that name; and its value, if it is a whole number from 0.
    const std::string& property(const std::string& key) const;
    std::optional<std::int64_t> number(const std::string& key) const;
    // The text of a name id; "" for 0 and for an id whose name was lost.
    std::string_view name(std::uint32_t id) const noexcept {
        const auto found = name_table.find(id);
        return found == name_table.end() ? std::string_view{} : std::string_view{found->second};
    }
    // What the program called a stream; "" if nothing.
    std::string_view stream_name(std::uint32_t context, std::uint32_t stream) const noexcept;
    // Kernel symbol (mangled) of a kernel operation, as CUPTI gave it.
    std::string_view kernel_symbol(const gpu_op& op) const noexcept { return name(kernels[op.detail].name); }
};

// Throws prof::error (one line) when the file cannot be opened or is no capture; damage inside is passed over, counted
// in quality, and everything intact is kept.
timeline load_timeline(const std::string& path);

}  // namespace prof
