// SPDX-License-Identifier: Apache-2.0
// What each operation waited for before it began: its launch, the operation before it in its stream, and those of other
// streams. What waits for a stream or an event is recorded (timeline::stream_waits), except in Kineto traces and older
// captures. Otherwise, and where no event explains it, an operation seems to wait for another stream if it was
// launched, its own stream was free, and an operation elsewhere ended just before it began.
//
// Part of dependency_graph (dependencies.hpp). Immutable; any thread may read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/replay/dependency_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What an operation waits for before it begins. Of these, the one that is ready last counts: the operation begins
// `extra_ns` after it.
struct op_needs {
    op_id previous = npos;  // the operation before it in its stream
    op_id other = npos;     // an operation of another stream
    std::int32_t after_launch_ns = 0;
    std::int32_t after_previous_ns = 0;
    std::int32_t after_other_ns = 0;
    bool beside_previous = false;   // the two overlap: after_previous_ns counts from the start of the other one
    bool from_return = false;       // after_launch_ns counts from the return of the launch
    bool has_stream_needs = false;  // stream_needs_of()
    std::int64_t extra_ns = 0;      // it began so much later, for a reason that was not recorded
};

// Those of `list` with this index; it is sorted by `what`.
template <typename TIndex>
std::span<const basic_later_than<TIndex>> needs_with(const std::vector<basic_later_than<TIndex>>& list,
                                                     TIndex index) noexcept {
    const auto [first, last] = std::equal_range(
        list.begin(), list.end(), basic_later_than<TIndex>{.what = index},
        [](const basic_later_than<TIndex>& a, const basic_later_than<TIndex>& b) { return a.what < b.what; });
    return {first, last};
}

class dependency_needs {
public:
    explicit dependency_needs(const dependency_events& events);  // whose timeline must outlive it

    // What an operation of the part needs; index into timeline::ops.
    const op_needs& needs_of(op_id op) const noexcept { return ops_[op - first_op_]; }
    // What an operation waits for by events.
    std::span<const op_later_than> stream_needs_of(op_id op) const noexcept {
        return needs_of(op).has_stream_needs ? needs_with(stream_needs_, op) : std::span<const op_later_than>{};
    }
    // The usual time from a launch to its operation on a free GPU, and between two operations of a stream.
    std::int64_t usual_launch_ns() const noexcept { return usual_launch_ns_; }
    std::int64_t usual_next_ns() const noexcept { return usual_next_ns_; }

private:
    void find_stream_needs(const graph_part& part);
    void measure_usual(const dependency_events& graph);
    void find_needs(const dependency_events& graph);
    op_id latest_stream_need(op_id op) const noexcept;

    const timeline* data_;
    op_id first_op_;
    std::vector<op_needs> ops_;                // by operation of the part
    std::vector<op_later_than> stream_needs_;  // by what
    std::int64_t usual_launch_ns_ = 5'000;
    std::int64_t usual_next_ns_ = 1'000;
    std::int64_t usual_hand_over_ns_ = 0;  // between operations of two streams, by an event
};

}  // namespace prof
