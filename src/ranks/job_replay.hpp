// SPDX-License-Identifier: Apache-2.0
// The steps of all ranks of a job together, replayed with a change. Each rank does its own work, in its local time; a
// collective begins when its last member arrives, and takes its transfer; a rank that waits for it goes on when it
// ends. Without a change that gives the recorded times again.
//
// Pure. A replay is linear in the collectives of all ranks; the object has about 60 bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ranks/job.hpp"

namespace prof {

// Of a rank: local times as recorded, and what they become; between two of them in proportion. Both rise, and count
// from job_replay::origin_ns() on.
using local_times = std::vector<std::pair<std::int64_t, double>>;

struct job_change {
    // By rank; empty, or an empty one: as recorded.
    std::vector<local_times> local{};
    // By rank: its launches come sooner by as much as its local time is shorter; empty, or false: when they came.
    std::vector<bool> host_too{};
    // By index into job_ranks::matched, and after these by the operations of one rank: this share of its transfer;
    // none: all.
    std::vector<double> transfer{};
};

// Steps of the job, by when the last rank ends each.
struct replayed_steps {
    double begin_ns = 0;  // of the first
    std::vector<double> end_ns{};

    double length_ns(std::size_t step) const noexcept {
        return end_ns[step] - (step == 0 ? begin_ns : end_ns[step - 1]);
    }
    double mean_ns() const noexcept {
        return end_ns.empty() ? 0 : (end_ns.back() - begin_ns) / static_cast<double>(end_ns.size());
    }
};

// A piece of what the steps' end waits for: a rank's own work, or a collective's transfer.
struct job_path_piece {
    std::uint32_t rank = UINT32_MAX;     // of the own work
    std::uint32_t matched = UINT32_MAX;  // of the transfer: index into job_ranks::matched
    double ns = 0;
};

class job_replay {
public:
    // It must outlive the object. REQUIRES: it has steps.
    explicit job_replay(const job_ranks& job);

    replayed_steps run(const job_change& change = {}) const;

    // The steps as they were recorded, by the same moments as those of a replay.
    replayed_steps recorded() const;

    // The critical path of the recorded steps, from the last rank's end back to the begin: a rank's own work up to the
    // collective that it waited for last, its transfer, the work of the rank that came last to it, and so on. The
    // pieces add up to the steps.
    std::vector<job_path_piece> critical_path() const;

    // From the last arrival to its end, the mean of its members. By index into job_ranks::matched.
    double transfer_ns(std::size_t matched) const;
    // How many collective operations there are: the matched ones, then those of one rank each.
    std::size_t operations() const noexcept { return groups_.size(); }
    std::int64_t origin_ns() const noexcept { return origin_ns_; }
    std::int64_t last_arrival_ns(std::size_t matched) const { return last_arrival_[matched]; }

private:
    enum class event_kind : std::uint8_t { ready, wait, returned, launch, step };  // in this order at one moment
    struct event {
        std::int64_t at_ns = 0;     // local
        std::int64_t order_ns = 0;  // as recorded, where local times are equal
        std::uint32_t what = 0;     // a collective, in all; a step; or a launch of the rank
        event_kind kind = event_kind::ready;
    };

    // What a replay was held up by.
    struct held_up {
        double until_ns = 0;
        std::uint32_t collective = 0;  // in all
    };
    struct replay_log {
        std::vector<std::vector<held_up>> waits{};  // by rank, in order of time
        std::vector<double> ready{};                // by collective in all
        std::vector<double> arrival{};              // of this member, likewise
        std::vector<double> end{};                  // likewise
        std::uint32_t last_rank = 0;                // ends the last step
    };
    replayed_steps run(const job_change& change, replay_log* log) const;

    const job_ranks& job_;
    std::int64_t origin_ns_ = 0;                      // times are relative to it, so that a double is exact
    std::vector<std::uint32_t> base_;                 // by rank: of its collectives, in all
    std::vector<std::uint32_t> group_;                // by collective: index into groups_
    std::vector<std::uint32_t> next_;                 // by collective: the first that it held up; npos: none
    std::vector<std::uint32_t> sibling_;              // by collective: the next that the same one held up; npos: none
    std::vector<double> transfer_;                    // by collective: its own, from the last arrival on
    std::vector<std::int64_t> last_arrival_;          // by matched
    std::vector<std::vector<event>> events_;          // by rank
    std::vector<std::uint32_t> rank_of_;              // by collective
    std::vector<std::vector<std::uint32_t>> groups_;  // members, as collectives in all; matched ones come first
};

}  // namespace prof
