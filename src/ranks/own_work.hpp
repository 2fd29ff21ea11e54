// SPDX-License-Identifier: Apache-2.0
// A rank's own work in the steps of a job: the stretches between its collectives, in local time, and those of its
// peers, the ranks that call the same collectives in the same step. Pure; linear in the collectives of the steps, times
// the peers that a rank is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ranks/job.hpp"
#include "ranks/job_replay.hpp"

namespace prof {

class own_work {
public:
    // By how much the stretches of a rank are usually longer than its peers'.
    struct usual_excess {
        // By the step's shape, for each stretch: what a rank gives up to be as fast as its peers: of stretches that are
        // longer than theirs beyond chance. Where it is faster it stays so.
        std::map<std::uint64_t, std::vector<double>> longer{};
        double step_ns = 0;  // of all stretches of a step, the mean of the steps with peers
        bool is_known = false;
    };
    // By step and stretch, as the rank's marks have them: the median of the peers.
    using typical_lengths = std::vector<double>;

    // The job must outlive the object.
    own_work(const job_ranks& job, std::int64_t origin_ns);

    std::size_t stretches(std::uint32_t rank, std::uint32_t step) const {
        return first_mark_[rank][step + 1] - first_mark_[rank][step] - 1;
    }
    double length(std::uint32_t rank, std::uint32_t step, std::size_t stretch) const {
        const std::size_t at = first_mark_[rank][step] + stretch;
        return static_cast<double>(marks_[rank][at + 1] - marks_[rank][at]);
    }
    // All stretches of a step.
    double length(std::uint32_t rank, std::uint32_t step) const {
        return static_cast<double>(marks_[rank][first_mark_[rank][step + 1] - 1] -
                                   marks_[rank][first_mark_[rank][step]]);
    }
    bool has_peers(std::uint32_t rank, std::uint32_t step) const { return has_peers_[rank][step]; }
    bool has_any_peers(std::uint32_t rank) const;
    std::uint64_t shape(std::uint32_t rank, std::uint32_t step) const { return shape_[rank][step]; }
    double typical(std::uint32_t rank, std::uint32_t step, std::size_t stretch) const {
        return typical_[rank][first_mark_[rank][step] + stretch];
    }
    const typical_lengths& typical(std::uint32_t rank) const { return typical_[rank]; }
    // What ranks outside `among` have, by rank of `among`; others' lists are empty.
    std::vector<typical_lengths> typical_without(const std::set<std::uint32_t>& among) const;

    // Beyond the peers, in each step; NaN in steps without peers.
    std::vector<double> excess(std::uint32_t rank, const typical_lengths& typical) const;

    // Compared with ranks outside `among`. Differences of two ranks' equal stretches in the same step, so that neither
    // the noise of a step nor its skew counts: the mean of the steps that lie in the middle, then the median of the
    // peers.
    usual_excess usual(std::uint32_t rank, const std::set<std::uint32_t>& among = {}) const;

    // The rank's local times without its usual excess. Its noise stays, as that of its peers does.
    local_times without(std::uint32_t rank, const usual_excess& excess) const;
    // The rank's local times where in these steps, by step, each stretch takes what the peers' median takes, and
    // differs from it as in another step, so that noise stays here, too.
    local_times as_peers(std::uint32_t rank, const std::vector<bool>& is_in, const typical_lengths& typical) const;

    // Which collective ends this stretch; npos: the step does.
    std::uint32_t collective_after(std::uint32_t rank, std::uint32_t step, std::size_t stretch) const {
        return stretch + 1 < stretches(rank, step) ? in_step_[rank][first_mark_[rank][step] - 2 * step + stretch]
                                                   : npos;
    }

private:
    void add_marks(std::uint32_t rank);
    template <typename TLength>
    local_times changed(std::uint32_t rank, TLength&& length_of) const;
    template <typename TTake>
    void compare(const std::set<std::uint32_t>& among, TTake&& take) const;

    const job_ranks& job_;
    std::int64_t origin_ns_;
    std::vector<std::vector<std::int64_t>> marks_;        // by rank: local times, step by step
    std::vector<std::vector<std::uint32_t>> first_mark_;  // by rank and step, and the end
    std::vector<std::vector<std::uint32_t>> in_step_;  // by rank: collectives of the steps, in the order of the calls
    std::vector<typical_lengths> typical_;             // by rank and mark: of the stretch that begins there
    std::vector<std::vector<std::uint64_t>> shape_;    // by rank and step
    std::vector<std::vector<bool>> has_peers_;         // likewise
};

}  // namespace prof
