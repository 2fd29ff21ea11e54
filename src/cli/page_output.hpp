// SPDX-License-Identifier: Apache-2.0
// Writes the page of captures to a file (export/page/page_writer.hpp). Reads one capture after another, and of several
// the one whose figures the page has a second time: memory is that of the largest timeline. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/progress_line.hpp"
#include "report/report_settings.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct page_order {
    std::vector<std::string> files{};
    std::string place{};  // of the page; "": standard output
    report_settings settings{};
    std::function<void(timeline& data)> prepare{};  // each timeline; may be empty. May throw nothing_selected
};

// False if a capture could not be read, which was reported; the page is of the others, or there is none. Throws
// prof::error if the page cannot be written.
bool write_page_of(const page_order& order, const progress_display& progress);

// "saved run.html (412 KB)" on standard error.
void print_saved_page(const std::string& place);

}  // namespace prof
