// SPDX-License-Identifier: Apache-2.0
// What steps can gain at most where it was not recorded what waits for a stream or an event (traces of torch.profiler,
// older captures). In the replay streams seem to be free of each other then, and their kernels would run beside each
// other. The limit holds if they do so no more than they did: the busiest GPU computes as long as before, but for what
// a change makes shorter. And what operations take that a change puts beside others. One thread; linear in the
// operations.
#pragma once

#include <cstdint>

#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

// Whether the replay knows what streams wait for.
bool knows_waits(const timeline& data) noexcept;

// How long the operations take that a change puts beside the others: the communication of a GPU, or its copies in one
// direction, whichever takes longest. No steps are shorter. REQUIRES: `changes` is normalized.
std::int64_t longest_beside(const timeline& data, const replay_changes& changes);

class gain_limit {
public:
    // `graph` must outlive it. `steps_ns`: the length of its steps, of the replay without a change.
    gain_limit(const dependency_graph& graph, std::int64_t steps_ns);

    std::int64_t of(const replay_changes& changes) const noexcept;

private:
    const timeline* data_;
    std::int64_t not_computing_ns_;  // of the GPU that computes longest
};

}  // namespace prof
