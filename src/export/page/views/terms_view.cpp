// SPDX-License-Identifier: Apache-2.0
// The words of the page, as `prof help terms` has them.
#include <string>
#include <string_view>
#include <utility>

#include "export/page/page_views.hpp"
#include "report/screen_terms.hpp"

namespace prof {
namespace {

// A page has characters that a terminal may lack.
std::string for_page(std::string_view meaning) {
    std::string out(meaning);
    for (std::size_t at = 0; (at = out.find("us", at)) != std::string::npos; at += 2) {
        const bool begins = at == 0 || out[at - 1] == ' ';
        const bool ends = at + 2 == out.size() || out[at + 2] == ' ' || out[at + 2] == ':';
        if (begins && ends) out.replace(at, 2, "µs");
    }
    return out;
}

// What the view of memory has. docs/guide/memory.md has the rules.
constexpr std::pair<std::string_view, std::string_view> terms_of_memory[] = {
    {"allocated", "Memory that PyTorch's allocator has given out to the program."},
    {"reserved",
     "Memory that PyTorch's allocator has got of the driver: what is allocated, and what it keeps for later."},
    {"born in", "The ranges that were open when a block of memory was asked for. Where it came back does not count."},
    {"parameters", "Blocks that are born before the first step, and stay."},
    {"optimizer state", "Blocks that are born in the optimizer, and outlive the step."},
    {"gradients", "Blocks that are born in backward, and outlive it."},
    {"activations", "Blocks that are born in forward, and come back in backward or by the end of the next step."},
    {"workspace", "Blocks that come back in the phase in which they are born."},
    {"before the recording",
     "Blocks that were alive when the recording or its window began. What they are is not known."},
    {"lost records", "What does not add up, since records were dropped."},
};

}  // namespace

page_view make_terms_view(const page_input& input) {
    page_view out{.name = "terms", .heading = "Terms", .data = page_json::object()};
    page_terms terms;
    page_json& list = out.data["list"] = page_json::array();
    const auto add = [&](std::string_view word, std::string_view meaning) {
        std::string text = for_page(meaning);
        list.push_back({std::string(word), text});
        terms.terms.emplace_back(word, std::move(text));
    };
    for (const screen_term& each : screen_terms()) {
        add(each.word, each.meaning);
        if (each.word == "busy") add("works", "The GPU computes or copies: it is busy with more than communication.");
    }
    if (!input.report.data.memory.empty()) {
        for (const auto& [word, meaning] : terms_of_memory) add(word, meaning);
    }
    out.blocks.emplace_back(std::move(terms));
    out.keeps_blocks = true;
    return out;
}

}  // namespace prof
