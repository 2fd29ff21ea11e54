// SPDX-License-Identifier: Apache-2.0
// The ranks of one job, and which of their collective operations are one and the same. Pure functions of summaries;
// n log n in the collectives, 16 bytes for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/host_clocks.hpp"
#include "ranks/rank_summary.hpp"

namespace prof {

// A collective of a rank, by indices into job_ranks::ranks and rank_summary::collectives.
struct collective_member {
    std::uint32_t rank = 0;
    std::uint32_t collective = 0;
};

// Records of one operation.
struct matched_collective {
    std::uint32_t first = 0;  // index into job_ranks::members
    std::uint32_t count = 0;
    // Else a member is missing or differs: the others wait for one another all the same, which is all that it says.
    bool is_whole = true;
    bool lacks_member = false;
    // Not all ranks of its communicator were captured: the last of all may have come after the last that is known, and
    // what looks like a transfer may be waiting for it.
    bool lacks_arrivals = false;
};

// Numbers from `first` to `last`.
struct number_range {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

// How many collectives could not be used, and why. A collective of n ranks counts n times at most.
struct collective_losses {
    std::uint64_t before_recording = 0;  // it began before the last of its ranks recorded
    std::uint64_t after_recording = 0;   // the recording of one of its ranks ended before it
    std::uint64_t absent_ranks = 0;      // there is no capture of one of its ranks
    std::uint64_t missing = 0;           // a rank that recorded, before and after, has no such collective
    std::uint64_t differing = 0;         // its members differ in function or size
    std::uint64_t ambiguous = 0;         // more members than its communicator has
    std::uint64_t unplaced = 0;          // its kernel was not seen, or is another GPU's
};

// A collective that one rank has otherwise than the others, or not at all.
struct collective_mismatch {
    std::uint32_t rank = 0;  // index into job_ranks::ranks
    collective_member other{};
    bool is_missing = false;
};

inline constexpr std::size_t most_mismatches = 20;  // that are kept

// A second capture of what another one has of the same process.
struct capture_copy {
    std::string path{};
    std::string kept_path{};  // of the other one
    std::uint32_t kept = 0;   // its index into job_ranks::ranks
};

struct job_ranks {
    std::vector<rank_summary> ranks;            // by rank
    std::vector<number_range> missing;          // ranks of which there is no capture with GPU work
    std::vector<std::uint32_t> of_other_steps;  // indices into ranks: without steps of their own, as others have them
    std::size_t rivals = 0;            // captures that would be of this job, if their ranks were not there twice
    std::vector<capture_copy> copies;  // captures that were left out
    std::vector<std::uint32_t> at_other_times;  // indices into ranks: recorded when no other one was
    std::vector<collective_member> members;
    std::vector<matched_collective> matched;  // in order of their first member's begin
    std::uint64_t by[3] = {};                 // collectives of all ranks that were matched, by collective_match
    collective_losses lost;
    std::vector<collective_mismatch> mismatches;  // the first of them
    host_clocks clocks;
    // The steps that all ranks have: of rank r step s is ranks[r].steps[first_step[r] + s].
    std::vector<std::uint32_t> first_step;
    std::uint32_t steps = 0;

    const rank_collective& at(collective_member of) const { return ranks[of.rank].collectives[of.collective]; }
    std::span<const collective_member> members_of(const matched_collective& of) const {
        return {members.data() + of.first, of.count};
    }
    // The member's step, counted from the first that all ranks have; none: it is of no such step.
    std::optional<std::uint32_t> step_of(collective_member member) const {
        const std::uint32_t step = at(member).step;
        const std::uint32_t first = first_step[member.rank];
        if (step == UINT32_MAX || step < first || step - first >= steps) return {};
        return step - first;
    }
    // On the clock of the first host.
    std::int64_t aligned(std::uint32_t rank, std::int64_t at_ns) const { return clocks.aligned(rank, at_ns); }
    // "rank 3", or "capture a.json" where the rank is not known.
    std::string name_of(std::uint32_t rank) const;
    // Of a communicator of that rank: its name, or the number that its ranks have in common.
    std::string communicator_name(std::uint32_t rank, std::uint32_t communicator) const;
};

// Summaries of one process are joined, and those of other jobs apart: ranks that share a communicator are of one job,
// others if no rank is there twice, and they ran at one time. The job with the most ranks comes first.
std::vector<job_ranks> jobs_among(std::vector<rank_summary> summaries);

// "0 to 3, 8 and 3 more" of rising numbers.
std::string list_of_numbers(const std::vector<std::int64_t>& numbers);
std::string_view to_string(collective_function function) noexcept;

}  // namespace prof
