// SPDX-License-Identifier: Apache-2.0
// Documents of one or several captures in every format that there is.
#include "export/report/report_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/chrome/trace_names.hpp"
#include "export/example_captures.hpp"
#include "export/lines_of.hpp"
#include "export/report/shown_document.hpp"
#include "report/make_reports.hpp"
#include "report/tables/processes.hpp"
#include "support/sanitized.hpp"

namespace prof::report_writer_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

report_document document_of(const timeline& data, const std::vector<std::string>& reports) {
    std::vector<const report_kind*> kinds;
    for (const std::string& name : reports) kinds.push_back(find_report(name));
    return make_document({.data = data, .capture = "c.prof", .call_name = call_names(data)}, kinds);
}

std::string written(std::string_view format, const std::vector<report_document>& documents,
                    const writer_options& options = {}) {
    const auto writer = find_report_format(format)->make(options);
    for (const report_document& document : documents) writer->add(document);
    return writer->text();
}

std::size_t count_of(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
}

TEST(ReportWriter, RendersEveryReportInEveryFormat) {
    const timeline data = eventful_capture();
    for (const report_format& format : report_formats()) {
        EXPECT_EQ(find_report_format(format.name), &format);
        for (const report_kind& kind : report_kinds()) {
            const report_document document = document_of(data, {std::string(kind.name)});
            EXPECT_EQ(document.parts.front().name, kind.name);
            EXPECT_GT(written(format.name, {document}).size(), 50U) << format.name << ' ' << kind.name;
        }
    }
    EXPECT_EQ(find_report_format("xml"), nullptr);
}

TEST(ReportWriter, GroupsCsvByReport) {
    const report_document document = document_of(hta_capture(), {"gpu-projection", "cuda_gpu_kern_sum"});
    const std::string csv = written("csv", {document, document}, {.several_captures = true});
    EXPECT_EQ(count_of(csv, "capture,type,path,"), 1U);
    EXPECT_EQ(count_of(csv, "c.prof,push_pop,forward,"), 2U);
    EXPECT_EQ(count_of(csv, "\r\n\r\ncapture,Time (%),"), 1U) << "a line between tables";
    EXPECT_THAT(written("csv", {document}), HasSubstr("\r\n\r\nTime (%),")) << "Nsight's columns of one capture";
}

TEST(ReportWriter, WritesOneJsonObjectOnlyForOneReport) {
    const report_document document = document_of(hta_capture(), {"kernels"});
    EXPECT_EQ(nlohmann::json::parse(written("json", {document}))["report"], "kernels");
    const auto several = nlohmann::json::parse(written("json", {document}, {.several_captures = true}));
    ASSERT_EQ(several.size(), 1U);
    EXPECT_EQ(several[0]["capture"], "c.prof");
    EXPECT_EQ(written("json", {}), "");
    EXPECT_EQ(written("json", {}, {.several_reports = true}), "[]\n");
}

TEST(ReportWriter, HasTheTitleAndTheWarningsAboveAndTheNotesBelowAllReports) {
    const report_document document = document_of(eventful_capture(), {"gpu-projection", "kernels"});
    const std::string text = written("table", {document}, {.layout = {.shown = {.rows = 2}}});
    EXPECT_THAT(lines_of(text)[0], testing::StartsWith("prof  python train.py, rank 3"));
    EXPECT_EQ(count_of(text, document.capture.title), 1U);
    EXPECT_EQ(count_of(text, "GPU time by kernel"), 1U);
    EXPECT_EQ(count_of(text, "the rings were full"), 1U);
    EXPECT_THAT(text, HasSubstr("(12) of all ranges and CUDA calls were lost: the rings were full; raise memory"));
    EXPECT_LT(text.find("\nwarning: "), text.find("GPU time by range"));
    EXPECT_LT(text.find("GPU time by kernel"), text.find("rows with less GPU time are left out"));
}

