// SPDX-License-Identifier: Apache-2.0
// Lines of the program by what they cost the host.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"

namespace prof {

page_view make_lines_view(const page_input& input) {
    page_view out{.name = "lines", .heading = "Lines of the program", .link = "Lines", .data = page_json::object()};
    const diagnosis* const of = input.findings;
    if (of == nullptr) {
        out.why = input.no_findings;
    } else if (!of->no_lines.empty()) {
        out.why = page_sentence("No line is known: " + of->no_lines +
                                ". Those of Python programs are recorded by default (--lines on); captures of "
                                "older versions have none.");
    } else if (of->lines.empty()) {
        out.why = "No line of the program was recorded.";
    }
    if (!out.why.empty()) {
        out.data["why"] = out.why;
        return out;
    }
    constexpr std::size_t most_lines = 100;
    constexpr std::size_t most_rows = 15;
    const page_step& step = input.step;
    page_table table{
        .caption = "The host's time by line and by what it does there",
        .columns = {{"line"}, {"what"}, {fmt::format("{} a step", step.unit.name), true}, {"times a step", true}}};
    page_json& rows = out.data["rows"] = page_json::array();
    for (const line_cost& line : of->lines) {
        if (rows.size() == most_lines) break;
        const double count =
            static_cast<double>(line.count) / static_cast<double>(std::max<std::uint64_t>(of->steps, 1));
        std::string key = line.cause;
        std::replace(key.begin(), key.end(), ' ', '_');
        rows.push_back({{"line", page_label(line.line)},
                        {"code", page_label(line.code)},
                        {"cause", line.cause},
                        {"cause_key", key},
                        {"ns", std::llround(of->per_step(line.cost_ns))},
                        {"count", count},
                        {"steps", line.steps},
                        {"longest_ns", line.longest_ns},
                        {"gain_ns", std::llround(of->per_step(line.gain_ns))},
                        {"stack", page_sentence(line.stack)}});
        if (table.rows.size() >= most_rows) continue;
        table.rows.push_back({line.line.empty() ? "(not known)" : page_label(line.line), line.cause,
                              step.text(of->per_step(line.cost_ns)), fmt::format("{:.1f}", count)});
    }
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
