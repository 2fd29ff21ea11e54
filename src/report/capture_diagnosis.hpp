// SPDX-License-Identifier: Apache-2.0
// The diagnosis of a timeline that reports show, made once, when it is first asked for. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/projection/projection.hpp"
#include "analysis/selection/selection_request.hpp"
#include "analysis/selection/step_sample.hpp"
#include "diagnose/finding.hpp"
#include "report/report_document.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class projected_timeline;

class capture_diagnosis {
public:
    // The first two arguments must outlive it. `least_share`: as diagnosis_options. `part`: its steps and moments
    // choose the steps to examine (choose_whole_steps); its ranges choose nothing.
    capture_diagnosis(const timeline& data, const projection_options& projected, double least_share,
                      selection_request part = {}, bool may_use_threads = false, const sample_limits& limits = {})
        : data_(data),
          projected_(projected),
          least_share_(least_share),
          part_(std::move(part)),
          may_use_threads_(may_use_threads),
          limits_(limits) {}

    // Adds the dearest changes to the answers of the document, unless the document is of a part of
    // the capture. Of a large capture they are those of a sample of its steps (step_sample.hpp), so that nobody waits
    // for them.
    void add_gains(report_document& document);

    const timeline& data() const noexcept { return data_; }
    // Of all steps, made once.
    const diagnosis& get();
    // The one of add_gains(), of all steps or of a sample; null: there is none.
    const diagnosis* of_screen(const step_figures& of);
    std::uint64_t sampled() const noexcept { return sampled_; }  // steps, of that one; 0: all
    // From now on diagnoses have prices of sets of findings (diagnosis_options::wants_sets).
    void ask_for_sets() noexcept { wants_sets_ = true; }

private:
    std::optional<priced_changes> gains(const answer_block& of);
    diagnosis diagnosed(const projected_timeline& shown, const whole_steps* steps = nullptr,
                        bool is_sample = false) const;
    diagnosis of_chosen_steps(const projected_timeline& shown) const;

    const timeline& data_;
    const projection_options& projected_;
    double least_share_;
    selection_request part_;
    bool may_use_threads_;
    sample_limits limits_;
    bool wants_sets_ = false;
    std::optional<diagnosis> made_;
    std::optional<diagnosis> of_sample_;
    std::uint64_t sampled_ = 0;
};

// The findings as changes, in their order. `where`: where the time of a step goes, with which they are compared
// (priced_change::is_on_cpu); null: with nothing.
priced_changes priced_changes_of(const diagnosis& of, const step_table* where = nullptr);

// Adds to the answers of the document what names the capture, and the part of it that is shown, in a command.
// `counted_by`: as report_settings.
void add_place(report_document& document, const std::string& counted_by);

}  // namespace prof
