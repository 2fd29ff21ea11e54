// SPDX-License-Identifier: Apache-2.0
// Writes a page: one HTML file that needs nothing else (docs/reference/page-data.md). No process is needed. One thread;
// memory beside the timeline's is that of the report documents and of the steps that are shown in time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "export/byte_sink.hpp"
#include "report/job_knowledge.hpp"
#include "report/make_reports.hpp"
#include "report/report_document.hpp"
#include "report/report_settings.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The processes of a job, of which one has the page's figures. The captures are added one after another, and none is
// held: what stays of each is its document and the summary of its rank.
class page_job {
public:
    page_job() { ranks_.ask_for_ranks(true); }

    void add(const timeline& data, const std::string& path, const report_settings& settings);
    bool is_empty() const noexcept { return members_.empty(); }
    const std::vector<report_document>& members() const noexcept { return members_; }

    // REQUIRES of the following: all captures were added.
    // The jobs that their ranks are of, the one with most ranks first.
    const std::vector<job_knowledge::answered_job>& jobs() { return ranks_.jobs(); }
    // The index of the member whose figures the page has: the rank that holds the job up; without one that with GPU
    // work which communicates least, since the others wait for it; else the one with most steps.
    std::size_t shown();

private:
    std::vector<report_document> members_;
    job_knowledge ranks_;
};

// `job`: of several captures; null: it is one. Throws what the sink throws, and nothing_selected (step_choice.hpp).
void write_page(const timeline& data, const std::string& path, const report_settings& settings, byte_sink& to,
                page_job* job = nullptr);

}  // namespace prof
