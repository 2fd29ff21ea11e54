// SPDX-License-Identifier: Apache-2.0
#include "report/job_knowledge.hpp"

#include <optional>
#include <utility>

#include "report/capture_diagnosis.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr std::size_t most_findings = 3;

// Of the rank alone, without what it says of communication: how much of that is waiting, one rank does not show.
std::vector<rank_finding> findings_of(const projected_timeline& shown, const report_input& input) {
    std::vector<rank_finding> out;
    if (input.diagnosed == nullptr) return out;
    const std::optional<step_figures> step = step_figures_of(shown, input);
    const diagnosis* const of = step ? input.diagnosed->of_screen(*step) : nullptr;
    if (of == nullptr) return out;
    for (const finding& each : of->findings) {
        if (each.rule == "communication") continue;
        if (out.size() == most_findings) break;
        rank_finding one{.title = each.title, .gain_ns = of->per_step(each.gain_ns)};
        for (const finding_part& part : each.parts) {
            if (one.line.empty()) one.line = part.line;
        }
        out.push_back(std::move(one));
    }
    return out;
}

}  // namespace

void job_knowledge::add(const report_input& input) {
    if (!wants_ranks_) return;
    const projected_timeline shown(input);
    const std::optional<step_time_subject> of = step_time_of(shown, input);
    if (!of) return;
    rank_summary made = summarize_rank(of->data, of->att, of->step_function, of->scope);
    made.path = input.capture;
    if (wants_findings_) made.findings = findings_of(shown, input);
    summaries_.push_back(std::move(made));
}

const std::vector<job_knowledge::answered_job>& job_knowledge::jobs() {
    if (is_made_) return jobs_;
    is_made_ = true;
    for (job_ranks& each : jobs_among(std::move(summaries_))) {
        job_answer answer = answer_of(each);
        jobs_.push_back({std::move(each), std::move(answer)});
    }
    return jobs_;
}

}  // namespace prof
