// SPDX-License-Identifier: Apache-2.0
// A capture read back as correlated, immutable data: threads, the range tree, API calls, GPU operations.
//
// load_timeline() (load.hpp) makes it. Nothing changes it afterwards, so any number of threads may read it. Entities
// refer to each other by index into these tables (row_ids.hpp); `npos` means "none". Times are nanoseconds in CUPTI's
// clock (by default CLOCK_REALTIME); host ticks are converted with the capture's clock snapshots. Cost: linear in the
// capture's records; memory about 45 bytes a record.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/recovery/process_state.hpp"
#include "record/activities.hpp"
#include "record/drop.hpp"
#include "record/gpu_record.hpp"
#include "record/record.hpp"
#include "timeline/collective_call.hpp"
#include "timeline/matrix_calls.hpp"
#include "timeline/row_ids.hpp"
#include "timeline/series.hpp"

namespace prof {

struct timeline_thread {
    std::uint64_t uid = 0;
    std::uint32_t tid = 0;
    std::string name;         // the name given by NVTX, else the kernel's
    std::string system_name;  // the kernel's name (comm), which the pattern for adoption is matched against
    // Of a trace that was merged of several processes: which of them. What belongs to a process, as a start/end range,
    // and threads that work for others, have nothing to do with another one's threads.
    std::uint32_t process = 0;
};

// `earlier`: a push/pop range from a time in which nothing was recorded. It exists only because graph nodes were
// captured in it, and is used for nothing else.
enum class range_style : std::uint8_t { push_pop, start_end, graph_context };

struct timeline_range {
    std::int64_t start_ns = 0;
    // If it was not seen to close: the end of its window, or the place where records are missing.
    std::int64_t end_ns = 0;
    // Work inside the range does not count for it after this, although it has not ended.
    std::int64_t left_ns = INT64_MAX;
    std::uint64_t payload = 0;
    // Autograd's sequence number; -1: none. Of an operator or backward node: its node's number. Of a module's call: the
    // number of the next node when the call ended; `payload` has the one when it began.
    std::int64_t sequence = -1;
    name_id name{};               // timeline::name(); unmodified, as the process gave it
    thread_id thread = npos;      // index into threads
    thread_id end_thread = npos;  // differs from `thread` only for start_end
    // The innermost range on this thread when it opened (push_pop only). A PyTorch operator can be the parent of
    // operators only, since it is not one of the program's own ranges.
    range_id parent = npos;
    std::uint32_t depth = 0;  // 0 for a range with no parent
    // Index into work_parents: declared explicitly where its root opened (push_pop only).
    work_parent_id works_for = npos;
    std::uint32_t color = 0;  // ARGB; 0: none
    std::uint32_t category = 0;
    std::uint16_t domain = 0;  // index into domains
    payload_type payload_kind = payload_type::none;
    range_style style = range_style::push_pop;
    bool open_at_end : 1 = false;  // not seen to close
    // Opened before the kept part of the capture, and so begins here at that part's beginning.
    bool open_at_start : 1 = false;
    bool is_operator : 1 = false;        // made by PyTorch (an operator, a backward node): not used in attribution
    bool is_replayed_alike : 1 = false;  // work of a graph captured in it is not kept apart from work launched in it
    bool is_module : 1 = false;          // a call of a module (module_domain): not used in attribution either
    bool is_execution : 1 = false;       // of a jitted function that is not the step
    bool has_phases : 1 = false;         // such an execution, of a function that has forward, backward or recompute

