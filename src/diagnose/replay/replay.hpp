// SPDX-License-Identifier: Apache-2.0
// Computes again how long the steps of a capture take, with some of their work made shorter. Without changes the result
// is the recorded time. Pure functions of a dependency_graph; linear in its calls and operations, memory
// 16 bytes a call and 8 an operation while it runs.
//
// The method is that of Daydream (Zhu et al., USENIX ATC 2020): a what-if question is a change of the recorded graph of
// dependencies, and the answer is its new length.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/replay/dependencies.hpp"

namespace prof {

// What becomes of a call and of the time before it. Each time is cut by so much, and not below 0.
struct event_change {
    host_event_id event{0};
    std::int64_t gap_less_ns = 0;   // between the event before it and this one
    std::int64_t work_less_ns = 0;  // the call itself, without waiting
    bool waits = true;              // whether it still waits
    bool runtime_waits = true;      // whether the time before it still has a wait in XLA's runtime
};

// What becomes of an operation: it stays in its stream; it leaves it, and takes its time beside it; or it takes none.
// What waited for one that has left waits for the operation before it. Of several changes the one that stands last here
// counts.
enum class op_fate : std::uint8_t { stays, runs_beside, is_gone };

struct op_change {
    op_id op{0};
    std::int64_t less_ns = 0;       // it is so much shorter
    std::int64_t next_less_ns = 0;  // it begins so much sooner after the operation before it; of several the most
    op_fate fate = op_fate::stays;
    bool waits_for_streams = true;  // for operations of other streams

    bool leaves_stream() const noexcept { return fate != op_fate::stays; }
};

struct replay_changes {
    std::vector<event_change> events;  // by event; each once
    std::vector<op_change> ops;        // by op; each once

    bool is_empty() const noexcept { return events.empty() && ops.empty(); }
    // Sorts; several changes of one thing add up.
    void normalize();
    // REQUIRES: normalize() afterwards.
    void add(const replay_changes& other);
};

// The length of all runs of steps: on the host from its beginning to its end, or on the GPU from the end of what was
// launched before to the end of what was launched in it, whichever is longer. REQUIRES: `changes` is normalized.
// `steps_ns` gets by how much later each step is complete, on the host and on the GPU, than the one before it; nothing
// if there are no steps.
std::int64_t replayed_ns(const dependency_graph& graph, const replay_changes& changes = {},
                         std::vector<std::int64_t>* steps_ns = nullptr);

}  // namespace prof
