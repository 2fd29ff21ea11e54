// SPDX-License-Identifier: Apache-2.0
// The record that every hook writes: 32 bytes, of fixed size, plain data.
//
// The producers are the host's own threads, each with its own ring; the consumer is the drain thread. A record is
// copied byte for byte from the ring into the capture, so this layout is part of the capture format
// (docs/reference/capture-format.md): little-endian, no padding, never reordered. New kinds are added at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prof {

enum class record_kind : std::uint8_t {
    none = 0,
    range_push = 1,    // name, domain, category, color; value = payload
    range_pop = 2,     // domain; value = payload of type bytes, if the end has one
    range_start = 3,   // as push, but value = process-wide range id
    range_end = 4,     // value = the id from range_start
    mark = 5,          // as push
    payload = 6,       // value = payload of the range_start just before it on this thread
    api_enter = 7,     // value = correlation key, name = kernel symbol (0: none), category = cbid, domain = api_domain;
                       // color = the id of the graph that the call launches
    api_exit = 8,      // value = correlation key
    graph_node = 9,    // a node of a CUDA graph was made: value = its id
    graph_clone = 10,  // a node was made as a copy of another: value = its id, name and color = low and high half of
                       // the original's id (original_node()); flags: replaces_what_it_was
    parent_here = 12,  // value = a number that stands for the ranges open on this thread here
    adopt_push = 13,   // value = such a number: what follows belongs under the ranges that were open there
    adopt_pop = 14,    // ends the latest adopt_push of this thread
    window = 15,       // the thread's first record in a later epoch of the process: value = the epoch. Ranges
                       // that the thread opened in earlier epochs are no longer open
    graph_node_gone = 16,  // a node of a graph is about to be destroyed: value = its id
    stream_sync = 17,      // an order between streams, or of a stream and the host: flags = sync_kind, value = the
                           // event's handle, name and color = low and high half of the stream's key (synced_stream())
    code_line = 18,        // a frame of the stack of a call: value = the call's correlation key, name =
                           // "function\nfile", color = the line (0: unknown), category = the frame's index (0: the
                           // innermost) | number of frames << 16, flags = stack_role, with library_line. The frames of
    // a stack follow each other. domain: how many stacks were left out before (of the first), or as
    // stack_role says
    thread_time = 19,  // what the thread did in the host code before the call that is entered next: value = its
                       // correlation key, color = the share in which it ran | in which it waited for a CPU << 16, in
                       // 65535ths, category = so often it was looked at, name = what it was blocked by
    // What a communication library says of its collective operations (record/collective.hpp). domain = the number of
    // the communicator, in all three:
    collective_call = 20,    // the program calls one: value = packed_call, name = the call's number, color = the
                             // group's number, category = root, flags = collective_flags
    collective_launch = 21,  // the kernel of a group's operations is launched next: value = the group's number
    collective_work = 22,    // an operation was enqueued: value = its sequence, name = its call's number, color = peer,
                             // category = packed_work, flags = collective_flags
    // PyTorch's caching allocator, and CUDA's own memory (record/memory.hpp). domain = the device, in all three:
    memory_block = 23,   // a block was given to the program or came back: value = its address, name = its bytes, color
                         // and category = bytes allocated and reserved afterwards, in units of 512; flags =
                         // memory_flags, by which name and color may be the low and high half of the bytes themselves
    memory_totals = 24,  // of the record before it: value = bytes allocated, name and color = low and high half of the
                         // bytes reserved
    out_of_memory = 25,  // a block could not be had: value = the bytes asked for; totals follow
    gpu_memory = 26,     // of the GPU as a whole, when the memory event before it happened: value = bytes in use by
                         // whomever, name and color = low and high half of the bytes that it has
};

// How to read the 8 bytes of a payload (nvtxPayloadType_t); stored in `flags`. The last three types are not NVTX's.
// `bytes`: a number of bytes, from an extended payload whose schema gives the field that meaning. `torch` and
// `torch_sequence`: PyTorch's record functions, which have neither colour nor category. For both, `value` is the
// range's number. For torch_sequence, `category` and `color` are the low and the high half of autograd's sequence
// number.
enum class payload_type : std::uint8_t {
    none = 0,
    u64 = 1,
    i64 = 2,
    f64 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    bytes = 7,
    torch = 8,
    torch_sequence = 9,
};
constexpr bool is_torch(payload_type type) noexcept {
    return type == payload_type::torch || type == payload_type::torch_sequence;
}

// The `category` of a range_push of type `torch`: who made the range, where that is known. emit_nvtx does not say.
enum class torch_scope : std::uint32_t { unknown = 0, function = 1, user = 2 };

// CUPTI's callback domains (CUpti_CallbackDomain), for api_enter and api_exit.
enum class api_domain : std::uint16_t { none = 0, driver = 1, runtime = 2 };

// The class of an API call, from the host's point of view; stored in the `flags` of api_enter.
enum class api_class : std::uint8_t {
    launch = 0,                // puts work on a GPU and returns
    blocking_launch = 1,       // a copy that returns when it is complete
    wait = 2,                  // waits for a stream, for an event or for all work
    allocation = 3,            // is ordered in a stream
    blocking_allocation = 4,   // may wait for all work of the device
    begins_graph_capture = 5,  // of a stream into a CUDA graph
};