table wide_table() {
    table of{"mine",
             "GPU time by name",
             {{"name", "name"}, {"ns", "GPU", quantity::time_ns}, {"a", "average", quantity::time_ns, 1}},
             {},
             {}};
    of.rows = {{std::string(60, 'x') + std::string(60, 'y'), 1'000, 100}};
    of.legend = {{"GPU", "GPU: a time."}, {"average", "average: of all."}};
    return of;
}

TEST(ReportWriter, NamesTheColumnsThatDoNotFit) {
    const report_document document{.parts = {part_of(wide_table())}};
    const std::string narrow = written("table", {document}, {.layout = {.width = 40}});
    EXPECT_THAT(narrow, EndsWith("\n\nleft out at 40 columns: average; prof\nreport --wide shows all\nGPU: a time.\n"));
    const std::string wide = written("table", {document}, {.layout = {.width = any_width}});
    EXPECT_THAT(wide, HasSubstr("xxxyyy"));
    EXPECT_THAT(wide, EndsWith("\n\nGPU: a time. average: of all.\n"));
    const std::string several = written("table", {document, document}, {.layout = {.width = 40}});
    EXPECT_EQ(count_of(several, "left out at"), 1U);
    EXPECT_THAT(several,
                EndsWith("\n\nleft out at 40 columns: average; prof\nreport --wide shows all\nGPU: a time.\n"));
}

TEST(ReportWriter, HasOneLineForATableWithoutRows) {
    table of = wide_table();
    of.instead = "none was recorded";
    EXPECT_EQ(table_text(of, {}), "GPU time by name: none was recorded\n");
    of.instead = {};
    of.rows.clear();
    EXPECT_EQ(table_text(of, {}), "GPU time by name\n");
}

// Without its escapes, text in colour is the text without.
TEST(ReportWriter, ColoursWholeLines) {
    report_document document{.capture = {.title = "train.py"}, .parts = {part_of(wide_table())}};
    document.capture.warnings = {"3 names were lost"};
    document.parts.front().reading_notes = {"few names"};
    const std::string plain = written("table", {document}, {.layout = {.width = 40}});
    std::string color = written("table", {document}, {.layout = {.width = 40, .color = true}});
    EXPECT_THAT(color, HasSubstr("\x1b[1mtrain.py\x1b[0m\n"));
    EXPECT_THAT(color, HasSubstr("\x1b[33mwarning: 3 names were lost\x1b[0m\n"));
    EXPECT_THAT(color, HasSubstr("\x1b[2mnote: few names\x1b[0m\n"));
    EXPECT_EQ(plain.find('\x1b'), std::string::npos);
    for (std::size_t at = 0; (at = color.find('\x1b')) != std::string::npos;) {
        color.erase(at, color.find('m', at) + 1 - at);
    }
    EXPECT_EQ(color, plain);
}

TEST(ReportWriter, BreaksNotesBetweenWordsForATerminal) {
    report_document document = document_of(hta_capture(), {"kernels"});
    const std::string note = "six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
    document.capture.notes = {note};
    document.capture.warnings = {note};
    const std::string one_line = written("table", {document}, {.layout = {.width = 40}});
    EXPECT_THAT(one_line, HasSubstr("\nwarning: " + note + '\n'));
    EXPECT_THAT(one_line, HasSubstr("note: " + note + '\n'));
    const std::string text = written("table", {document}, {.layout = {.width = 40, .wrap_lines = true}});
    EXPECT_THAT(text, HasSubstr("\nwarning: six seven eight nine ten eleven\n  twelve thirteen fourteen fifteen\n"));
    EXPECT_THAT(text, HasSubstr("note: six seven eight nine ten eleven\n  twelve thirteen fourteen fifteen\n"));
}

// The overview comes first, and all tables have the unit of the largest time.
TEST(ReportWriter, ShowsSeveralProcessesAtAGlance) {
    const auto process = [](std::int64_t rank, std::int64_t pid, std::string program, std::int64_t gpu_ns) {
        report_document out;
        out.capture.title = program + " " + std::to_string(pid);
        out.capture.process = {.program = std::move(program),
                               .host = "node",
                               .rank = rank,
                               .pid = pid,
                               .recorded_ns = 3'000'000,
                               .ranges = 10,
                               .ops = gpu_ns == 0 ? 0U : 4U,
                               .gpu_sum_ns = gpu_ns};
        table of{"mine", "GPU time by name", {{"name", "name"}, {"ns", "GPU", quantity::time_ns}}, {}, {}};
        of.rows = {{std::string("a"), gpu_ns}};
        of.legend = {{"GPU", "GPU: a time."}};
        out.parts = {part_of(of)};
        return out;
    };
    const std::vector<report_document> documents = {process(1, 20, "train", 5'000'000),
                                                    process(0, 10, "train", 20'000'000), process(0, 11, "loader", 0),
                                                    process(0, 12, "loader", 0), process(0, 13, "loader", 0)};
    EXPECT_EQ(written("table", documents, {.layout = {.width = 80}, .outline = true}),
              "5 processes, in ms\n"
              "\n"
              "rank  pid  program     recorded  ranges  GPU ops     GPU\n"
              "----  ---  ----------  --------  ------  -------  ------\n"
              "   0   10  train          3.000      10        4  20.000\n"
              "   0    -  3 x loader     3.000      30        0   0.000\n"
              "   1   20  train          3.000      10        4   5.000\n"
              "\n"
              "train 20\n"
              "\n"
              "GPU time by name, in ms\n"
              "\n"
              "name    GPU\n"
              "----  -----\n"
              "a     5.000\n"
              "\n"
              "train 10\n"
              "\n"
              "GPU time by name, in ms\n"
              "\n"
              "name     GPU\n"
              "----  ------\n"
              "a     20.000\n"
              "\n"
              "GPU: a time.\n"
              "\n"
              "3 of 5 have no tables here: prof report FILE has them\n");
    EXPECT_EQ(count_of(written("table", documents), "GPU time by name"), 5U) << "not an outline";
}

// Ranks in containers may have one number each: they are processes of their own.
TEST(ReportWriter, ProcessesAreToldApartByRankToo) {
    std::vector<captured_process> all(3);
    for (captured_process& each : all) {
        each.host = "node";
        each.pid = 1;
        each.rank = 0;
    }
    EXPECT_EQ(processes_table(all).heading, "3 captures of 1 process");
    for (std::size_t i = 0; i < all.size(); ++i) all[i].rank = static_cast<std::int64_t>(i);
    EXPECT_EQ(processes_table(all).heading, "3 processes");
}

// The table of processes, asked for by name, is the overview and stands once; formats for programs have no single
// capture beside it.
TEST(ReportWriter, HasReportsOfAJobOnce) {
    const timeline data = eventful_capture();
    const std::vector<const report_kind*> kinds = {find_report("kernels"), find_report("processes")};
    std::vector<report_document> documents;
    job_reports job(kinds, 2);
    for (const char* const path : {"a.prof", "b.prof"}) {
        documents.push_back(make_reports(timeline(data), path, {}, job.of_captures(), &job));
        ASSERT_EQ(documents.back().parts.size(), 1U);
    }
    documents.push_back(job.finish({}).value());
    const std::string text = written("table", documents);
    EXPECT_THAT(text, StartsWith("2 captures\n"));
    EXPECT_EQ(count_of(text, "2 captures of 1 process"), 1U);
    EXPECT_LT(text.find("2 captures of 1 process"), text.find("GPU time by kernel"));
    const std::string csv = written("csv", {documents.back()});
    EXPECT_THAT(csv, StartsWith("rank,pid,program,"));
    EXPECT_EQ(count_of(csv, "\r\n"), 3U);
    const auto json = nlohmann::json::parse(written("json", {documents.back()}));
    EXPECT_EQ(json["captures"], nlohmann::json::parse(R"(["a.prof", "b.prof"])"));
    EXPECT_EQ(json["rows"].size(), 2U);
    EXPECT_FALSE(json.contains("capture") || json.contains("process"));
    EXPECT_EQ(json["keys"][0], "rank") << "the part is that of its kind";
}

report_document processes_that_lost(const std::vector<std::uint64_t>& counts) {
    const report_kind* const kind = find_report("processes");
    job_reports job(std::span(&kind, 1), counts.size());
    EXPECT_TRUE(job.of_captures().empty());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        timeline data;
        data.quality.dropped["ring_full"] = counts[i];
        make_reports(data, std::to_string(i) + ".prof", {}, job.of_captures(), &job);
    }
    return job.finish({}).value();
}

// What single captures lack is said above the reports of all, and once where all lack it.
TEST(ReportWriter, WarnsOfCapturesInAJob) {
    EXPECT_EQ(processes_that_lost({0, 7, 2}).capture.dropped.at("ring_full"), 9U);
    EXPECT_THAT(processes_that_lost({0, 7, 2}).capture.warnings,
                ElementsAre(StartsWith("1.prof: 100.0 % (7)"), StartsWith("2.prof: 100.0 % (2)")));
    EXPECT_THAT(processes_that_lost({0, 7, 7}).capture.warnings, ElementsAre(StartsWith("1.prof and 1 more: 100.0 %")));
    EXPECT_THAT(processes_that_lost({7, 7, 7}).capture.warnings, ElementsAre(StartsWith("100.0 % (7)")));
    std::vector<std::uint64_t> different(30);
    std::iota(different.begin(), different.end(), 1);
    const std::vector<std::string> warnings = processes_that_lost(different).capture.warnings;
    ASSERT_EQ(warnings.size(), 21U);
    EXPECT_THAT(warnings.back(), StartsWith("10 more warnings"));
    const report_kind* const kind = find_report("processes");
    EXPECT_FALSE(job_reports(std::span(&kind, 1), 2).finish({}).has_value()) << "nothing could be read";
}

TEST(ReportWriter, SortsReportsOfAJob) {
    const report_kind* const kind = find_report("processes");
    job_reports job(std::span(&kind, 1), 3);
    for (const char* const pid : {"5", "30", "7"}) {
        timeline data;
        data.properties = {{"name", std::string("p") + pid}, {"pid", pid}};
        make_reports(data, pid, {}, job.of_captures(), &job);
    }
    const report_document made = job.finish({.sort = "pid", .limit = 2}).value();
    EXPECT_THAT(written("csv", {made}), HasSubstr("state\r\n,30,p30,"));
    EXPECT_EQ(count_of(written("csv", {made}), "\r\n"), 3U);
}

// Without GPU work, the program itself is shown and not a worker that it forked, which may have more ranges.
TEST(ReportWriter, HasTheProgramsTableInAnOutlineRatherThanAWorkers) {
    std::vector<report_document> documents(3);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        table of{"mine", "Table " + std::to_string(i), {{"name", "name"}}, {}, {}};
        of.rows = {{std::string("a")}};
        documents[i].parts = {part_of(of)};
        documents[i].capture.process = {.program = "train", .rank = 0, .ranges = 100 * (3 - i), .is_forked = i != 1};
    }
    const std::string text = written("table", documents, {.outline = true});
    EXPECT_THAT(text, HasSubstr("\nTable 1\n"));
    EXPECT_EQ(count_of(text, "\nTable "), 1U);
}