    bool takes_part() const noexcept { return !is_operator && !is_module; }  // used in attribution
    // The end of the part that encloses what happens on its thread.
    std::int64_t inside_until_ns() const noexcept { return std::min(end_ns, left_ns); }
    // Equal for ranges of one domain and name.
    std::uint64_t name_key() const noexcept { return std::uint64_t{domain} << 32 | name; }
};

struct timeline_mark {
    std::int64_t time_ns = 0;
    std::uint64_t payload = 0;
    name_id name{};
    thread_id thread = npos;
    std::uint32_t color = 0;
    std::uint32_t category = 0;
    std::uint16_t domain = 0;
    payload_type payload_kind = payload_type::none;
};

struct timeline;
// The value of a counter (counter_domain) that this mark is; none: it is no counter, or has no number.
std::optional<double> counter_value(const timeline& data, const timeline_mark& mark);
// The series of all such marks, by name. Linear in the marks.
std::vector<timeline_series> counters_of(const timeline& data);
// Bytes allocated and reserved, of each device that has memory events, and in use at all. Linear in these.
std::vector<timeline_series> memory_series_of(const timeline& data);
// Both.
std::vector<timeline_series> all_series_of(const timeline& data);

// The push/pop ranges that are open on a thread at one moment, latest opened first, as a persistent list. Pushing adds
// a node on top. Popping another domain's range from the middle rebuilds the nodes above it.
template <typename TStack>
struct basic_open_node {
    range_id range = npos;
    row_index<basic_open_node> below = npos;  // in the same table
    // As `below`, if `below` is npos because the thread works for another one: leads to what the thread had set aside.
    row_index<basic_open_node> aside = npos;

    // The next range on the thread itself, whether or not it works for another thread.
    row_index<basic_open_node> below_on_thread() const noexcept { return below == npos ? aside : below; }
};

// A place that threads may declare to work for: the ranges that were open on `thread` at `time_ns`.
struct work_parent {
    std::int64_t time_ns = 0;
    thread_id thread = npos;
    open_node_id open = npos;         // index into open_nodes
    work_parent_id works_for = npos;  // index into work_parents: the place that the thread itself worked for then
    bool outside_windows = false;     // as in timeline_graph_node
};

struct timeline_api_call {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;        // 0: not seen to return
    std::uint64_t correlation = 0;  // correlation_key()
    thread_id thread = npos;
    name_id kernel_name{};   // 0: not a kernel launch, or name unknown
    std::uint32_t cbid = 0;  // CUPTI callback id within `domain`
    // Index into open_nodes: what was open on its thread when it was called, without PyTorch's operators.
    open_node_id open = npos;
    // The same including what is set aside while the thread works for another one; follow it with
    // open_node::below_on_thread.
    open_node_id open_on_thread = npos;
    torch_node_id torch_open = npos;  // index into torch_nodes: what PyTorch's observer had pushed
    work_parent_id works_for = npos;  // index into work_parents: the place that the thread had declared to work for
    // Its GPU operations, that is the ops whose `launch` is this call, are in time order in
    // timeline::ops_by_launch[first_op … first_op + op_count).
    std::uint32_t first_op = npos;
    std::uint32_t op_count = 0;
    api_domain domain = api_domain::none;
    api_class kind = api_class::launch;
    bool is_unfinished : 1 = false;  // it launched a kernel that left no GPU record (launches_without_completion)
    bool is_captured : 1 = false;    // it put a node into a graph instead of doing the work

    // Equal for calls of one function.
    std::uint64_t function_key() const noexcept {
        return std::uint64_t{static_cast<std::uint16_t>(domain)} << 32 | cbid;
    }
};
static_assert(sizeof(timeline_api_call) == 64);

// A node of a CUDA graph at its creation: captured from a stream, or added by a call. Copies (the nodes of an
// executable graph) have entries too, but operations refer to the captured node.
struct timeline_graph_node {
    std::int64_t created_ns = 0;
    thread_id thread = npos;
    open_node_id open = npos;         // index into open_nodes: what was open on its thread at its creation
    work_parent_id works_for = npos;  // as in timeline_api_call
    std::uint32_t graph = 0;          // id of the graph in which it was created; 0: unknown, or it is a copy
    bool outside_windows = false;     // created while nothing was recorded: its ranges have the style `graph_context`
};

// A graph capture began on this thread.
struct capture_begin {
    std::int64_t time_ns = 0;
    thread_id thread = npos;
};

enum class op_kind : std::uint8_t { kernel, memcpy, memset, graph };  // memcpy includes peer copies
constexpr bool is_transfer(op_kind kind) noexcept { return kind == op_kind::memcpy || kind == op_kind::memset; }

// A value of gpu_op::graph_node: the node was captured when graph captures were not observed, or its record was lost.
inline constexpr graph_node_id graph_capture_unseen{npos - 1};

// Where a GPU operation ran. Few of them occur, so operations refer to timeline::places.
struct gpu_place {
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;

