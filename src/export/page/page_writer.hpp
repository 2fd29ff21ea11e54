// SPDX-License-Identifier: Apache-2.0
// Writes a page: one HTML file that needs nothing else (docs/reference/page-data.md). No process is needed. One thread;
// memory beside the timeline's is that of the report documents and of the steps that are shown in time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "export/byte_sink.hpp"
#include "report/make_reports.hpp"
#include "report/report_document.hpp"
#include "report/report_settings.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The processes of a job, of which one has the page's figures.
struct page_job {
    std::vector<report_document> members{};  // documents of page_document()
    std::size_t shown = 0;                   // its index there
};

// What a page needs of a process that has not its figures.
report_document page_document(const timeline& data, const std::string& path, const report_settings& settings);
// The member whose figures a page has: of those with GPU work the one that the others wait for, which communicates
// least; else the one with most steps.
std::size_t member_to_show(const std::vector<report_document>& members);

// `job`: of several captures; null: it is one. Throws what the sink throws, and nothing_selected (step_choice.hpp).
void write_page(const timeline& data, const std::string& path, const report_settings& settings, byte_sink& to,
                const page_job* job = nullptr);

}  // namespace prof
