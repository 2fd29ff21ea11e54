// SPDX-License-Identifier: Apache-2.0
// What steps can gain at most where it was not recorded what waits for a stream or an event (traces of torch.profiler,
// older captures). In the replay streams seem to be free of each other then, and their kernels would run beside each
// other. The limit holds if they do so no more than they did: the busiest GPU computes as long as before, but for what
// a change makes shorter. And what operations take that a change puts beside others. One thread; linear in the
// operations.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "analysis/projection/transfer_name.hpp"
#include "base/statistics.hpp"

#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

// Whether the replay knows what streams wait for.
bool knows_waits(const timeline& data) noexcept;

// How long the operations take that a change puts beside the others: the communication of a GPU, or its copies in one
// direction, whichever takes longest. No steps are shorter. Parts of the steps are added in order of time.
class time_beside {
public:
    // REQUIRES: `changes` is normalized.
    void add(const timeline& data, const replay_changes& changes);
    std::int64_t longest_ns() const;

private:
    std::map<std::pair<std::uint32_t, copy_direction>, busy_time> engines_;  // of each GPU
};

class gain_limit {
public:
    // A part of the steps. In order of time.
    void add(const dependency_graph& graph);
    // What steps of this length can gain, without what changes_ns() adds.
    std::int64_t not_computing_ns(std::int64_t steps_ns) const;
    // By how much the changes make operations shorter, or put them beside others.
    static std::int64_t changes_ns(const timeline& data, const replay_changes& changes) noexcept;

private:
    std::map<std::uint32_t, busy_time> gpus_;
};

}  // namespace prof