    auto operator<=>(const gpu_place&) const = default;
};

// A capture has one for each GPU record: what differs between operations of one kind. What many have in common is in
// `kernels`, `transfers` or `graphs`, once.
struct gpu_op {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // ≥ start_ns
    std::uint64_t correlation = 0;
    call_id launch = npos;            // index into api_calls; npos: its launch was not seen
    graph_node_id graph_node = npos;  // index into graph_nodes, or graph_capture_unseen; npos: no graph node's work
    place_id place{0};                // index into places; timeline::place_of()
    std::uint32_t detail : 30 = 0;    // index into kernels, transfers or graphs, by kind
    op_kind kind : 2 = op_kind::kernel;

    // More details than have an index here would not fit into memory.
    void set_detail(std::uint32_t index) noexcept { detail = index & ((1U << 30) - 1); }
};
static_assert(sizeof(gpu_op) == 40);

// An operation that waited for one of another stream, because of an event. What was launched before either of them into
// its stream comes before it.
struct stream_wait {
    op_id op = npos;         // index into ops
    op_id waits_for = npos;  // index into ops
};

// A call that waits for an operation, by an event or a stream.
struct host_wait {
    call_id call = npos;  // index into api_calls
    op_id op = npos;      // index into ops; npos: none that was recorded
};

// A frame of a stack.
struct code_line {
    name_id name{};           // timeline::name(): "function\nfile", as Python has them
    std::uint32_t line = 0;   // 0: not known
    std::uint16_t index = 0;  // in the whole stack; 0 is the innermost
    bool is_library = false;  // of a library's code, and not the program's own
    bool is_native = false;   // an address that was not looked up: the name is "build id\npath", the line the address

