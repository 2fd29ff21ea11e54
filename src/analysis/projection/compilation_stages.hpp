// SPDX-License-Identifier: Apache-2.0
// The stages in which JAX compiles a function, as hooks/jax observes them: phases "tracing f", "lowering jit(f)" and
// "compiling jit(f)" within a phase `compilation`. Linear in the ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view compilation_phase = "compilation";

enum class compilation_work : std::uint8_t { tracing, lowering, compiling };

struct compilation_stage {
    compilation_work work = compilation_work::tracing;
    std::string_view function;  // "train_step"
};
// Nothing if the range is no stage.
std::optional<compilation_stage> read_compilation_stage(const timeline& data, const timeline_range& range);

// By range: the stage that it is, or lies in on its thread; npos: none. Empty if there is no stage.
row_values<range_id, range_id> compilation_stages(const timeline& data);

}  // namespace prof
