// SPDX-License-Identifier: Apache-2.0
// A view of a page as a value: what stands in the HTML for readers without JavaScript, and the data of its script.
// Plain data. Texts are ready for people (page_text.hpp), and escaped when they are written.
//
// To add a view: a maker in a file of its own in export/page/views/, its declaration and its place in page_views.hpp
// and .cpp, a script in export/page/web/ that has the view's name, and its shape in docs/reference/page-data.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace prof {

using page_json = nlohmann::ordered_json;

struct page_table {
    struct column {
        std::string title{};
        bool is_number = false;
    };
    std::string caption{};
    std::vector<column> columns{};  // the first one names the row
    std::vector<std::vector<std::string>> rows{};
    std::vector<std::string> sums{};  // below them; empty: none
};

struct page_paragraph {
    std::string text{};
};

struct page_list {
    std::vector<std::string> items{};
    bool is_ordered = false;
};

// Terms and what they mean; they stay when a script has drawn the view.
struct page_terms {
    std::vector<std::pair<std::string, std::string>> terms{};
};

using page_block = std::variant<page_table, page_paragraph, page_list, page_terms>;

// A step in time, or what else is too long for the results: written last, compressed.
struct page_payload {
    std::string id{};
    std::string json{};
};

struct page_view {
    std::string name{};                // of its section, address and script
    std::string heading{};             // "": the view is part of the one before it
    std::string link{};                // in the bar on top; "": none
    std::vector<std::string> lead{};   // sentences that stay
    std::string details{};             // a further sentence, in small letters
    std::vector<page_block> blocks{};  // for readers without JavaScript
    page_json data{};                  // null: the view has no script
    std::string why{};                 // it is empty; "": it is not
    bool keeps_blocks = false;         // its blocks stay: no script replaces them
    bool stands_first = false;         // behind the answer, before all others: the program ended because of it
    std::vector<page_payload> payloads{};
};

}  // namespace prof
