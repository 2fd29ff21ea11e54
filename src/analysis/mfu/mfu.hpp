// SPDX-License-Identifier: Apache-2.0
// Throughput, and model FLOPs utilisation (MFU): the floating-point operations that a step of the model needs, by the
// step's length times the dense peak of the GPUs for the type in which the matrices are multiplied (Chowdhery et al.,
// PaLM, 2022, appendix B). Pure functions of a timeline; linear in its operations and marks.
//
// The program or the user declares the operations of a step: recomputed ones do not count. Beside that, or in its place
// where nothing is declared, stand those of the multiplications that a trace recorded with their shapes: what ran,
// recomputed ones included. No figure rather than a wrong one: the reason is given where there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/mfu/peaks.hpp"
#include "analysis/mfu/shape_flops.hpp"
#include "analysis/steps/step_figures.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Counters by which a program declares what one of its steps is, in this process.
inline constexpr std::string_view flops_counter = "flops_per_step";
inline constexpr std::string_view samples_counter = "samples_per_step";
inline constexpr std::string_view tokens_counter = "tokens_per_step";

struct mfu_figures {
    std::uint64_t steps = 0;  // that the length is the mean of; 0: no whole step
    double step_ns = 0;
    std::optional<double> samples_per_s{};
    std::optional<double> tokens_per_s{};
    std::optional<double> flops_per_step{};
    std::string flops_source{};  // in words
    std::optional<double> flops_per_s{};
    double matrix_share = 0;  // of the kernels' time, in kernels that multiply matrices
    matrix_type type = matrix_type::unknown;
    double type_share = 0;            // of their time, in this type
    std::string gpu{};                // its name; "": unknown, or not all alike
    std::uint32_t gpus = 0;           // with work
    std::uint32_t gpu_clock_mhz = 0;  // its highest, as the driver states it; 0: unknown
    const gpu_peak* peak = nullptr;
    std::optional<double> peak_flops{};  // of all GPUs for the type
    std::optional<double> mfu{};         // 0 to 1
    std::string reason{};                // why there is no mfu; a sentence without full stop

    bool is_declared = false;  // flops_per_step; else it and what follows from it is by shapes, if there are any
    shape_flops shapes{};
    std::optional<double> shape_flops_per_s{};
    std::optional<double> shape_mfu{};
    std::string shape_reason{};  // why there is no shape_mfu
};

// `declared`: FLOPs of a step that the user gave; none: as the program's counter says. `shapes`: of the same steps.
mfu_figures measure_mfu(const timeline& data, const std::optional<step_figures>& steps, std::optional<double> declared,
                        const shape_flops& shapes = {});

}  // namespace prof
