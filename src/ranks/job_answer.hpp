// SPDX-License-Identifier: Apache-2.0
// The answer for a job: which rank, host or communicator holds the others up, what that costs each step of the job, and
// why; and what its collective operations take. Pure functions of the ranks' summaries. docs/reference/ranks.md has the
// model, the formulae and the limits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ranks/job.hpp"
#include "ranks/rank_summary.hpp"
#include "ranks/standstill.hpp"

namespace prof {

enum class straggler_kind : std::uint8_t { rank, group, host, network };
std::string_view to_string(straggler_kind kind) noexcept;

struct straggler {
    straggler_kind kind = straggler_kind::rank;
    std::vector<std::uint32_t> ranks{};  // indices into job_ranks::ranks
    std::string name{};                  // "rank 3", "rank 2, rank 3", "host b", "the network of rank 2, rank 3"
    double gain_ns = 0;                  // of each step of the job: so much shorter as fast as its peers
    std::optional<double> error_ns{};    // of the gain: 95 %; none: of one step
    std::uint32_t steps = 0;             // in so many of them it is slower
    bool is_passing = false;             // in some steps only, and the gain is that of these, over all
    double excess_ns = 0;                // of a step: its own work beyond its peers'
    std::string cause{};                 // "its host is late: CPU code"
    std::size_t part = 0;                // of its step, that exceeds its peers' most
    double part_ns = 0;                  // by so much
    std::string place{};                 // the range or phase in which that is; "": not known
    std::string where{};    // the stretch with most of it: "before all_reduce 3 of 8"; "": it is spread out
    std::string finding{};  // of the rank's own diagnosis, the dearest; "": none
    std::string line{};
    std::string finding_of{};  // the rank whose finding it is; "": that of each
    bool is_on_each = true;    // else the causes differ, and `cause` names the ranks of each
};

struct rank_figures {
    double step_ns = 0;
    std::array<double, rank_part_count> parts{};  // of a step
    double excess_ns = 0;                         // of a step: own work beyond the peers' median; may be below 0
    bool has_peers = false;
    double wait_ns = 0;             // of a step, for ranks that arrive later
    std::uint64_t collectives = 0;  // matched with others
    std::uint64_t last = 0;         // of these it was the last to arrive in, by more than the clocks' error
    bool is_priced = false;
    double gain_ns = 0;                // if so: of each step of the job
    std::optional<double> error_ns{};  // of that; none: of one step
};

// The collectives of one communicator that have the same function and size.
struct collective_figures {
    std::uint32_t communicator_rank = 0;  // where its name is: index into job_ranks::ranks
    std::uint32_t communicator = 0;       // and into rank_summary::communicators
    collective_function function = collective_function::other;
    std::uint64_t bytes = 0;  // as the call counts them
    std::uint32_t ranks = 0;
    std::uint64_t count = 0;
    double a_step = 0;
    collective_match by = collective_match::sequence;
    double transfer_ns = 0;       // the median, from the last arrival on
    double launch_skew_ns = 0;    // the median, between the first and the last call
    double arrival_skew_ns = 0;   // the median, between the first and the last begin of a kernel
    double clock_error_ns = 0;    // of these skews, and of the transfer
    double exposed_ns = 0;        // of a step and rank: while nothing computes
    double hidden_ns = 0;         // of a step and rank: while the rank computes
    double bus_bytes_per_ns = 0;  // 0: not known
    // Some of its ranks were not captured: the transfer is at most that, and waiting for them.
    bool lacks_ranks = false;

    std::uint32_t last_rank = UINT32_MAX;  // which was the last most often
    double last_share = 0;
};

// A part of the job's critical path: what a step's end waits for, of one rank or one kind of collective.
struct path_part {
    std::uint32_t rank =
        UINT32_MAX;  // of own work: index into job_ranks::ranks; else it is the transfers of a collective:
    std::uint32_t communicator_rank = 0;  // as in collective_figures
    std::uint32_t communicator = 0;
    collective_function function = collective_function::other;
    std::uint64_t bytes = 0;
    bool lacks_ranks = false;  // as in collective_figures
    double ns = 0;             // of a step, the mean
    std::uint64_t pieces = 0;
};

struct job_answer {
    double step_ns = 0;        // of the job, by the replay
    double recorded_ns = 0;    // of the rank with the longest ones, as recorded
    double begin_skew_ns = 0;  // between the first and the last rank's begin of the first step
    std::uint32_t steps = 0;
    std::vector<straggler> stragglers{};  // the dearest first; those that count
    // What may not have been seen: less than this, of each step.
    double least_ns = 0;
    std::string without_peers{};  // "ranks 0 and 3": those that call collectives as no other one does; "": none
    double mean_wait_ns = 0;      // of a step: for which a rank waits for others, the mean of the ranks
    std::string no_verdict{};     // why none could be looked for; "": it was
    double exposed_ns = 0;        // what each step would gain if collectives took no time beyond the last arrival;
    // Ranks of some collectives were not captured: part of it may be waiting for them.
    bool exposed_is_at_most = false;

    double slowing_ns = 0;          // of it: since what runs beside collectives takes longer
    std::vector<path_part> path{};  // the longest first; together a step
    std::vector<rank_figures> ranks{};
    std::vector<std::uint32_t> order{};             // indices into ranks, the worst first
    std::vector<collective_figures> collectives{};  // of the steps; the most exposed time first
    std::uint64_t outside_steps = 0;                // matched collectives that are of none
    job_standstill standstill{};                    // what the ranks waited for when their recordings ended
    std::vector<std::string> differences{};         // of the ranks' collectives and ends, a sentence each
    std::vector<std::string> remarks{};             // what limits it, likewise

    const straggler* worst() const noexcept { return stragglers.empty() ? nullptr : &stragglers.front(); }
};

inline constexpr double least_straggler_share = 0.01;  // of a step: what costs less is none

job_answer answer_of(const job_ranks& job);

// "the job's gain of ranks 1 and 2 together: 0.80 ms": a rank that is as fast as its peers alone gains little, if the
// others of its group hold the job up all the same.
std::string gain_together(const job_answer& of, const straggler& group);

// Bytes on a link for each byte that the call counts (docs/reference/ranks.md); 0: not known.
double bus_factor(collective_function function, std::uint32_t ranks) noexcept;

// "own work of rank 3"; "transfers of all_reduce, 4,194,304 bytes"; "transfers of, or waiting in, ..." where ranks were
// not captured.
std::string path_part_name(const job_ranks& job, const path_part& part);

// The sentences of the answer, the verdict first: without names' control characters.
std::vector<std::string> sentences_of(const job_ranks& job, const job_answer& of);
// In what the ranks wait if the job stands still, and what of the ranks differs; none if nothing of both is known.
// Without full stops.
std::vector<std::string> sentences_on_differences(const job_ranks& job, const job_answer& of);
// The verdict alone: in what the ranks wait if the job stands still, else "rank 3 holds the job up: ..."; and what of
// the ranks differs.
std::string verdict_of(const job_ranks& job, const job_answer& of);

}  // namespace prof
