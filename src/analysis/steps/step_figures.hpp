// SPDX-License-Identifier: Apache-2.0
// The time that a step takes on the host and on the GPU, and the phases that use its GPU time. docs/guide/phases.md
// defines each figure. A pure function of a timeline; linear in its ranges and operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct step_part {
    std::string name;  // of the phase; "": work in no phase
    std::int64_t gpu_sum_ns = 0;
    std::uint64_t ops = 0;
};

// Figures over whole steps, without the warm-up (whole_steps.hpp).
struct step_figures {
    std::uint64_t steps = 0;    // at least 1
    std::uint64_t warm_up = 0;  // whole steps left out before them
    bool is_first = false;      // only the program's first step is there
    step_source source = step_source::counted;
    std::string range{};        // of recurring and counted steps: the range that begins each; "": none does
    std::uint32_t witness = 0;  // what ended the observed steps (record/label.hpp); 0: unknown
    std::string function{};     // the jitted function whose executions are the steps; "" if there is none
    // Their lengths (whole_step::length_ns): those of all added, and of single ones.
    std::int64_t total_ns = 0;
    double median_ns = 0;
    std::int64_t min_ns = 0;
    std::int64_t max_ns = 0;
    // How long the host was in them: less than the above where it runs ahead of the GPU.
    double host_median_ns = 0;
    std::int64_t host_ns = 0;
    whole_steps whole{};  // these steps
    // Of the GPU operations whose launch began in one of these steps, on any thread, at whatever time they ran.
    // false: no launch of GPU work was recorded, or none of the steps' has a GPU record (lost_work.hpp); the rest is 0
    bool has_gpu = false;
    std::int64_t gpu_sum_ns = 0;  // durations added; equals the sum over all parts
    std::int64_t gpu_busy_ns = 0;
    std::uint64_t ops = 0;
    std::uint32_t devices = 0;     // number of devices with such operations
    std::vector<step_part> parts;  // by the outermost phase below the step, largest first; work in no phase comes last

    // The length of a step, by which every report goes.
    double mean_ns() const noexcept { return static_cast<double>(total_ns) / static_cast<double>(steps); }
};

// Nothing if no step counts. `step_function`: that of a shown_timeline (xla_phases.hpp); `data` must then be its
// timeline. `chosen`: the steps that count, of a part of a capture; null: all, without the warm-up.
std::optional<step_figures> measure_steps(const timeline& data, const attribution& att,
                                          std::string_view step_function = {}, const whole_steps* chosen = nullptr);

}  // namespace prof
