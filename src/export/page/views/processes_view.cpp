// SPDX-License-Identifier: Apache-2.0
// The processes of a job, as far as several captures were given.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/text_table.hpp"
#include "report/process_overview.hpp"

namespace prof {

page_view make_processes_view(const page_input& input) {
    page_view out{.name = "processes", .heading = "Processes of the job", .link = "Processes"};
    if (input.job == nullptr) {
        out = {.name = "processes"};
        return out;
    }
    out.data = page_json::object();
    std::vector<captured_process> processes;
    std::vector<const report_document*> documents;
    for (const report_document& each : *input.job) {
        processes.push_back(each.capture.process);
        documents.push_back(&each);
    }
    const table overview = process_overview(processes);
    const time_unit unit = unit_of(overview);
    page_table shown{.caption = "Processes"};
    page_json& columns = out.data["columns"] = page_json::array();
    for (const table_column& column : overview.columns) {
        if (column.title.empty()) continue;
        const bool is_number = column.holds != quantity::text;
        const std::string title =
            column.holds == quantity::time_ns ? fmt::format("{}, {}", column.title, unit.name) : column.title;
        shown.columns.push_back({title, is_number});
        columns.push_back({{"title", title}, {"align", is_number ? "right" : "left"}});
    }
    page_json& rows = out.data["rows"] = page_json::array();
    constexpr std::size_t most_rows = 500;
    for (const table_row& row : overview.rows) {
        if (rows.size() == most_rows) break;
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (overview.columns[i].title.empty()) continue;
            cells.push_back(page_label(cell_text(overview.columns[i], row[i], unit)));
        }
        rows.push_back(cells);
        shown.rows.push_back(std::move(cells));
    }
    // The screen of the job: its lines of text before the table, and behind it.
    page_json& lines = out.data["lines"] = page_json::array();
    constexpr std::size_t width = 120;
    for (const std::string& line : job_screen(documents, {.width = width})) {
        const bool is_sentence = line.starts_with("Step ") || line.starts_with("Ranks ") || line.starts_with("GPU") ||
                                 line.starts_with("Programs ") || line.starts_with("Processes ");
        if (!is_sentence) continue;
        // "Step  36.27 ms, …" as a sentence: "Step: 36.27 ms, …."
        std::string sentence = line;
        if (const std::size_t word = sentence.find(' '); word != std::string::npos) {
            const std::size_t rest = sentence.find_first_not_of(' ', word);
            if (rest > word + 1 && rest != std::string::npos) sentence.replace(word, rest - word, ": ");
        }
        lines.push_back(page_sentence(sentence));
        out.lead.push_back(page_sentence(sentence + "."));
    }
    out.data["shown"] = input.shown_member;
    const captured_process& member = (*input.job)[input.shown_member].capture.process;
    std::string which = page_sentence((*input.job)[input.shown_member].capture.title);
    if (member.rank) which = fmt::format("rank {}", *member.rank);
    out.lead.push_back(fmt::format("All other views are of {}.", which));
    out.blocks.emplace_back(std::move(shown));
    return out;
}

}  // namespace prof
