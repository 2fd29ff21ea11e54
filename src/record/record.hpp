// The record that every hook writes: 32 bytes, fixed, plain data.
//
// Producers are the host's own threads (each into its own ring), the consumer is the drain thread. A record is copied
// byte for byte from the ring into the capture, so this layout is part of the capture format (docs/capture-format.md):
// little-endian, no padding, never reordered; new kinds are added at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prof {

enum class record_kind : std::uint8_t {
    none = 0,
    range_push = 1,    // name, domain, category, color; value = payload
    range_pop = 2,     // domain; value = payload of type bytes, if one came with the end
    range_start = 3,   // as push, value = process-wide range id
    range_end = 4,     // value = the id that range_start gave
    mark = 5,          // as push
    payload = 6,       // value = payload of the range_start just before it on this thread
    api_enter = 7,     // value = correlation key, name = kernel symbol (0: none), category = cbid, domain = api_domain;
                       // color = the id of the graph that it launches
    api_exit = 8,      // value = correlation key
    graph_node = 9,    // a node of a CUDA graph was made: value = its id
    graph_clone = 10,  // a node was made as the copy of another: value = its id, name and color = low and high half of
                       // the other's (original_node()); flags: replaces_what_it_was
    parent_here = 12,  // value = a number that stands for what is open on this thread here
    adopt_push = 13,   // value = such a number: what follows belongs under what was open there
    adopt_pop = 14,    // ends the latest adopt_push of this thread
    window = 15,  // the thread's first record in a further epoch of the process: value = it. What the thread opened
                  // in earlier ones is known to it no longer
    graph_node_gone = 16,  // a node of a graph is destroyed: value = its id
};

// How the 8 bytes of a payload are to be read (nvtxPayloadType_t); kept in `flags`. The last three are no types of
// NVTX's. `bytes`: a number of bytes, out of an extended payload whose schema names the field so. The other two are
// those of ranges that PyTorch's NVTX observer made, which have neither colour nor category: torch has the observer's
// number in `value`, torch_sequence besides it autograd's, its low half in `category`, its high half in `color`.
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

// CUPTI's callback domains (CUpti_CallbackDomain), for api_enter and api_exit.
enum class api_domain : std::uint16_t { none = 0, driver = 1, runtime = 2 };

// What an API call is to the host; kept in the `flags` of api_enter.
enum class api_class : std::uint8_t {
    launch = 0,                // puts work on a GPU, and comes back
    blocking_launch = 1,       // a copy that returns when it is done
    wait = 2,                  // waits for a stream, an event or everything
    allocation = 3,            // takes its place in a stream
    blocking_allocation = 4,   // may wait for all work of the device
    begins_graph_capture = 5,  // of a stream into a CUDA graph
};

// Whether host time spent in the call is, or may be, time spent waiting for the GPU.
constexpr bool waits(api_class call) noexcept {
    return call == api_class::blocking_launch || call == api_class::wait || call == api_class::blocking_allocation;
}

struct record {
    std::uint64_t ticks = 0;  // base/clock.hpp
    std::uint64_t value = 0;
    std::uint32_t name = 0;      // id in the name table; 0 is the empty name
    std::uint32_t color = 0;     // ARGB; 0 is "none given"
    std::uint32_t category = 0;  // NVTX category; CUPTI callback id for API records
    std::uint16_t domain = 0;    // NVTX domain index (0 is the default domain) or api_domain
    record_kind kind = record_kind::none;
    std::uint8_t flags = 0;  // payload_type; api_class for api_enter
};

static_assert(sizeof(record) == 32 && std::is_trivially_copyable_v<record>);

// Field by field: `r` is a slot of the ring, where another record was. One made beforehand would be put together by
// small stores and copied by wide loads, for which the processor has to wait.
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
// For a record with a name and no colour: both are one store.
inline void set_name_alone(record& r, std::uint32_t name) noexcept {
    static_assert(offsetof(record, name) == 16 && offsetof(record, color) == 20);
    const std::uint64_t both = name;
    std::memcpy(reinterpret_cast<std::byte*>(&r) + offsetof(record, name), &both, sizeof both);
}

constexpr std::uint64_t original_node(const record& clone) noexcept {
    return (static_cast<std::uint64_t>(clone.color) << 32) | clone.name;
}

// In the flags of graph_clone: the node was there before, and stands for the other from now on (cudaGraphExecUpdate).
inline constexpr std::uint8_t replaces_what_it_was = 1;

// While nothing is recorded, ranges and the nodes of graphs may be *heard* all the same, for the graphs' sake. That is
// an epoch of its own, with this bit.
inline constexpr std::uint32_t observed_epoch_bit = 1U << 31;
constexpr bool is_observed_only(std::uint64_t epoch) noexcept { return (epoch & observed_epoch_bit) != 0; }

// A launch and the GPU work it caused share this key. CUPTI's correlation id has 32 bits and starts anew when CUPTI is
// attached again, so the attach epoch (1, 2, …) stands above it.
constexpr std::uint64_t correlation_key(std::uint32_t epoch, std::uint32_t correlation_id) noexcept {
    return (static_cast<std::uint64_t>(epoch) << 32) | correlation_id;
}

}  // namespace prof
