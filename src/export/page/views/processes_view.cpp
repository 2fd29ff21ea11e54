// SPDX-License-Identifier: Apache-2.0
// The processes of a job, as far as several captures were given.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/cell_text.hpp"
#include "export/report/screen/first_screen.hpp"
#include "export/report/text_table.hpp"
#include "report/tables/processes.hpp"

namespace prof {
namespace {

constexpr std::size_t most_processes = 500;

// What a step of each process consists of, as the screen of the job has it.
page_table steps_of_job(const job_figures& figures) {
    page_table out{.caption = "A step of each process"};
    const bool has_programs = figures.is_of_several;
    const auto some = [&](auto&& has) {
        return std::any_of(figures.rows.begin(), figures.rows.end(),
                           [&](const job_figures::row& row) { return has(*row.process); });
    };
    const bool has_ranks = some([](const captured_process& of) { return of.rank.has_value(); });
    const bool has_pids = some([](const captured_process& of) { return of.pid.has_value(); });
    const bool has_hosts = some([](const captured_process& of) { return !of.host.empty(); });
    const auto names_of = [&](const captured_process& of) {
        std::vector<std::string> cells;
        if (has_ranks) cells.push_back(of.rank ? std::to_string(*of.rank) : "");
        if (has_hosts) cells.push_back(page_label(page_name(of.host)));
        if (has_pids) cells.push_back(of.pid ? std::to_string(*of.pid) : "");
        if (has_programs || cells.empty()) cells.push_back(page_label(page_name(of.program)));
        return cells;
    };
    if (has_ranks) out.columns.push_back({"rank", true});
    if (has_hosts) out.columns.push_back({"host"});
    if (has_pids) out.columns.push_back({"pid", true});
    if (has_programs || out.columns.empty()) out.columns.push_back({"program"});
    const std::size_t names = out.columns.size();
    const std::string unit = figures.unit == "us" ? "µs" : figures.unit;
    out.columns.push_back({"step, " + unit, true});
    for (const std::string& title : figures.titles) out.columns.push_back({title, true});
    const auto add_times = [](std::vector<std::string> cells, const job_figures::row& row) {
        cells.push_back(row.time);
        cells.insert(cells.end(), row.parts.begin(), row.parts.end());
        return cells;
    };
    for (const job_figures::row& row : figures.rows) {
        if (out.rows.size() == most_processes) break;
        out.rows.push_back(add_times(names_of(*row.process), row));
    }
    if (!has_programs) {
        std::vector<std::string> cells(names);
        cells.front() = "mean";
        out.sums = add_times(std::move(cells), figures.mean);
    }
    return out;
}

}  // namespace

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
    const table overview = processes_table(processes);
    const time_unit unit = unit_of(overview);
    page_table shown{.caption = "What was recorded"};
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
    for (const table_row& row : overview.rows) {
        if (rows.size() == most_processes) break;
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (overview.columns[i].title.empty()) continue;
            cells.push_back(page_label(cell_text(overview.columns[i], row[i], unit)));
        }
        rows.push_back(cells);
        shown.rows.push_back(std::move(cells));
    }
    page_table recorded = std::exchange(shown, {});
    job_figures figures = figures_of_job(documents, input.copies());
    // All ranks together know better than each by itself how they differ: the view of ranks has that.
    if (input.ranks() != nullptr) {
        figures.verdict.clear();
        if (!figures.is_of_several && !figures.sentences.empty()) figures.sentences.pop_back();
    }
    page_json& lines = out.data["lines"] = page_json::array();
    for (const std::string& each : figures.sentences) {
        std::string sentence = page_sentence(each + ".");
        lines.push_back(sentence);
        out.lead.push_back(std::move(sentence));
    }
    if (!figures.verdict.empty()) out.heading = figures.verdict;
    if (!figures.rows.empty()) {
        shown = steps_of_job(figures);
        page_json& steps = out.data["steps"] = page_json::object();
        page_json& titles = steps["columns"] = page_json::array();
        for (const page_table::column& column : shown.columns) {
            titles.push_back({{"title", column.title}, {"align", column.is_number ? "right" : "left"}});
        }
        steps["rows"] = shown.rows;
        steps["sums"] = shown.sums;
        out.blocks.emplace_back(std::move(shown));
    }
    out.data["shown"] = input.shown_member;
    const captured_process& member = (*input.job)[input.shown_member].capture.process;
    std::string which = page_sentence((*input.job)[input.shown_member].capture.title);
    if (member.rank) which = fmt::format("rank {}", *member.rank);
    out.lead.push_back(fmt::format("All other views are of {}.", which));
    out.blocks.emplace_back(std::move(recorded));
    return out;
}

}  // namespace prof
