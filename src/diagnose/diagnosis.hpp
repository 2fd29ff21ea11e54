// SPDX-License-Identifier: Apache-2.0
// Finds what to change in a program from a timeline. docs/reference/diagnose.md has the rules, their limits and the
// model of the prices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/call_names.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/finding.hpp"
#include "record/record.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct diagnosis_options {
    double least_share = default_least_share;
    std::string step_function{};  // of a shown_timeline (xla_phases.hpp); "" if there is none
    // The timeline before it had phases of XLA; null: it has none.
    const timeline* original = nullptr;
    // What a CUDA call is called, by its domain and callback id.
    call_namer call_name{};
    // The steps to examine, which must outlive the call; null: those of the timeline, without the warm-up.
    const whole_steps* steps = nullptr;
    bool may_use_threads = false;  // one more than the calling one
    // Prices of sets of findings, too: of up to six findings all sets, else pairs, the first ones, and all. Each costs
    // a replay.
    bool wants_sets = false;
    bool is_sample = false;  // these steps stand for more of them: extend_to_all() asks whether those are uneven
};

diagnosis diagnose(const timeline& data, const attribution& att, const diagnosis_options& options = {});

// Makes the diagnosis of some of a program's steps (diagnosis_options::steps) one of all of them: what a step costs and
// would gain stays, as far as the findings of the rules go, its length becomes that of all, and the rule uneven_steps
// is asked of all lengths.
void extend_to_all(diagnosis& of, const std::vector<whole_step>& all, bool wants_sets = false);

// The rules, by name and purpose, in the order in which they are asked.
struct rule_description {
    std::string_view name;
    std::string_view purpose;
};
std::vector<rule_description> diagnosis_rules();

}  // namespace prof
