// SPDX-License-Identifier: Apache-2.0
// What each kind of record is: one row a kind. Code that treats several kinds alike reads these rows. Code that
// interprets kinds has a switch without a default, so that the compiler points to it where a kind is added. Constant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/record.hpp"

namespace prof {

enum class record_role : std::uint8_t {
    none,
    opens,        // pushes on a stack of the thread, until a record that closes
    closes,       // pops from it
    starts,       // a process-wide range begins
    ends,         // and ends, on any thread
    mark,         // one moment
    payload,      // belongs to the record before it
    enters_call,  // to CUDA
    leaves_call,
    graph_node,    // a node of a CUDA graph was made
    graph_change,  // a node was copied or is about to be destroyed
    place,         // names what is open on the thread
    window,        // the thread's records of a later epoch follow
    sync,          // of a stream with another or with the host
    code,          // a line of the program, or what its code did
    collective,    // of a communication library
    memory,        // of an allocator of GPU memory
};

struct record_traits {
    record_kind kind = record_kind::none;
    std::string_view name;  // as in docs/reference/capture-format.md
    record_role role = record_role::none;
    bool holds_name = false;  // the field `name` is the id of a name
};

// By the kind's number. 11 is no kind.
inline constexpr std::array<record_traits, 27> record_kinds = {{
    {record_kind::none, "none", record_role::none, false},
    {record_kind::range_push, "range_push", record_role::opens, true},
    {record_kind::range_pop, "range_pop", record_role::closes, false},
    {record_kind::range_start, "range_start", record_role::starts, true},
    {record_kind::range_end, "range_end", record_role::ends, false},
    {record_kind::mark, "mark", record_role::mark, true},
    {record_kind::payload, "payload", record_role::payload, false},
    {record_kind::api_enter, "api_enter", record_role::enters_call, true},
    {record_kind::api_exit, "api_exit", record_role::leaves_call, false},
    {record_kind::graph_node, "graph_node", record_role::graph_node, false},
    {record_kind::graph_clone, "graph_clone", record_role::graph_change, false},
    {},
    {record_kind::parent_here, "parent_here", record_role::place, false},
    {record_kind::adopt_push, "adopt_push", record_role::opens, false},
    {record_kind::adopt_pop, "adopt_pop", record_role::closes, false},
    {record_kind::window, "window", record_role::window, false},
    {record_kind::graph_node_gone, "graph_node_gone", record_role::graph_change, false},
    {record_kind::stream_sync, "stream_sync", record_role::sync, false},
    {record_kind::code_line, "code_line", record_role::code, true},
    {record_kind::thread_time, "thread_time", record_role::code, true},
    {record_kind::collective_call, "collective_call", record_role::collective, false},
    {record_kind::collective_launch, "collective_launch", record_role::collective, false},
    {record_kind::collective_work, "collective_work", record_role::collective, false},
    {record_kind::memory_block, "memory_block", record_role::memory, false},
    {record_kind::memory_totals, "memory_totals", record_role::memory, false},
    {record_kind::out_of_memory, "out_of_memory", record_role::memory, false},
    {record_kind::gpu_memory, "gpu_memory", record_role::memory, false},
}};

// The row of `none` for a number that is no kind, as a damaged capture may have.
constexpr const record_traits& traits_of(record_kind kind) noexcept {
    const auto number = static_cast<std::size_t>(kind);
    return record_kinds[number < record_kinds.size() ? number : 0];
}

// Whether the record refers to a name that is not empty.
constexpr bool has_name(const record& r) noexcept { return r.name != 0 && traits_of(r.kind).holds_name; }

}  // namespace prof
