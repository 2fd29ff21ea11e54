// SPDX-License-Identifier: Apache-2.0
// The words of the page, as `prof help terms` has them.
#include "export/page/page_views.hpp"
#include "report/screen_terms.hpp"

namespace prof {

page_view make_terms_view(const page_input& /*input*/) {
    page_view out{.name = "terms", .heading = "Terms", .data = page_json::object()};
    page_terms terms;
    page_json& list = out.data["list"] = page_json::array();
    for (const screen_term& each : screen_terms()) {
        list.push_back({std::string(each.word), std::string(each.meaning)});
        terms.terms.emplace_back(each.word, each.meaning);
    }
    out.blocks.emplace_back(std::move(terms));
    out.keeps_blocks = true;
    return out;
}

}  // namespace prof
