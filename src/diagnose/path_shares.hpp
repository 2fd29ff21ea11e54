// SPDX-License-Identifier: Apache-2.0
// What the critical path of the steps consists of: its pieces in words, and its time by kind, place and module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/examined_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Sets path, path_ns, unexplained_ns, path_has_modules and bound_by of `out`. Linear in the length of the path.
void share_path(examined_steps& steps, const attribution& att, diagnosis& out);

// A piece of the path in words.
struct named_piece {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::string kind{};    // as path_share
    std::string where{};   // likewise; of a GPU operation its name, too
    std::string module{};  // likewise
};
// The critical path of the steps of a timeline; empty if it has no launches. The arguments are those of diagnose().
std::vector<named_piece> named_critical_path(const timeline& data, const attribution& att,
                                             std::string_view step_function = {}, const whole_steps* steps = nullptr);

}  // namespace prof