    bool operator==(const code_line&) const = default;
};
// A distinct stack: some of its frames, the innermost first (docs/reference/capture-format.md).
struct code_stack {
    std::uint32_t first = 0;  // index into timeline::code_lines
    std::uint32_t count = 0;
    std::uint32_t depth = 0;  // of the whole stack
};
// The stack of a call that took long, or of one before which the host ran other code for long.
struct call_stack {
    call_id call = npos;    // index into api_calls
    stack_id stack = npos;  // index into code_stacks
    stack_role role = stack_role::call;
    std::uint16_t position = 0;  // of `during`: when in the stretch before the call, in 65535ths of it
};

// What a thread did in the host code before a call, by the kernel's account of it.
struct call_account {
    call_id call = npos;       // index into api_calls
    std::uint32_t looks = 0;   // so often it was looked at
    name_id blocked_in{};      // timeline::name(): "reading a pipe"; 0: not known
    std::uint16_t ran = 0;     // in 65535ths of the time
    std::uint16_t waited = 0;  // for a CPU; the rest it was blocked
};

// A block of GPU memory that an allocator gave to the program, or that came back (record/memory.hpp).
enum class memory_kind : std::uint8_t { allocated, freed, failed };
struct memory_event {
    std::int64_t time_ns = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;      // of the block; of `failed` what was asked for
    std::uint64_t allocated = 0;  // of the device, afterwards
    std::uint64_t reserved = 0;
    thread_id thread = npos;
    open_node_id open = npos;         // index into open_nodes: what was open on its thread
    torch_node_id torch_open = npos;  // index into torch_nodes
    work_parent_id works_for = npos;  // as in timeline_api_call
    stack_id stack = npos;            // index into code_stacks: who asked for it, if that was recorded
    std::uint16_t device = 0;         // packed_device()
    memory_kind kind = memory_kind::allocated;
    bool has_totals = true;  // else the record that had them was lost
};
static_assert(sizeof(memory_event) == 64);

// A piece of CUDA's own memory that a library or the program got of it, or gave back (cuda_memory_kind): `of.device`
// has the kind. Of a piece that came back, bytes and kind are those of when it was had; without that it is not here.
// `allocated` and `reserved`: of that kind on that device afterwards, of what was recorded.
struct cuda_memory_event {
    memory_event of{};
    name_id caller{};              // timeline::name(): "build id\npath" of the library that called CUDA; 0: not known
    cuda_memory_id begins = npos;  // of one that came back: the event with which it was had, index into cuda_memory
};

// How much of a GPU was in use, by whomever, when a memory event happened.
struct gpu_memory_sample {
    std::int64_t time_ns = 0;
    std::uint64_t used = 0;      // bytes
    std::uint64_t total = 0;     // that the GPU has
    std::uint64_t reserved = 0;  // by the allocator of these events, at that moment
    std::uint16_t device = 0;    // packed_device()
};

// A period in which everything was recorded. Ranges that were open at its end are cut there.
struct timeline_window {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t first_step = 0;  // the step in which it began (docs/guide/schedule.md)
    std::uint64_t last_step = 0;   // the step in which it ended, or its latest step
    // If the window's steps were drawn at random: the first candidate step and the number of candidates. 0: not drawn.
    std::uint64_t drawn_first = 0;
    std::uint64_t drawn_among = 0;
    std::uint32_t epoch = 0;      // the high half of its launches' correlation keys (correlation_key)
    bool ends_with_step = false;  // it ended together with its last step, so that step is complete
    bool is_open = false;         // its end was not recorded
};

struct timeline_domain {
    std::string name;  // "" is NVTX's default domain
};

// What limits the trust in the rest of the timeline.
struct timeline_quality {
    // Cause → count, without zeros. The causes are those of drop_cause and four that only reading reveals:
    // end_without_start; nested_too_deep (ranges set aside: deepest_nesting); unknown_parent (adopt_push of a place
    // that is not in this capture); cause_N (from a newer libprof).
    std::map<std::string, std::uint64_t> dropped;
    std::uint64_t ranges_open_at_end = 0;
    // True if only the latest part of the recording was kept (docs/guide/flight-recorder.md). The next four describe
    // the rest: records and GPU records before that part, ranges still open where it begins, and GPU work launched
    // before and done after its beginning.
    bool is_latest_part = false;
    std::uint64_t trimmed_records = 0;
    std::uint64_t trimmed_gpu_records = 0;
    std::uint64_t ranges_open_at_start = 0;
    std::uint64_t launched_before = 0;
    // Kernel launches without a GPU record: not executed when the capture ended, failed, or their record was lost.
    // Launches that put a node into a graph do not count. If the capture does not distinguish them, no launch counts.
    std::uint64_t launches_without_completion = 0;
    std::uint64_t damaged_bytes = 0;      // bytes of the file that were skipped
    std::uint64_t cut_off_bytes = 0;      // bytes of an incomplete chunk at the file's end
    std::uint64_t stacks_left_out = 0;    // of long calls and stretches: there were too many of them
    std::uint64_t recovered_records = 0;  // read from the rings of a process that died
    bool ended = false;                   // the capture was closed properly
    bool has_exited = false;              // and its process ended with it
    bool died = false;                    // the capture was sealed: its process died, or ended without closing it
    std::uint32_t how = 0;                // if it died: format::end_entry::how
    process_state process = process_state::unknown;  // if not closed: of the process when the capture was read
    bool is_recovered_whole = false;                 // all records are there that the rings held
    std::string recovery;                            // if not closed: one line on what the rings still held
    std::vector<std::string> damage;                 // one line each: what of the file could not be read
    std::vector<std::string> notes;                  // one line each, to be shown to the user
};

// One moment on both clocks.
struct monotonic_point {
    std::int64_t monotonic_ns = 0;  // CLOCK_MONOTONIC
    std::int64_t ns = 0;
};

struct timeline {
    std::map<std::string, std::string>
        properties;  // pid, hostname, rank, command, … (docs/reference/capture-format.md)
    activity_set activities = activity_set::all();  // what the recording included beside ranges
    row_table<timeline_thread> threads;
    std::vector<timeline_domain> domains;                       // at least the default one
    std::unordered_map<std::uint64_t, name_id> category_names;  // domain << 32 | category → name
    std::unordered_map<std::uint64_t, name_id> stream_names;    // stream_key() → name
    row_table<timeline_range> ranges;                           // by start_ns; a parent comes before its children
    row_table<timeline_mark> marks;                             // by time_ns; counters, too
    std::vector<timeline_series> series;                        // by source and name
    row_table<memory_event> memory;                             // by time_ns; a device's in their order
    std::vector<gpu_memory_sample> gpu_memory;                  // by time_ns
    row_table<cuda_memory_event> cuda_memory;                   // by time_ns
    // `memory` is of CUDA's own memory, since no allocator reported: what the program had of it on each GPU.
    bool is_memory_of_cuda = false;
    row_table<open_node> open_nodes;
    row_table<work_parent> work_parents;
    // Of ranges from PyTorch's observer: one node each, on top of the observer's other open ranges.
    row_table<torch_node> torch_nodes;
    row_table<timeline_api_call> api_calls;  // by start_ns
    row_table<gpu_op> ops;                   // by start_ns
    row_table<op_id> ops_by_launch;          // indices into ops, grouped (timeline_api_call::first_op)
    // What operations have in common: each distinct record once, in the order of the first operation that has it. Of
    // each operation's own, and therefore 0 here: times except queued_ns, correlation and grid_id.
    row_table<kernel_record> kernels;
    row_table<transfer_record> transfers;
    row_table<graph_record> graphs;
    row_table<gpu_place> places;
    row_table<timeline_graph_node> graph_nodes;
    std::vector<capture_begin> capture_begins;  // by time_ns; also while nothing was recorded
    std::vector<stream_wait> stream_waits;      // by op
    std::vector<host_wait> host_waits;          // by call
    row_table<code_line> code_lines;
    row_table<code_stack> code_stacks;
    std::vector<call_stack> call_stacks;      // by call, role and position
    std::vector<call_account> call_accounts;  // by call
    row_table<timeline_communicator> communicators;
    row_table<collective_call> collectives;  // by time_ns
    std::vector<device_record> devices;
    std::vector<monotonic_point> monotonic;  // by time; a part of a timeline, and a trace, have none
    std::vector<timeline_window> windows;    // by start_ns; at least one
    // Of a part of a timeline: which of the whole's steps a phase "step" is.
    std::map<range_id, std::uint64_t> step_numbers;
    matrix_calls multiplications;  // of a trace of torch.profiler; a part of a timeline has none
    timeline_quality quality;
    std::int64_t start_ns = 0;  // the capture's first and last moment
    std::int64_t end_ns = 0;

