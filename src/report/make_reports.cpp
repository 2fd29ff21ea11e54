// SPDX-License-Identifier: Apache-2.0
#include "report/make_reports.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "analysis/projection/call_names.hpp"
#include "analysis/projection/communication.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/selection/step_marks.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/capture_heading.hpp"
#include "report/makers.hpp"
#include "report/mean_step.hpp"
#include "report/memory_answer.hpp"
#include "report/tables/gpu_projection.hpp"
#include "report/tables/step_estimate.hpp"

namespace prof {

bool changes_timeline(const report_settings& settings) {
    return !settings.selection.step_range.empty() || !settings.communication.empty();
}

std::pair<timeline, report_settings> with_changes(const timeline& data, const report_settings& settings) {
    std::pair<timeline, report_settings> out(data, settings);
    add_communication(out.first, settings.communication);
    if (!settings.selection.step_range.empty()) count_steps_by(out.first, settings.selection.step_range);
    out.second.communication.clear();
    if (!settings.selection.step_range.empty()) out.second.counted_by = settings.selection.step_range;
    out.second.selection.step_range.clear();
    return out;
}

namespace {

// Calls visit(report_input, capture_diagnosis) with what reports are made of. `att`: as make_summary has it.
// `may_make_rows_later`: as report_input has it.
template <typename TVisit>
void with_report_input(const timeline& data, const std::string& path, const report_settings& settings,
                       const attribution* att, bool may_make_rows_later, TVisit&& visit) {
    if (changes_timeline(settings)) {
        const auto [changed, rest] = with_changes(data, settings);
        return with_report_input(changed, path, rest, nullptr, may_make_rows_later, visit);
    }
    std::optional<selected_part> part;
    if (settings.selection.is_part()) part.emplace(data, settings.projected, settings.selection);
    const timeline& shown = part ? part->data() : data;
    capture_diagnosis diagnosed(data, settings.projected, settings.least_share, settings.selection,
                                settings.may_use_threads);
    kept_memory memory;
    report_input input{.data = shown,
                       .capture = path,
                       .names = settings.names,
                       .hidden = hidden_domains(shown, settings.projected.attribution.domains),
                       .projected = settings.projected,
                       .att = part ? &part->att() : att,
                       .selected = part ? &*part : nullptr,
                       .most_rows = settings.most_rows,
                       .sort = settings.sort,
                       .limit = settings.limit,
                       .flops_per_step = settings.flops_per_step,
                       .samples = settings.samples,
                       .counted_by = settings.counted_by,
                       .call_name = call_names(data),
                       .diagnosed = &diagnosed,
                       .memory = &memory,
                       .may_make_rows_later = may_make_rows_later,
                       .may_use_threads = settings.may_use_threads};
    std::unique_ptr<const mean_step> step;
    if (settings.of_a_step) step = mean_step::of(input);
    input.step = step.get();
    visit(input, diagnosed);
}

// What only the whole capture says.
void complete(report_document& document, const report_input& input, capture_diagnosis& diagnosed) {
    add_memory(document, input);
    diagnosed.add_gains(document);
    add_place(document, input.counted_by);
}

bool needs_diagnosis(std::span<const report_kind* const> reports) {
    return std::any_of(reports.begin(), reports.end(), [](const report_kind* kind) { return kind->is_diagnosed; });
}

}  // namespace

report_document make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                             std::span<const report_kind* const> reports, job_reports* job) {
    report_document out;
    with_report_input(data, path, settings, nullptr, false,
                      [&](const report_input& input, capture_diagnosis& diagnosed) {
                          out = make_document_of(input, diagnosed, reports);
                          if (job != nullptr) job->add(input);
                      });
    const std::size_t count = reports.size() + (job == nullptr ? 0 : job->size());
    out.has_all_reports = settings.leaves_out_empty || count == report_kinds().size();
    return out;
}

void make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                  std::span<const report_kind* const> reports, const std::function<void(const report_document&)>& visit,
                  job_reports* job) {
    const bool may_make_rows_later = settings.sort.empty() && settings.limit == SIZE_MAX;
    with_report_input(data, path, settings, nullptr, may_make_rows_later,
                      [&](const report_input& input, capture_diagnosis& diagnosed) {
                          if (needs_diagnosis(reports)) diagnosed.get();  // then prices are of all steps
                          for (const report_kind* const& kind : reports) {
                              visit(make_document_of(input, diagnosed, std::span(&kind, 1)));
                          }
                          if (job != nullptr) job->add(input);
                      });
}

void with_report_input(const timeline& data, const std::string& path, const report_settings& settings,
                       const std::function<void(const report_input&, capture_diagnosis&)>& visit) {
    with_report_input(data, path, settings, nullptr, false, visit);
}

report_document make_document_of(const report_input& input, capture_diagnosis& diagnosed,
                                 std::span<const report_kind* const> reports) {
    report_document out = make_document(input, reports);
    complete(out, input, diagnosed);
    return out;
}

report_document make_summary(const timeline& data, const std::string& path, const report_settings& settings,
                             const attribution* att) {
    report_document out;
    with_report_input(data, path, settings, att, false, [&](const report_input& input, capture_diagnosis& diagnosed) {
        out.capture = heading_of(input);
        const projected_timeline shown(input);
        out.parts.push_back(gpu_projection_part(shown, input));
        if (has_part_of_steps(input.data)) {
            out.parts.push_back(part_of(steps_table(estimate_steps(shown.data(), shown.att(), input.projected.fold))));
        }
        if (!input.data.property("modules").empty()) out.parts.push_back(part_of(modules_report(input)));
        for (report_part& part : out.parts) mark_keys(part);
        complete(out, input, diagnosed);
    });
    return out;
}

}  // namespace prof
