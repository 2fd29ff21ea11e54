// SPDX-License-Identifier: Apache-2.0
// The whole steps of a capture: those that are in it from their beginning to the beginning of the next one. Every
// report has its steps from here: which they are, where they lie, how long they are. Pure functions of a timeline;
// linear in its ranges, marks and operations. docs/guide/phases.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// How steps are recognised: by the first of these that the capture has.
enum class step_source : std::uint8_t {
    counted,    // the marks of prof_step or of the option step_range
    observed,   // the phases "step"
    profiler,   // the program's ranges ProfilerStep#N
    recurring,  // the outermost of the program's ranges that recur: a guess
};
std::string_view step_source_name(step_source source) noexcept;  // the words above

// What ended the observed steps, in a word: "optimizers", "calls", "annotations", "profiler"; "" for 0.
std::string_view step_witness_name(std::uint32_t witness) noexcept;

struct whole_step {
    // On the host. Calls that begin in [start_ns, end_ns), and the work that they launch, belong to the step.
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool is_first = false;     // of the program
    std::uint64_t number = 0;  // as traces number it (numbered_steps.hpp); of recurring ranges, from 0
    // How much later than that it began and ended, since the GPU still had work that was launched before
    // (step_times.hpp). 0 without work on a GPU.
    std::int64_t start_delay_ns = 0;
    std::int64_t end_delay_ns = 0;

    // Where the step lies in time. How long it is, and what the GPU does in it, are of [from_ns(), to_ns()).
    std::int64_t from_ns() const noexcept { return start_ns + start_delay_ns; }
    std::int64_t to_ns() const noexcept { return end_ns + end_delay_ns; }
    std::int64_t length_ns() const noexcept { return to_ns() - from_ns(); }
    // Times of the host compare with this one.
    std::int64_t host_start_ns() const noexcept { return start_ns; }
};

struct whole_steps {
    step_source source = step_source::counted;
    std::uint32_t witness = 0;  // what ended the observed steps (record/label.hpp); 0: unknown
    // The range that begins each step: of recurring ones, folded; of counted ones, as step_range has it. "": none does.
    std::string range{};
    bool range_is_step = false;       // that range is all of the step's ranges, not the first of several
    thread_id thread = npos;          // the thread that has the steps; npos: there is none
    std::vector<whole_step> steps{};  // by start_ns, without overlap on the host and in time
    std::uint64_t warm_up = 0;        // steps before these that leave_out_warm_up removed
    // By place of the timeline: whether a step is done only when that stream is (step_times.hpp). Empty: all are.
    row_values<place_id, bool> streams{};
};

// `has_step_function`: the steps are executions of a jitted function (xla_phases.hpp); `data` must then be the
// timeline of the shown_timeline.
whole_steps find_whole_steps(const timeline& data, const attribution& att, bool has_step_function = false);

// The same without the warm-up: the steps that count in every report on all of a capture.
whole_steps steps_that_count(const timeline& data, const attribution& att, bool has_step_function = false);

// The length of each, and of all.
std::int64_t total_length(const std::vector<whole_step>& steps);
std::vector<std::int64_t> lengths_of(const std::vector<whole_step>& steps);

// Removes the program's first step, in which libraries are loaded, kernels compiled and memory allocated, unless it is
// the only one. Of ten or more steps it also removes those that follow at once and are longer than 1.25 times the
// median and than the median and 5 scaled median absolute deviations; at most half of all.
void leave_out_warm_up(whole_steps& of);

}  // namespace prof
