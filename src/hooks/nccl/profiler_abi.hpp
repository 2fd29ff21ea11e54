// SPDX-License-Identifier: Apache-2.0
// The binary interface between NCCL and a profiler plugin, versions 4 to 6, as far as libprof uses it. Facts of NCCL's
// public headers in declarations of our own; tests/hooks/nccl_abi_test.cpp has every offset.
//
// The versions differ in the order of init's parameters and in the width of an event's type (8 bits in version 4). A
// later version's descriptor has the earlier one's fields at the same places, so one struct reads all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prof::nccl {

// ncclResult_t
enum nccl_result : int { success = 0, internal_error = 3 };

// Kinds of events. A mask of them says which the plugin wants.
enum event_kind : std::uint32_t {
    group = 1U << 0,
    collective = 1U << 1,
    p2p = 1U << 2,
    proxy_op = 1U << 3,
    proxy_step = 1U << 4,
    proxy_control = 1U << 5,
    kernel_channel = 1U << 6,
    net_plugin = 1U << 7,
    group_api = 1U << 8,  // from version 5
    collective_api = 1U << 9,
    p2p_api = 1U << 10,
    kernel_launch = 1U << 11,
    copy_collective = 1U << 12,  // from version 6: by the copy engines
    copy_sync = 1U << 13,
    copy_batch = 1U << 14,
};

// What describes an event, by its kind.
struct collective_api_event {
    const char* function;
    std::size_t count;
    const char* type;
    int root;
    void* stream;
    bool is_captured;
};
struct p2p_api_event {
    const char* function;
    std::size_t count;
    const char* type;
    void* stream;
    bool is_captured;
};
struct collective_event {
    std::uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* type;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* group;  // from version 5; of version 4 the parent is the group
};
struct p2p_event {
    const char* function;
    void* buffer;
    const char* type;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* group;  // as above
};
struct copies_event {
    std::uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* type;
};

struct event_descriptor {
    std::uint64_t type;  // an event_kind; of version 4 the low byte alone
    void* parent;        // what the plugin gave for the event around it; may be null
    int rank;
    union {
        collective_api_event collective_api;
        p2p_api_event p2p_api;
        collective_event collective;
        p2p_event p2p;
        copies_event copies;
        std::uint64_t room[11];  // the longest kind has this much
    };
};
// A descriptor of version 4 ends before the group.
inline constexpr std::size_t descriptor_bytes_v4 = sizeof(event_descriptor) - sizeof(void*);

// What the functions get of a state change; libprof only passes it on.
struct state_arguments;
// A function of NCCL's that logs; libprof only passes it on.
using log_function = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

using start_function = nccl_result (*)(void* context, void** handle, event_descriptor* event);
using stop_function = nccl_result (*)(void* handle);
using state_function = nccl_result (*)(void* handle, int state, state_arguments* arguments);
using finalize_function = nccl_result (*)(void* context);

struct profiler_v4 {
    const char* name;
    nccl_result (*init)(void** context, int* mask, const char* name, std::uint64_t id, int nodes, int ranks, int rank,
                        log_function log);
    start_function start_event;
    stop_function stop_event;
    state_function record_state;
    finalize_function finalize;
};

struct profiler_v5 {
    const char* name;
    nccl_result (*init)(void** context, std::uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
                        log_function log);
    start_function start_event;
    stop_function stop_event;
    state_function record_state;
    finalize_function finalize;
};
using profiler_v6 = profiler_v5;

}  // namespace prof::nccl
