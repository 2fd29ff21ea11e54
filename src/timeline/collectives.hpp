// SPDX-License-Identifier: Apache-2.0
// Collective operations: from the records of NCCL's profiler plugin (hooks/nccl) to timeline::collectives. Steps of
// build_timeline(). One thread. Linear in the records, but for a sort.
//
// The kernel of an operation follows from the order of the thread's records: the launch that is announced comes next,
// and then what it carries. Where NCCL says the latter on another thread, the group of calls has one launch or stays
// without. Where it announces no launch, it is the next one of a kernel of NCCL's on that thread before the next group.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record.hpp"
#include "timeline/timeline.hpp"
#include "timeline/traced_collective.hpp"

namespace prof {

class collective_collector {
public:
    // Copies have no group.
    static constexpr std::uint32_t no_group = UINT32_MAX;

    struct launch;
    struct event;
    using launch_id = row_index<launch>;
    using event_id = row_index<event>;

    // A launch of a kernel, or of the first of the copies.
    struct launch {
        std::int64_t start_ns = 0;
        std::uint64_t correlation = 0;
        thread_id thread = npos;
        std::uint32_t group = 0;
        graph_node_id graph_node = npos;  // that was made in it
        std::uint16_t communicator = 0;
        bool is_announced = false;
    };
    struct event {
        record r;
        std::int64_t time_ns = 0;
        thread_id thread = npos;
        launch_id launch = npos;
    };

    row_table<launch> launches;  // a thread's are in order
    row_table<event> events;     // calls and works; likewise

    // Fills timeline::collectives. REQUIRES: calls, operations and graph nodes are final.
    void link(timeline& out);
};

// Of one thread.
class collective_walk {
public:
    collective_walk(collective_collector& to, thread_id thread) noexcept : to_(&to), thread_(thread) {}

    // REQUIRES: its role is collective.
    void add(const record& r, std::int64_t ns);
    // A call that may be a launch. `is_of_library`: of a kernel of NCCL's; `is_kernel`: or of one without a name.
    void enter_call(const timeline_api_call& call, bool is_of_library, bool is_copy);
    void add_node(graph_node_id node) noexcept;
    // Records are missing here, or a window ended.
    void forget() noexcept;
    // Whether the thread has any: only then enter_call() has to be called.
    bool is_used() const noexcept { return is_used_; }

private:
    collective_collector* to_;
    thread_id thread_;
    bool is_used_ = false;
    bool awaits_kernel_ = false;
    std::uint32_t group_ = 0;
    std::uint16_t communicator_ = 0;
    collective_collector::launch_id latest_ = npos;     // launch
    collective_collector::launch_id announced_ = npos;  // the latest of these
    collective_collector::event_id copies_ = npos;      // the event whose copies come next
    collective_collector::launch_id open_ = npos;       // the launch that was entered last
};

// The communicator that a label describes; nothing if the text is damaged.
void take_communicator(timeline& out, std::uint64_t number, std::string_view text);

// Those of a trace, each with its kernel. REQUIRES: calls and operations are final.
void link_traced_collectives(timeline& out, std::vector<traced_collective> found);

// If nothing else described any: by NCCL's NVTX ranges (nvtx_collectives.cpp). REQUIRES: likewise.
void find_nvtx_collectives(timeline& out);

}  // namespace prof
