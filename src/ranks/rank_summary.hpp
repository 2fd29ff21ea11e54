// SPDX-License-Identifier: Apache-2.0
// What a job's answer needs of one rank: its steps with their parts, and its collective operations. The captures of a
// job are read one after another; a summary is what stays of each, about 200 bytes a step and 100 a collective. Plain
// data, and the pure function that makes it of a timeline; its cost is that of a breakdown.
//
// Local time is the rank's own time without that in which its GPU waited for a collective: the replay of a job
// (job_replay.hpp) keeps it, and gives each wait the length that the other ranks leave it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/selection/step_scope.hpp"
#include "record/collective.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The parts of a step: each instant counts once, as in the breakdown. After these three come the causes of idle time.
inline constexpr std::size_t compute_part = 0;
inline constexpr std::size_t communication_part = 1;  // while nothing computes
inline constexpr std::size_t copy_part = 2;
inline constexpr std::size_t first_idle_part = 3;
inline constexpr std::size_t rank_part_count = first_idle_part + idle_cause_count;
// "computing", "communication", "copies", or the cause as the first screen has it.
std::string_view word_for_part(std::size_t part) noexcept;

struct rank_step {
    std::uint64_t number = 0;
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
    std::int64_t host_from_ns = 0;  // calls from then until host_to_ns belong to the step
    std::int64_t host_to_ns = 0;
    std::array<std::int64_t, rank_part_count> parts{};
    std::uint64_t kernels = 0;  // that compute
    std::uint64_t threads = 0;  // that these were launched with
};

// By which the members of a collective find each other, the surest first.
enum class collective_match : std::uint8_t {
    sequence,  // communicator and sequence, as NCCL numbers them
    group,     // process group and sequence, as PyTorch numbers them
    order,     // the order in the step
};
std::string_view to_string(collective_match by) noexcept;

struct rank_collective {
    std::uint64_t key = 0;        // equal on all its members
    std::uint64_t order_key = 0;  // matched by order: equal for all that are numbered together
    std::uint64_t bytes = 0;
    std::int64_t enqueued_ns = 0;  // the program called it
    std::int64_t begin_ns = 0;     // its kernel began: the rank has arrived
    std::int64_t end_ns = 0;
    std::int64_t ready_ns = 0;    // in local time: when it could begin, if nothing else of its stream were before it
    std::int64_t exposed_ns = 0;  // while nothing computed
    std::int64_t slowing_ns = 0;  // by so much the rank's computing took longer, since it ran beside it
    std::uint64_t sequence = no_sequence;
    std::uint32_t communicator = 0;  // index into rank_summary::communicators
    std::uint32_t step = UINT32_MAX;
    std::uint32_t place = 0;           // index into rank_summary::places
    std::uint32_t after = UINT32_MAX;  // the one that held it up: before it in its stream, or of another
    std::uint32_t gap_ns = 0;          // between these two
    std::uint32_t members = 0;         // as its communicator has them; 0: not known
    std::uint32_t op = 0;              // index into timeline::ops of its capture
    collective_function function = collective_function::other;
    collective_match by = collective_match::sequence;
    bool receives = false;  // of a send and its receive, which have one function
};

// From `at_ns` on, in local time, the GPU had nothing to do but to wait for the collective to end.
struct rank_wait {
    std::int64_t at_ns = 0;
    std::uint32_t collective = 0;
};

// Work of the GPU that cannot begin before the host has launched it. That the host does so long after it last waited
// for the GPU, whatever the GPU waits for meanwhile.
struct rank_launch {
    std::int64_t at_ns = 0;              // of the work's begin, in local time,
    std::int64_t begin_ns = 0;           // and by the clock
    std::int64_t returned_ns = 0;        // the host's last wait before the launch ended: by the clock
    std::int64_t launched_after_ns = 0;  // the launch, counted from there
};

struct rank_communicator {
    std::uint64_t key = 0;  // equal on all its ranks
    std::string name{};
    std::uint32_t ranks = 0;          // 0: not known
    std::uint32_t rank = UINT32_MAX;  // of this process in it
};

// Where the time of a step goes, by part and place: the mean of all steps.
struct rank_place {
    std::size_t part = 0;
    std::string place{};  // path of ranges, or the step's phase; "": none
    double mean_ns = 0;
};

