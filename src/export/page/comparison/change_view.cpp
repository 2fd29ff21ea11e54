// SPDX-License-Identifier: Apache-2.0
// By how much the step changed, and the waterfall from the old one to the new one.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/page/comparison/comparison_views.hpp"
#include "export/page/page_text.hpp"
#include "report/comparison_report.hpp"

namespace prof {
namespace {

constexpr std::size_t most_parts = 14;

std::string sentence_of(const std::string& text) {
    std::string out = capitalized(page_sentence(text));
    if (!out.ends_with('.')) out += '.';
    return out;
}

std::string name_of(const waterfall_part& part) {
    return part.phase.empty() ? part.use : page_label(page_name(part.phase)) + " · " + part.use;
}

// "Not the same on both sides: command, driver."
std::string differences_sentence(const comparison& of) {
    std::string out;
    for (const fact_difference& each : of.differences) out.append(out.empty() ? "" : ", ").append(each.what);
    return out.empty() ? out : "Not the same on both sides: " + out + ".";
}

}  // namespace

page_view make_change_view(const comparison_page_input& input) {
    const comparison& of = input.of;
    page_view out{.name = "change", .link = "Change", .data = page_json::object()};
    const report_part* const figures = input.part("diff");
    const text_block* const said = figures == nullptr ? nullptr : block_in<text_block>(*figures);
    const std::vector<std::string> paragraphs = said == nullptr ? std::vector<std::string>{} : said->paragraphs;
    // The verdict is the second one, and what it rests on stands behind its colon.
    const std::string said_of_step = paragraphs.size() > 1 ? paragraphs[1] : "Two runs compared";
    const std::size_t colon = said_of_step.find(": ");
    out.heading = capitalized(page_sentence(said_of_step.substr(0, colon)));
    if (of.step().found == verdict::inconclusive) out.heading += ": " + change_text(of.step().change);
    if (!paragraphs.empty()) out.lead.push_back(sentence_of(paragraphs[0]));
    if (colon != std::string::npos) out.lead.push_back(sentence_of(said_of_step.substr(colon + 2)));
    for (std::size_t i = 2; i < paragraphs.size(); ++i) out.lead.push_back(sentence_of(paragraphs[i]));
    out.details = page_sentence(differences_sentence(of));

    page_table table{
        .caption = fmt::format("From the base {0} to the new one, in {1} of a {0}", input.noun(), input.unit.name),
        .columns = {{"phase"}, {"the GPU's time"}, {"base", true}, {"new", true}, {"change", true}}};
    out.data["what"] = input.noun();
    out.data["base_ns"] = of.parts.base_ns;
    out.data["new_ns"] = of.parts.new_ns;
    page_json& rows = out.data["rows"] = page_json::array();
    std::int64_t rest_base_ns = of.parts.base_ns;
    std::int64_t rest_new_ns = of.parts.new_ns;
    std::size_t rest = of.parts.parts.size();
    for (const waterfall_part& part : of.parts.parts) {
        if (rows.size() == most_parts || part.change_ns() == 0) break;  // the largest change first
        rows.push_back({{"name", name_of(part)}, {"base_ns", part.base_ns}, {"new_ns", part.new_ns}});
        table.rows.push_back({part.phase.empty() ? "rest of the step" : page_label(page_name(part.phase)), part.use,
                              input.text(static_cast<double>(part.base_ns)),
                              input.text(static_cast<double>(part.new_ns)),
                              input.change(static_cast<double>(part.change_ns()))});
        rest_base_ns -= part.base_ns;
        rest_new_ns -= part.new_ns;
        --rest;
    }
    if (rest != 0) {
        out.data["more"] = {{"count", rest}, {"base_ns", rest_base_ns}, {"new_ns", rest_new_ns}};
        table.rows.push_back({fmt::format("{} more", rest), "", input.text(static_cast<double>(rest_base_ns)),
                              input.text(static_cast<double>(rest_new_ns)),
                              input.change(static_cast<double>(rest_new_ns - rest_base_ns))});
    }
    table.sums = {std::string(input.noun()), "", input.text(static_cast<double>(of.parts.base_ns)),
                  input.text(static_cast<double>(of.parts.new_ns)),
                  input.change(static_cast<double>(of.parts.new_ns - of.parts.base_ns))};
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