// A process whose table is left out has lost records: that must be known all the same.
TEST(ReportWriter, LeavesOutNoWarningInAnOutline) {
    report_document with_table;
    with_table.capture.process = {.program = "train", .ops = 1};
    report_document worker;
    worker.capture.title = "a worker";
    worker.capture.process = {.program = "loader"};
    worker.capture.warnings = {"half is lost"};
    const std::string text = written("table", {with_table, worker}, {.outline = true});
    EXPECT_THAT(text, HasSubstr("a worker\nwarning: half is lost\n"));
}

// Of two processes the notes that both have, and their legends, stand once below all tables.
TEST(ReportWriter, PrintsWhatSeveralProcessesShareOnce) {
    std::vector<report_document> documents(2);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        report_document& document = documents[i];
        const std::string number = std::to_string(i);
        document.capture.notes = {"both are \x1b alike", "of capture " + number};
        table of{"mine", "Table " + number, {{"name", "name"}}, {}, {}};
        of.notes = {"both tables", "of table " + number};
        of.rows = {{std::string("a")}};
        of.legend = {{"name", "name: a name."}, {"", "legend of table " + number + '.'}};
        document.parts = {part_of(of)};
        document.parts.front().reading_notes = {"both reports", "of report " + number};
    }
    const std::string text = written("table", documents);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    for (const char* const once : {"note: both are ", "note: both tables\n", "note: both reports\n", "\nname: a name.",
                                   " legend of table 0.", " legend of table 1."}) {
        EXPECT_EQ(count_of(text, once), 1U) << once;
        EXPECT_GT(text.find(once), text.find("note: of report 1")) << once;
    }
    for (const char* const own : {"note: of capture 0\n", "note: of table 0\n", "note: of report 0\n"}) {
        EXPECT_EQ(count_of(text, own), 1U) << own;
        EXPECT_LT(text.find(own), text.find("Table 1")) << own;
    }
}

