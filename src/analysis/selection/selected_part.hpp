// SPDX-License-Identifier: Apache-2.0
// The part of a capture that a request selects, as a timeline with its attribution: what reports and traces are made
// from. docs/guide/selection.md has the rules.
//
// - A call, and all work that it launched, counts where the call begins; work whose call was not seen where it begins
//   itself. So parts that do not overlap add up to the whole, and nothing is counted twice.
// - Of ranges, what counts for them in the GPU projection of the whole is selected: with adoption and captured ranges.
//   A call without GPU work counts for the ranges open on its own thread.
// - Ranges that last beyond the selected times are cut there.
//
// Linear in the timeline; memory for what is selected, beside the whole. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/selection/part_of_timeline.hpp"
#include "analysis/selection/selection_request.hpp"
#include "analysis/selection/step_choice.hpp"
#include "analysis/selection/step_scope.hpp"
#include "analysis/selection/time_spans.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What was selected, for headings and documents.
struct selection_facts {
    selection_request request{};
    time_spans times{};                  // empty: all
    std::vector<std::uint64_t> steps{};  // numbers of the whole steps that count, if steps were asked for
    std::uint64_t all_steps = 0;
    std::uint64_t ranges = 0;  // that match, if ranges were asked for
    std::uint64_t ops = 0;
    std::uint64_t all_ops = 0;
    std::vector<std::string> in_vain{};  // a line for each pattern that no range matches
};

// "range backward; steps 3 to 7 (5 of 12); from 5; to 5.6": what was chosen.
std::string selection_choice(const selection_facts& of);
// "range backward; steps 3 to 7 (5 of 12); 0.181 s; 1,850 of 4,575 GPU operations"
std::string selection_line(const selection_facts& of);

class selected_part {
public:
    // `with_phases`: of a JAX program with the phases that reports show; else as recorded. Throws nothing_selected.
    // REQUIRES: `whole` outlives this; request.is_part().
    selected_part(const timeline& whole, const projection_options& options, const selection_request& request,
                  bool with_phases = true);

    // What lies in the steps that count, of these: in as far as a call begins in one on the host. Where none counts,
    // its scope has no step, and it has no data.
    selected_part(const timeline& whole, const projection_options& options, const step_scope& of);

    const timeline& data() const noexcept { return data_; }
    const attribution& att() const noexcept { return att_; }
    const selection_facts& facts() const noexcept { return facts_; }

    // The whole as it was recorded, and what of it is kept.
    const timeline& recorded() const noexcept { return recorded_; }
    const kept_entities& kept() const noexcept { return kept_; }
    // The whole as it is shown; what needs the time around a step must look at it.
    const timeline& whole() const noexcept { return shown_.data(); }
    const attribution& whole_att() const noexcept { return whole_att_; }
    const std::string& step_function() const noexcept { return shown_.step_function(); }
    bool has_ranges() const noexcept { return !facts_.request.ranges.empty(); }
    // What reports on steps are of; of ranges nothing is known here.
    const step_scope& scope() const noexcept { return scope_; }

private:
    // Of nothing yet.
    selected_part(const timeline& whole, const projection_options& options, bool with_phases);
    class selector;
    void keep_names(const row_tree& tree);
    void finish(selector& chosen, bool is_of_times);

    const timeline& recorded_;
    shown_timeline shown_;
    attribution whole_att_;
    attribution att_;
    selection_facts facts_;
    step_scope scope_;
    kept_entities kept_;
    timeline data_;
};

}  // namespace prof
