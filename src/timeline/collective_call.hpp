// SPDX-License-Identifier: Apache-2.0
// Collective operations of a communication library, as it described them: which function, of which communicator, which
// one of its kind, of how many bytes. Plain data, part of a timeline (timeline.hpp).
//
// `communicator id, function, sequence` is equal on all ranks that take part in an operation, so it joins the ranks'
// records of it without looking at times.
#pragma once

#include <cstdint>
#include <string>

#include "record/collective.hpp"
#include "timeline/row_ids.hpp"

namespace prof {

// Who described the operation. `plugin`: NCCL, to libprof as its profiler plugin. `nvtx`: NCCL, in the payload of its
// NVTX ranges; it has no sequence, so the ranks are joined by order. `kineto`: PyTorch, in a trace of torch.profiler;
// the communicator is a process group, and the sequence counts all operations of the group whatever their function.
enum class collective_source : std::uint8_t { plugin = 0, nvtx = 1, kineto = 2 };

struct timeline_communicator {
    std::uint64_t id = 0;             // equal on all its ranks; 0: not known
    std::string name;                 // as the program gave it; of a trace the process group's name
    std::uint32_t ranks = 0;          // 0: not known
    std::uint32_t rank = UINT32_MAX;  // of this process in it; UINT32_MAX: not known
    std::uint32_t nodes = 0;          // hosts; 0: not known
    collective_source source = collective_source::plugin;
};

struct collective_call {
    std::int64_t time_ns = 0;  // when the program called it
    std::uint64_t sequence =
        no_sequence;          // no_sequence: not known. Of `plugin`: counts the communicator's calls of `function`
    std::uint64_t count = 0;  // elements, as in the call
    std::uint64_t bytes = 0;  // of the message as the call counts it: count times the size of an element
    op_id op = npos;          // index into timeline::ops: the kernel that carried it. Several may share one
    call_id call = npos;      // index into timeline::api_calls: the launch
    communicator_id communicator = npos;  // index into timeline::communicators
    thread_id thread = npos;              // index into timeline::threads: which called it
    std::int32_t root = -1;               // of broadcast, reduce, gather and scatter; -1: none
    std::int32_t peer = -1;               // of send and recv; -1: none
    collective_function function = collective_function::other;
    collective_type type = collective_type::unknown;
    collective_algorithm algorithm = collective_algorithm::unknown;
    collective_protocol protocol = collective_protocol::unknown;
    std::uint8_t channels = 0;  // 0: not known
    collective_source source = collective_source::plugin;
    // Captured into a graph. It has no sequence, and `op` is the first replay's; the others are the operations with the
    // same graph_node.
    bool in_graph = false;
    // The kernel was not seen with certainty, so `call` and `op` are none although there was one.
    bool is_unplaced = false;
};

}  // namespace prof