TEST(ReportWriter, HasTheNotesOfARepeatedReportOnce) {
    const std::string text = written("table", {document_of(eventful_capture(), {"gpu-projection", "gpu-projection"})},
                                     {.layout = {.shown = {.rows = 2}}});
    EXPECT_EQ(count_of(text, "GPU time by range"), 2U);
    EXPECT_EQ(count_of(text, "rows with less GPU time are left out"), 1U);
}

struct text_sink final : byte_sink {
    std::string text;
    void write(std::string_view bytes) override { text += bytes; }
};

// What a destination gets, and the rest.
std::string written_to_a_destination(std::string_view format, const timeline& data, const report_settings& settings,
                                     std::span<const report_kind* const> kinds) {
    text_sink sink;
    const auto writer = find_report_format(format)->make({.several_reports = kinds.size() > 1});
    writer->write_to(sink);
    make_reports(data, "c.prof", settings, kinds, [&](const report_document& one) { writer->add(one); });
    return sink.text + writer->text();
}

// A list with a row for each launch, range or gap is longer than what it is made of: its rows are made when they are
// written, unless all must be there to be sorted or counted. The text is the same.
TEST(ReportDocument, MakesTheRowsOfLongListsWhenTheyAreWritten) {
    const std::vector<std::string> long_lists = {"gpu_gaps", "cuda_kernel_launches", "nvtx_gpu_proj_trace"};
    std::vector<const report_kind*> all;
    for (const report_kind& kind : report_kinds()) all.push_back(&kind);
    for (const timeline& data : {eventful_capture(), dense_capture(), graph_capture(), steps_capture(0)}) {
        for (const std::string_view format : {"json", "csv"}) {
            report_settings settings;
            const report_document whole = make_reports(data, "c.prof", settings, all);
            EXPECT_EQ(written_to_a_destination(format, data, settings, all),
                      written(format, {whole}, {.several_reports = true}));
        }
    }
    const timeline data = dense_capture();
    for (const std::string& name : long_lists) {
        const report_kind* const kind = find_report(name);
        for (const std::size_t limit : {SIZE_MAX, std::size_t{2}}) {
            const report_settings settings{.limit = limit};
            const report_document whole = make_reports(data, "c.prof", settings, std::span(&kind, 1));
            make_reports(data, "c.prof", settings, std::span(&kind, 1), [&](const report_document& one) {
                const table& now = *block_in<table>(whole.parts.front());
                const table& later = *block_in<table>(one.parts.front());
                EXPECT_EQ(row_count(later), now.rows.size()) << name;
                EXPECT_EQ(later.rows.size(), limit == SIZE_MAX ? 0 : now.rows.size()) << name;
            });
        }
    }
}

