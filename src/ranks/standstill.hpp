// SPDX-License-Identifier: Apache-2.0
// Collectives in which ranks waited when the recordings ended, because others had not called them, had called another
// one, or because the operation did not end; and ranks whose calls differ from those of the others. Pure functions of
// the ranks' summaries; n log n in the collectives. docs/reference/ranks.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ranks/job.hpp"

namespace prof {

enum class standstill_kind : std::uint8_t {
    not_called,  // some ranks have not called it
    other_call,  // some ranks have called another one in its place
    not_ended,   // all have called it
};
std::string_view to_string(standstill_kind kind) noexcept;

struct standing_rank {
    std::uint32_t rank = 0;            // index into job_ranks::ranks
    std::uint32_t call = UINT32_MAX;   // index into rank_summary::calls: its own one; UINT32_MAX: none
    std::int64_t waits_ns = 0;         // of one that has called it: from then to the end of its recording
    std::int64_t ended_before_ns = 0;  // its program ended so long before the others' recordings; 0: it did not
};

struct standstill {
    standstill_kind kind = standstill_kind::not_called;
    std::vector<standing_rank> called{};      // by rank; the first one describes the operation
    std::vector<standing_rank> not_called{};  // by rank; of `other_call` what they have called is theirs
    std::vector<std::uint32_t> unknown{};     // indices into job_ranks::ranks: not recorded at that time
    std::size_t absent = 0;                   // members without a capture
    std::int64_t waited_ns = 0;               // the longest of those that have called it
    std::int64_t longest_before_ns = 0;       // that a collective of the job took from its call to its end
    bool is_of_circle = false;                // each rank that has not called it waits in another collective

    const rank_call& call_in(const job_ranks& job) const {
        return job.ranks[called.front().rank].calls[called.front().call];
    }
};

// One rank calls a function of a communicator more or less often than another one: from a number on, what has the same
// number is not the same operation.
struct shifted_calls {
    std::uint32_t rank = 0;        // indices into job_ranks::ranks
    std::uint32_t other = 0;       // as most ranks are
    std::uint32_t collective = 0;  // index into the collectives of `other`: the first that differs
    std::int64_t fewer = 0;        // the rank has called so many less; below 0: more
};

struct job_standstill {
    std::vector<standstill> stands{};  // for which nothing else is waited for first
    std::vector<shifted_calls> shifted{};
};

job_standstill find_standstill(const job_ranks& job);

// "all_reduce number 41 of dp (4,194,304 bytes)", without control characters.
std::string text_of_call(const job_ranks& job, std::uint32_t rank, const rank_call& is);
std::string text_of_collective(const job_ranks& job, std::uint32_t rank, const rank_collective& is);
// The rank's last collective before `before_ns` by its own clock, as text_of_call(); "": none was recorded.
std::string last_collective_of(const job_ranks& job, std::uint32_t rank, std::int64_t before_ns);

// Sentences, the first one with a name for each rank, without full stops; none if nothing was found.
std::vector<std::string> sentences_of(const job_ranks& job, const job_standstill& of);

}  // namespace prof
