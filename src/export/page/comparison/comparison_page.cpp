// SPDX-License-Identifier: Apache-2.0
#include "export/page/comparison/comparison_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/page/comparison/comparison_views.hpp"
#include "export/page/page_frame.hpp"
#include "export/page/page_text.hpp"

namespace prof {
namespace {

// Of two paths their ends, as far as they tell them apart.
std::string last_names(const std::string& base, const std::string& changed) {
    const auto last = [](const std::string& path) { return std::filesystem::path(path).filename().string(); };
    const bool are_told_apart = last(base) != last(changed) && !last(base).empty() && !last(changed).empty();
    return are_told_apart ? last(base) + " → " + last(changed) : base + " → " + changed;
}

}  // namespace

std::string comparison_page_input::change(double ns) const {
    const std::int64_t quanta = unit.quanta(std::abs(ns));
    if (quanta == 0) return unit.text(0);
    return (ns < 0 ? "\u2212" : "+") + unit.text(quanta);
}

const report_part* comparison_page_input::part(std::string_view name) const noexcept {
    const auto found = std::find_if(document.parts.begin(), document.parts.end(),
                                    [&](const report_part& one) { return one.name == name; });
    return found == document.parts.end() ? nullptr : &*found;
}

void write_comparison_page(const comparison& of, const report_document& document, byte_sink& to) {
    const comparison_page_input input{
        .of = of, .document = document, .unit = screen_unit::for_step(std::max(of.step().base, of.step().changed))};
    std::vector<page_view> views;
    views.push_back(make_change_view(input));
    views.push_back(make_figures_view(input));
    for (page_view& view : make_first_table_views(input)) views.push_back(std::move(view));
    views.push_back(make_sides_view(input));
    views.push_back(make_runs_view(input));
    for (page_view& view : make_last_table_views(input)) views.push_back(std::move(view));

    constexpr std::string_view arrow = " -> ";
    std::string title = page_sentence(document.capture.title);
    std::string program = title;
    if (const std::size_t at = title.find(arrow); at != std::string::npos) {
        const std::string base = title.substr(0, at);
        const std::string changed = title.substr(at + arrow.size());
        title = base + " → " + changed;
        program = last_names(base, changed);
    }
    page_frame frame{.program = program,
                     .command = title,
                     .facts = fmt::format("{} and {} run{}", of.base_runs, of.new_runs, of.new_runs == 1 ? "" : "s")};
    page_json texts = page_json::array();
    for (const std::string& warning : document.capture.warnings) {
        frame.warnings.push_back(page_sentence(warning));
        texts.push_back(frame.warnings.back());
    }
    page_json run{{"title", title},
                  {"command", title},
                  {"program", program},
                  {"file", ""},
                  {"gpus", page_json::array()},
                  {"rank", nullptr},
                  {"warnings", std::move(texts)}};
    frame.results = page_results(std::move(run), input.unit.name, input.unit.decimals);
    frame.results["parts"] = page_json::array();
    frame.results["causes"] = page_json::array();
    write_framed_page(std::move(frame), std::move(views), to);
}

}  // namespace prof