TEST(ReportWriter, HasNoMoreThanAPieceOfALongTableInMemory) {
    table list{"cuda_kernel_launches", "Launches", {{"call", "call"}, {"at", "at", quantity::moment_ns}}, {}, {}};
    constexpr std::size_t count = test::random_cases(200'000);
    list.later_rows = {count, [](const row_source::visitor& visit) {
                           for (std::size_t i = 0; i < count; ++i) visit({std::string("cudaLaunchKernel"), i});
                       }};
    for (const std::string_view format : {"json", "csv"}) {
        text_sink sink;
        const auto writer = find_report_format(format)->make({});
        writer->write_to(sink);
        writer->add({.parts = {part_of(list)}});
        EXPECT_LT(writer->text().size(), 2U << 20) << format;
        EXPECT_EQ(count_of(sink.text + writer->text(), "cudaLaunchKernel"), count) << format;
    }
}

TEST(ReportDocument, HasAllRowsOfAProjectionForProgramsAndSumsForPeople) {
    const timeline data = eventful_capture();
    const report_document whole = document_of(data, {"gpu-projection"});
    const table all = *block_in<table>(whole.parts.front());
    const report_document limited = shown_document(whole, {.rows = 2});
    const table shown = *block_in<table>(limited.parts.front());
    EXPECT_GT(all.rows.size(), shown.rows.size());
    EXPECT_EQ(shown.sums.size(), 1U);
    for (const table* of : {&all, &shown}) {
        for (const table_row& row : of->rows) EXPECT_EQ(row.size(), of->columns.size());
        for (const table_row& row : of->sums) EXPECT_EQ(row.size(), of->columns.size());
    }
}

TEST(ReportDocument, OfASummaryHasWhatTheCaptureHas) {
    const auto parts = [](const timeline& data) {
        std::vector<std::string> names;
        for (const report_part& part : make_summary(data, {}, {}).parts) {
            names.push_back(part.name);
        }
        return names;
    };
    timeline data = eventful_capture();
    EXPECT_THAT(parts(data), ElementsAre("gpu-projection"));
    data.properties["modules"] = "all";
    EXPECT_THAT(parts(data), ElementsAre("gpu-projection", "modules"));
    const report_document of_steps = make_summary(steps_capture(0), {}, {});
    EXPECT_TRUE(block_in<answer_block>(of_steps.parts.front())->step.has_value());
}

TEST(ReportDocument, UsesAnAttributionThatIsThere) {
    const timeline data = eventful_capture();
    const attribution att = attribute(data);
    const auto summary = [&](const attribution* given) {
        return written("table", {make_summary(data, {}, {}, given)});
    };
    EXPECT_EQ(summary(&att), summary(nullptr));
}

TEST(TableCell, ShowsFlagsAndWhatDoesNotApply) {
    table of{
        "mine", "A heading", {{"flag", "flag"}, {"csv", "", quantity::count}, {"json", "", quantity::count}}, {}, {}};
    of.columns[1].formats = column_formats::csv;
    of.columns[2].formats = column_formats::json;
    table_cell dash(std::uint64_t{7});
    dash.display = cell_display::dash;
    table_cell blank(std::uint64_t{8});
    blank.display = cell_display::blank;
    of.columns.push_back({"dash", "dash", quantity::count});
    of.columns.push_back({"blank", "blank", quantity::count});
    of.rows.push_back({true, 5, 6, dash, blank});
    const report_document document{.parts = {part_of(of)}};
    EXPECT_EQ(written("csv", {document}), "capture,flag,csv,dash,blank\r\n,true,5,7,8\r\n");
    const auto json = nlohmann::json::parse(written("json", {document}))["rows"][0];
    EXPECT_EQ(json.dump(), R"({"blank":8,"dash":7,"flag":true,"json":6})");
    EXPECT_THAT(written("table", {document}), HasSubstr("flag  dash  blank\n----  ----  -----\nyes      -\n"));
}

// Whatever a table would show of its rows, the line in their place stays.
TEST(ShownDocument, HasTheLineInPlaceOfRows) {
    table of{"of", "Of nothing", {{"name", "name", quantity::text}}, {}, {}};
    of.instead = "nothing was found";
    of.shorten = [](const table& whole, const shown_limits& /*limits*/) { return shown_rows{.rows = whole.rows}; };
    report_document whole;
    whole.parts.push_back(part_of(std::move(of)));
    const report_document shown = shown_document(whole, {.rows = 2});
    EXPECT_EQ(block_in<table>(shown.parts.front())->instead, "nothing was found");
}

}  // namespace
}  // namespace prof::report_writer_test
