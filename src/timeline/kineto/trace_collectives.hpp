// SPDX-License-Identifier: Apache-2.0
// Collective operations in traces: what torch.profiler, or libprof, wrote in the arguments of their kernels. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "timeline/traced_collective.hpp"

namespace prof {

// The arguments; -1: absent.
struct collective_arguments {
    std::string name;          // "allreduce", "_allgather_base"
    std::string group;         // "Process Group Name"
    std::string type;          // "Float"
    std::string communicator;  // of libprof's traces, hexadecimal
    std::string algorithm;     // likewise
    std::string protocol;
    std::int64_t sequence = -1;
    std::int64_t in_count = -1;
    std::int64_t out_count = -1;
    std::int64_t ranks = -1;
    std::int64_t rank = -1;
    std::int64_t source = -1;
    std::int64_t destination = -1;
    std::int64_t root = -1;
    std::int64_t channels = -1;
};

// REQUIRES: there is a name.
traced_collective read_collective(const collective_arguments& given);

}  // namespace prof
