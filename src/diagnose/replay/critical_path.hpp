// SPDX-License-Identifier: Apache-2.0
// The critical path of the steps: from their end back to their beginning, always to what was waited for last. Its
// pieces cover each run of steps once, without holes. Whatever is not on it may take longer without making the steps
// longer. A pure function of a dependency_graph; linear in the length of the path.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnose/replay/dependencies.hpp"

namespace prof {

enum class path_kind : std::uint8_t {
    host_code,       // between two calls of a thread
    call,            // in a call of CUDA that did not wait
    hand_over,       // from one thread to another that works for it, or back
    launch_latency,  // from a launch to its operation
    operation,       // a GPU operation
    next_operation,  // between two operations of a stream
    other_stream,    // from an operation to one of another stream
    wait_return,     // from the end of an operation to the return of the call that waited for it
    not_explained,   // an operation began later, for a reason that was not recorded
};
std::string_view to_string(path_kind kind) noexcept;  // "CPU code", "short gap" …

struct path_piece {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // > start_ns
    path_kind kind = path_kind::host_code;
    host_event_id event = npos;  // host_code: the one that it precedes; call, wait_return, launch_latency: that call
    op_id op = npos;             // of the others, and launch_latency: that operation, or the one that begins behind it
};

// By start_ns, run by run.
std::vector<path_piece> critical_path(const dependency_graph& graph);

}  // namespace prof