// What a diagnosis of the rank alone found (diagnose/finding.hpp).
struct rank_finding {
    std::string title{};
    std::string line{};  // "train.py:57"; "": not known
    double gain_ns = 0;  // of a step
};

struct rank_window {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

// A call of a collective of whose work no end was recorded: it waits, its work is queued, or the record was lost.
struct rank_call {
    std::uint64_t key = 0;  // as rank_collective::key; by order it has none before the ranks are compared (job.hpp)
    std::uint64_t order_key = 0;  // likewise
    std::uint64_t bytes = 0;
    std::uint64_t number = no_sequence;  // the sequence; by order the number among those that were recorded
    std::int64_t called_ns = 0;
    std::uint32_t communicator = 0;  // index into rank_summary::communicators
    std::uint32_t members = 0;
    std::uint32_t place = 0;  // index into rank_summary::places
    collective_function function = collective_function::other;
    collective_match by = collective_match::sequence;
};

// How the recording ends, and where the rank was at that moment.
struct rank_ending {
    std::int64_t at_ns = 0;     // the last moment up to which all was recorded, as far as is known
    std::string how{};          // "the process was killed by signal 9 (SIGKILL)"
    bool has_died = false;      // it was killed, or ended with a status of its own
    bool has_ended = false;     // in any way, and all was recorded until then
    std::string place{};        // path of the innermost range that was open; "": none
    std::int64_t place_ns = 0;  // when that was opened
    std::string call{};         // of CUDA, which had not returned; "": none
    std::string line{};         // of the thread's last call of which a stack was recorded; "": not known
    std::int64_t line_ns = 0;   // when that was
};

struct rank_summary {
    std::string path{};
    // Captures of further windows of the process, each with the index of its first collective.
    std::vector<std::pair<std::string, std::uint32_t>> later_paths{};
    std::string program{};
    std::string host{};   // "": not known
    std::string clock{};  // ranks with the same text have one clock
    std::string start{};  // when the process was created, as its host counts; "": not known
    std::optional<std::int64_t> rank{};
    std::optional<std::int64_t> local_rank{};
    std::optional<std::int64_t> world_size{};
    std::optional<std::int64_t> pid{};
    std::string run_id{};  // of `prof run`
    std::string gpu{};     // its id, 16 bytes; "": not known
    std::vector<rank_window> windows{};
    bool has_steps = false;  // else each window is one
    std::vector<rank_step> steps{};
    std::vector<rank_communicator> communicators{};
    std::vector<rank_collective> collectives{};  // by begin_ns
    std::vector<rank_wait> waits{};              // by at_ns
    std::vector<rank_launch> launches{};         // by at_ns: those that could hold the GPU up, if it waited less
    std::vector<std::string> places{std::string()};
    std::vector<rank_place> time{};  // the largest
    std::vector<rank_finding> findings{};
    std::vector<rank_call> calls{};  // by called_ns: those without an end
    rank_ending ending{};
    std::uint64_t ops = 0;
    std::uint64_t unplaced = 0;  // collectives whose kernel was not seen
    // Wall time spent waiting, which local time leaves out.
    struct waited_time {
        std::int64_t from_ns = 0;
        std::int64_t to_ns = 0;
        std::int64_t before_ns = 0;  // the sum of those before
    };
    std::vector<waited_time> waited{};  // by from_ns, without overlap

    // The local time at this moment. Logarithmic.
    std::int64_t local_ns(std::int64_t at_ns) const noexcept;
    // The begin of the wait in which this moment lies; else the moment itself. Logarithmic.
    std::int64_t begin_of_wait_ns(std::int64_t at_ns) const noexcept;
    // The end of the wait in which this moment lies; else the moment itself. Logarithmic.
    std::int64_t after_wait_ns(std::int64_t at_ns) const noexcept;
};

// `step_function` and `scope`: as break_down() has them. What says where the capture is from stays empty: path and
// findings.
rank_summary summarize_rank(const timeline& data, const attribution& att, std::string_view step_function = {},
                            const step_scope& scope = {});

// Another capture of the same process, which has a window of its own.
void add_window(rank_summary& to, rank_summary&& more);

}  // namespace prof
