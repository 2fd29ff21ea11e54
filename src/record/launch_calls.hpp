// SPDX-License-Identifier: Apache-2.0
// The API calls for which libprof enables a CUPTI callback. They put work on a GPU, wait for it, allocate or free
// memory (where the host may wait, too), order streams by events, begin the capture of a graph, or instantiate one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "record/activities.hpp"
#include "record/record.hpp"

namespace prof {

enum class launch_kind : std::uint8_t {
    none,
    kernel,
    transfer,
    graph,
    blocking_transfer,
    wait,         // for all work of a context
    wait_event,   // the host, for an event
    wait_stream,  // the host, for a stream
    allocation,
    blocking_allocation,
    capture,
    instantiation,  // is not recorded itself: graph_nodes.hpp
    // Become records of their own (record_kind::stream_sync). Of the driver only, whose functions the runtime's call.
    event_record,
    stream_wait,  // a stream, for an event
};

struct launch_call {
    api_domain domain;
    std::uint32_t cbid;
    launch_kind kind;
    bool is_per_thread = false;  // of those with a stream: handle 0 is the calling thread's default stream
};

inline constexpr launch_call launch_calls[] = {
#include "record/launch_calls.inc"
};

inline constexpr std::size_t cbid_table_size = 1024;  // ids are below it

// A member of the call's launch_call; zero for a call that is not in the list. One table lookup.
template <auto member>
inline auto member_of_call(api_domain domain, std::uint32_t cbid) noexcept {
    using value = std::remove_cvref_t<decltype(launch_calls[0].*member)>;
    static constexpr auto table = [] {
        std::array<std::array<value, cbid_table_size>, 3> values{};
        for (const launch_call& call : launch_calls)
            values[static_cast<std::size_t>(call.domain)][call.cbid] = call.*member;
        return values;
    }();
    return cbid < cbid_table_size ? table[static_cast<std::size_t>(domain)][cbid] : value{};
}

// `none` for a call that is not in the list.
inline launch_kind kind_of_call(api_domain domain, std::uint32_t cbid) noexcept {
    return member_of_call<&launch_call::kind>(domain, cbid);
}
// launch_call::is_per_thread.
inline bool is_per_thread(api_domain domain, std::uint32_t cbid) noexcept {
    return member_of_call<&launch_call::is_per_thread>(domain, cbid);
}

// Whether the call becomes a stream_sync record, and no call.
constexpr bool is_sync(launch_kind kind) noexcept {
    return kind == launch_kind::event_record || kind == launch_kind::stream_wait;
}

// Whether a recording of the activities `activities` includes calls of this kind.
constexpr bool is_recorded(launch_kind kind, activity_set activities) noexcept {
    const bool launches = activities.has(activity::launches);
    switch (kind) {
        case launch_kind::kernel:
            return launches && activities.has(activity::kernels);
        case launch_kind::transfer:
            return launches && (activities.has(activity::copies) || activities.has(activity::sets));
        case launch_kind::blocking_transfer:
            return (launches && activities.has(activity::copies)) || activities.has(activity::waits);
        case launch_kind::graph:
        case launch_kind::capture:
            return launches;
        case launch_kind::wait:
        case launch_kind::wait_event:
        case launch_kind::wait_stream:
        case launch_kind::event_record:
        case launch_kind::stream_wait:
            return activities.has(activity::waits);
        case launch_kind::allocation:
        case launch_kind::blocking_allocation:
            return activities.has(activity::allocations);
        case launch_kind::instantiation:
            return activities.has(activity::graph_nodes);
        case launch_kind::none:
            break;
    }
    return false;
}

// Whether observe_graphs() enables this call's callback, which then runs while nothing is recorded, too.
constexpr bool defines_graph(launch_kind kind) noexcept {
    return kind == launch_kind::capture || kind == launch_kind::instantiation;
}

constexpr api_class class_of_call(launch_kind kind) noexcept {
    switch (kind) {
        case launch_kind::blocking_transfer:
            return api_class::blocking_launch;
        case launch_kind::wait:
        case launch_kind::wait_event:
        case launch_kind::wait_stream:
            return api_class::wait;
        case launch_kind::allocation:
            return api_class::allocation;
        case launch_kind::blocking_allocation:
            return api_class::blocking_allocation;
        case launch_kind::capture:
            return api_class::begins_graph_capture;
        default:
            return api_class::launch;
    }
}

}  // namespace prof