    std::unordered_map<name_id, std::string> name_table;  // by name id; see name()

    // The text of a property, "" if it is absent; and its value, if it is a whole number from 0 on.
    const std::string& property(const std::string& key) const;
    std::optional<std::int64_t> number(const std::string& key) const;
    // The text of a name id; "" for 0 and for an id whose text was lost.
    std::string_view name(name_id id) const noexcept {
        const auto found = name_table.find(id);
        return found == name_table.end() ? std::string_view{} : std::string_view{found->second};
    }
    const gpu_place& place_of(const gpu_op& op) const noexcept { return places[op.place]; }
    // The name that the program gave to a stream; "" if none.
    std::string_view stream_name(std::uint32_t context, std::uint32_t stream) const noexcept;
    // The mangled symbol of a kernel, as CUPTI gave it. REQUIRES: op.kind is kernel.
    std::string_view kernel_symbol(const gpu_op& op) const noexcept { return name(name_id(kernels[op.detail].name)); }
};

// The frames of a stack, the innermost first. REQUIRES: `stack` is not npos.
inline std::span<const code_line> lines_of(const timeline& data, stack_id stack) noexcept {
    const code_stack& of = data.code_stacks[stack];
    return {data.code_lines.data() + of.first, of.count};
}
// The innermost frame of the program's own code; of a stack without any the innermost frame. Null: it has none.
const code_line* own_line(const timeline& data, stack_id stack) noexcept;
// Of the program's own code the outermost frame from which it calls a library's: of a training loop, where that calls
// the model. Without library code between them, and without own code, as own_line().
const code_line* outer_line(const timeline& data, stack_id stack) noexcept;
// Logarithmic.
std::span<const call_stack> stacks_of_call(const timeline& data, call_id call, stack_role role) noexcept;
// The first of them. Null: there is none.
const call_stack* stack_of_call(const timeline& data, call_id call, stack_role role) noexcept;
const call_account* account_of_call(const timeline& data, call_id call) noexcept;

}  // namespace prof