// What a stream_sync record says; stored in its `flags`. An event that was not recorded before, or in another process,
// orders nothing.
enum class sync_kind : std::uint8_t {
    event_record = 0,  // the event stands for the stream's work up to here
    stream_wait = 1,   // what the stream gets from here on waits for the event
    host_event = 2,    // the call whose api_enter is the record before this one waits for the event
    host_stream = 3,   // it waits for the stream
};

// Which moment a stack is of; in the `flags` of code_line.
enum class stack_role : std::uint8_t {
    call = 0,    // of the call that returns next: it took long
    before = 1,  // of the call that is entered next: the host ran other code for long before it
    during = 2,  // of that code: seen while it ran. domain: when, of the time until the call, in 65535ths
    // Of the block that the memory_block before it gives to the program, or the request of the out_of_memory before it.
    // value: that record's
    birth = 3,
    caller = 4,  // likewise of CUDA's own memory: one frame, of the library or program that called CUDA
};
// In the same flags: the code counts as a library's, and not as the program's own.
inline constexpr std::uint8_t library_line = 0x80;
// In the same flags: a frame of C++ code. name = "build id\npath" of its module, color = the address in the module.
inline constexpr std::uint8_t native_line = 0x40;
constexpr stack_role role_of_line(std::uint8_t flags) noexcept {
    return static_cast<stack_role>(flags & ~(library_line | native_line));
}

// Whether host time in the call is time that it waits for the GPU, or may be.
constexpr bool waits(api_class call) noexcept {
    return call == api_class::blocking_launch || call == api_class::wait || call == api_class::blocking_allocation;
}

struct record {
    std::uint64_t ticks = 0;  // base/clock.hpp
    std::uint64_t value = 0;
    std::uint32_t name = 0;      // id in the name table; 0 is the empty name
    std::uint32_t color = 0;     // ARGB; 0: none given
    std::uint32_t category = 0;  // NVTX category; CUPTI callback id for API records
    std::uint16_t domain = 0;    // index of the NVTX domain (0: the default domain), or api_domain
    record_kind kind = record_kind::none;
    std::uint8_t flags = 0;  // payload_type; api_class for api_enter
};

static_assert(sizeof(record) == 32 && std::is_trivially_copyable_v<record>);

// Writes field by field, because `r` is a slot of the ring that held another record. A record built elsewhere would be
// written by small stores and copied by wide loads, and the processor would have to wait for that.
inline void begin_record(record& r, record_kind kind, std::uint32_t domain, std::uint64_t ticks) noexcept {
    static_assert(offsetof(record, category) == 24 && offsetof(record, domain) == 28 && offsetof(record, kind) == 30);
    auto* const bytes = reinterpret_cast<std::byte*>(&r);
    const std::uint64_t last = std::uint64_t{domain & 0xFFFFU} << 32 | static_cast<std::uint64_t>(kind) << 48;
    r.ticks = ticks;
    r.value = 0;
    r.name = 0;
    r.color = 0;
    std::memcpy(bytes + offsetof(record, category), &last, sizeof last);
}
// For a record with a name and without a colour: one store writes both.
inline void set_name_alone(record& r, std::uint32_t name) noexcept {
    static_assert(offsetof(record, name) == 16 && offsetof(record, color) == 20);
    const std::uint64_t both = name;
    std::memcpy(reinterpret_cast<std::byte*>(&r) + offsetof(record, name), &both, sizeof both);
}

constexpr std::uint64_t original_node(const record& clone) noexcept {
    return (static_cast<std::uint64_t>(clone.color) << 32) | clone.name;
}

constexpr std::uint64_t synced_stream(const record& sync) noexcept {
    return (static_cast<std::uint64_t>(sync.color) << 32) | sync.name;
}

// In the flags of graph_clone: the node existed before, and stands for the other from now on (cudaGraphExecUpdate).
inline constexpr std::uint8_t replaces_what_it_was = 1;

// While nothing is recorded, ranges and nodes of graphs may still be *observed*, because later recordings need the
// graphs. Such a period is an epoch of its own, with this bit set.
inline constexpr std::uint32_t observed_epoch_bit = 1U << 31;
constexpr bool is_observed_only(std::uint64_t epoch) noexcept { return (epoch & observed_epoch_bit) != 0; }

// A launch and the GPU work that it caused share this key. CUPTI's correlation id has 32 bits and starts anew when
// CUPTI is attached again. So the attach epoch (1, 2, …) is in the upper half.
constexpr std::uint64_t correlation_key(std::uint32_t epoch, std::uint32_t correlation_id) noexcept {
    return (static_cast<std::uint64_t>(epoch) << 32) | correlation_id;
}
// As traces and reports show it: the first attachment's ids are CUPTI's; each further one adds 2^32.
constexpr std::uint64_t shown_correlation(std::uint64_t key) noexcept {
    return (key >> 32) == 0 ? key : key - correlation_key(1, 0);
}

}  // namespace prof
