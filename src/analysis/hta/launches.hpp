// SPDX-License-Identifier: Apache-2.0
// CUDA's launch calls and the work that each launched: how long the call took on the host, the work on the GPU, and how
// long the work waited in between. Pure functions of a timeline; linear in its calls and operations.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/hta/scope.hpp"

namespace prof {

struct launch {
    call_id call = npos;        // index into api_calls
    op_id first_op = npos;      // index into ops: the operation that started first
    std::int64_t cpu_ns = 0;    // the call's length
    std::int64_t gpu_ns = 0;    // of its operations, added
    std::int64_t delay_ns = 0;  // from the call's end to the first operation's start, at least 0

    bool is_short() const noexcept { return gpu_ns < cpu_ns; }
};

// HTA's limits.
inline constexpr std::int64_t long_call_ns = 50'000;
inline constexpr std::int64_t long_delay_ns = 100'000;

// In order of the calls' starts. `all`: every call that returned and whose work was recorded, with all of its work.
// `hta`: calls of the functions that HTA knows, so no graphs; each operation is an entry, and a call that
// did not return has no length, as in the trace. `with_memory`: copies and
// sets, too.
std::vector<launch> find_launches(const hta_input& input, hta_scope scope, bool with_memory);

// A share of the way through sorted values, 0 … 1, between two of them in proportion. REQUIRES: not empty.
double quantile(const std::vector<std::int64_t>& sorted, double share);

}  // namespace prof
