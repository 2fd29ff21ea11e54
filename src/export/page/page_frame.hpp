// SPDX-License-Identifier: Apache-2.0
// What a page has around its views, whatever it is of. One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/byte_sink.hpp"
#include "export/page/page_view.hpp"

namespace prof {

// Texts are ready for people (page_text.hpp).
struct page_frame {
    std::string program{};  // the title, and first in the bar on top
    std::string command{};  // the whole of it
    std::string facts{};    // beside it
    std::vector<std::string> warnings{};
    page_json results{};  // page_results(), with what the scripts need beside the views' data
};

// The version, the run and the unit of times in the data of a page; `unit` is "s", "ms" or "µs".
page_json page_results(page_json run, std::string_view unit, int decimals);

// The view "answer" or "change" has the page's heading. Throws what the sink throws.
void write_framed_page(page_frame frame, std::vector<page_view> views, byte_sink& to);

}  // namespace prof
