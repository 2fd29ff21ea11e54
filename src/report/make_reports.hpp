// SPDX-License-Identifier: Apache-2.0
// Reports of a capture as whole documents: the one way from a timeline to a document, for the command, the files of a
// recording, C and Python. No process is needed. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "report/job_reports.hpp"
#include "report/report_document.hpp"
#include "report/report_settings.hpp"
#include "report/reports.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// These reports of the timeline of the capture at `path`, which is added to `job` if there is one. Throws
// nothing_selected (step_choice.hpp).
report_document make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                             std::span<const report_kind* const> reports, job_reports* job = nullptr);
// The same one after another, since some have a row for each range or launch: visit(document with one report). The
// document ends with the visit. Tables in it may make their rows when they are asked for (for_each_row() in table.hpp).
void make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                  std::span<const report_kind* const> reports, const std::function<void(const report_document&)>& visit,
                  job_reports* job = nullptr);

// The summary that `prof run` prints and a recording writes beside its capture: the GPU projection with what a step
// takes; of a capture that has only some of the run's steps the estimates for all of them; modules, where they were
// recorded. `att`: the timeline's attribution with settings.projected, where the caller has it; it is not used for a
// part of the capture.
report_document make_summary(const timeline& data, const std::string& path, const report_settings& settings,
                             const attribution* att = nullptr);

// What documents of several kinds are made of, for whoever makes them together: visit(input, its diagnosis).
void with_report_input(const timeline& data, const std::string& path, const report_settings& settings,
                       const std::function<void(const report_input&, capture_diagnosis&)>& visit);
// The document of these reports, from such an input.
report_document make_document_of(const report_input& input, capture_diagnosis& diagnosed,
                                 std::span<const report_kind* const> reports);

// Whether settings are about the capture as a whole, so that a changed copy of it has them; the copy, and the other
// settings.
bool changes_timeline(const report_settings& settings);
std::pair<timeline, report_settings> with_changes(const timeline& data, const report_settings& settings);

}  // namespace prof
