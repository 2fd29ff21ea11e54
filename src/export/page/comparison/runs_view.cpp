// SPDX-License-Identifier: Apache-2.0
// The runs of both sides: how far they spread, beside how far the sides are apart.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "export/page/comparison/comparison_views.hpp"
#include "export/page/page_text.hpp"

namespace prof {

page_view make_runs_view(const comparison_page_input& input) {
    const comparison& of = input.of;
    page_view out{.name = "spread", .heading = "Runs", .link = "Runs", .data = page_json::object()};
    out.lead.push_back(
        of.is_pair() ? "One run on each side: how far runs of one program spread is not known. The line of each is "
                       "the interval of 95 % of its mean step, by its own steps."
                     : "Each mark is a run, and its line the interval of 95 % of its mean step, by its own steps. "
                       "The verdict rests on how far the runs of a side spread.");
    out.data["what"] = input.noun();
    page_json& rows = out.data["rows"] = page_json::array();
    page_table table{.caption = fmt::format("The mean {} of each run, in {}", input.noun(), input.unit.name),
                     .columns = {{"side"},
                                 {"run", true},
                                 {"steps", true},
                                 {std::string(input.noun()), true},
                                 {"from", true},
                                 {"to", true},
                                 {"GPU time", true},
                                 {"capture"}}};
    std::uint64_t number = 0;
    bool was_new = false;
    for (const compared_run& run : of.runs) {
        number = run.is_new != was_new ? 1 : number + 1;
        was_new = run.is_new;
        const auto whole = [](double ns) { return page_json(std::llround(ns)); };
        rows.push_back({{"side", run.is_new ? "new" : "base"},
                        {"run", number},
                        {"step_ns", whole(run.step_ns)},
                        {"low_ns", run.at ? whole(run.at->low) : page_json()},
                        {"high_ns", run.at ? whole(run.at->high) : page_json()},
                        {"steps", run.steps},
                        {"capture", page_label(page_name(run.file))}});
        table.rows.push_back({run.is_new ? "new" : "base", fmt::format("{}", number),
                              run.steps == 0 ? "–" : fmt::format("{}", run.steps), input.text(run.step_ns),
                              run.at ? input.text(run.at->low) : "–", run.at ? input.text(run.at->high) : "–",
                              input.text(run.gpu_sum_ns), page_label(page_name(run.file))});
    }
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
