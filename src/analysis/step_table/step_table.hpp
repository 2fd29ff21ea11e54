// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes, as one table: a row is a phase, a column is what the GPU did, and each instant of each
// step stands in exactly one cell. Plain data, which make_step_table() makes; docs/reference/breakdown.md defines the
// figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prof {

// What a GPU does at an instant. Of several at once the first of these: it computes, communicates, copies; or it is
// idle, for one cause (idle_causes.hpp) of a group that a finding removes.
enum class step_column : std::uint8_t {
    computing,
    communication,
    copies,
    launches,         // idle: work is being launched, or was launched just before
    cpu_code,         // idle: the host runs code without calls of CUDA, or waits for the data loader
    syncs,            // idle: the host waits for the GPU, or for a copy that returns when it is done
    unpinned_copies,  // idle: the host copies from or to memory that is not page-locked
    memory_calls,     // idle: the host allocates or frees memory
    compilation,      // idle: the host compiles, or captures a CUDA graph
    short_gaps,       // idle: between operations that were launched in time
    other,            // idle: for another GPU, or for a reason that was not recorded
};
inline constexpr std::size_t step_column_count = static_cast<std::size_t>(step_column::other) + 1;
inline constexpr bool is_idle(step_column use) noexcept { return use >= step_column::launches; }

// What a row is.
enum class step_row_kind : std::uint8_t {
    phase,   // an observed phase, or the outermost of the program's ranges in a step
    rest,    // in the step, in no phase
    range,   // a range inside a phase
    module,  // a module, whose name is that of its attribute or class
    scope,   // a scope of JAX
    own,     // what a row with children has outside of them
};

// Times are of all steps, added, and on all GPUs.
struct step_table_row {
    std::string name{};  // as the process has it, folded as the ranges are; "" of rest and own
    step_row_kind kind = step_row_kind::phase;
    std::array<std::int64_t, step_column_count> ns{};  // by step_column. Of children only busy time: 0 where it is idle
    std::uint64_t calls = 0;                           // how often it began in the steps; 0 if that is not known
    std::int64_t cpu_ns = 0;                           // how long the steps' thread was in it
    std::int64_t wait_ns = 0;                          // of that, in calls that wait for the GPU or for a copy
    std::int64_t first_ns = INT64_MAX;                 // when the first of these calls began; INT64_MAX: not known
    std::vector<step_table_row> children{};  // largest first, `own` among them. Their busy times, by use, add up to ns

    std::int64_t of(step_column use) const noexcept { return ns[static_cast<std::size_t>(use)]; }
    std::int64_t busy_ns() const noexcept {
        return of(step_column::computing) + of(step_column::communication) + of(step_column::copies);
    }
    std::int64_t total_ns() const noexcept {
        std::int64_t out = 0;
        for (const std::int64_t each : ns) out += each;
        return out;
    }
};

struct step_table {
    bool has_steps = false;     // else it is of all the time that was recorded
    bool by_gpu = false;        // the steps lie where the GPU executes them (whole_step::from_ns): the host runs ahead
    std::uint64_t steps = 0;    // 1 where there are none
    std::uint32_t devices = 0;  // 0: no GPU work; all of `ns` are 0 then
    // So many launches of the steps have no GPU record, and none has one (lost_work.hpp): `devices` is 0 then, since it
    // is not known what the GPU did.
    std::uint64_t lost_launches = 0;
    std::int64_t wall_ns = 0;  // the steps' lengths added, times the number of GPUs: exactly the sum over the rows
    std::int64_t cpu_ns = 0;   // how long the host was in the steps: exactly the sum of cpu_ns over the rows
    std::vector<step_table_row> rows{};  // largest first by total_ns, without GPU work by cpu_ns; `rest` among them
};

}  // namespace prof
