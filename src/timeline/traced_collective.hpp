// SPDX-License-Identifier: Apache-2.0
// A collective operation as a trace has it: in the arguments of the kernel that carried it. Plain data.
#pragma once

#include <cstdint>

#include "timeline/collective_call.hpp"

namespace prof {

struct traced_collective {
    std::uint64_t correlation = 0;  // of its kernel
    collective_call call;           // without what follows from the kernel
    timeline_communicator communicator;
};

}  // namespace prof
