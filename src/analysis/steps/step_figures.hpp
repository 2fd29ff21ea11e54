// What a step of the capture takes, on the host and on the GPU, and which phases have its GPU time. docs/phases.md
// defines each figure. A pure function of a timeline; linear in its ranges and operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What knows the steps apart, the first of these that a capture has.
enum class step_source : std::uint8_t {
    counted,   // the marks of prof_step, or of the option step_range
    observed,  // the phases "step"
    profiler,  // the program's ranges ProfilerStep#N
};
std::string_view step_source_name(step_source source) noexcept;  // the words above

struct step_part {
    std::string name;  // of a phase; "": what is in none
    std::int64_t gpu_sum_ns = 0;
    std::uint64_t ops = 0;
};

// Over whole steps: those that are in the capture from their beginning to where the next one begins. The program's
// first is left out unless it is the only one.
struct step_figures {
    std::uint64_t steps = 0;  // at least 1
    bool is_first = false;    // the program's first step, alone
    step_source source = step_source::counted;
    std::uint32_t witness = 0;  // what ended steps that were observed (record/label.hpp); 0: not known
    std::string function{};     // the jitted function whose executions are the steps; "" if none is
    double host_median_ns = 0;
    std::int64_t host_ns = 0;  // all their lengths added
    // Of the GPU operations whose launch began in a step, on any thread, whenever they ran.
    bool has_gpu = false;         // else no launch of GPU work was recorded, and the rest is 0
    std::int64_t gpu_sum_ns = 0;  // durations added: those of all parts
    std::int64_t gpu_busy_ns = 0;
    std::uint64_t ops = 0;
    std::uint32_t devices = 0;     // that have any of them
    std::vector<step_part> parts;  // by the outermost phase below the step, the largest first; last what is in none
};

// None if the capture has no whole step. `step_function`: of a shown_timeline (xla_phases.hpp), whose timeline `data`
// is then.
std::optional<step_figures> measure_steps(const timeline& data, const attribution& att,
                                          std::string_view step_function = {});

}  // namespace prof
