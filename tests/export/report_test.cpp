#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/reports.hpp"
#include "export/example_captures.hpp"
#include "export/json_text.hpp"
#include "export/report_csv.hpp"
#include "export/report_json.hpp"
#include "export/report_text.hpp"
#include "export/text_table.hpp"
#include "export/trace_names.hpp"

namespace prof {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text, const std::string& end = "\n") {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find(end, at), text.size());
        out.push_back(text.substr(at, next - at));
        at = next + end.size();
    }
    return out;
}

std::string line_with(const std::string& text, const std::string& word) {
    for (const std::string& line : lines_of(text)) {
        if (line.find(word) != std::string::npos) return line;
    }
    return {};
}

table report(std::string_view name, const timeline& data) {
    return find_report(name)->make(
        {.data = data, .names = kernel_name_style::full, .hidden = {}, .call_name = api_call_name});
}

TEST(ReportJson, HasTheKeysOfTheContract) {
    const timeline data = eventful_capture();
    const auto json = nlohmann::json::parse(projection_json("run.prof", data, project(data)).dump());
    std::int64_t self_ns = 0;
    for (const auto& row : json["rows"]) {
        for (const char* key : {"path", "depth", "instances", "host_ns", "gpu_sum_ns", "gpu_self_ns", "gpu_child_ns",
                                "gpu_busy_ns", "gpu_span_ns", "ops", "adopted_ops"}) {
            EXPECT_TRUE(row.contains(key)) << key;
        }
        self_ns += row["gpu_self_ns"].get<std::int64_t>();
    }
    // gemm 3000, graph 500 + 1000 + 1000, backward 1000, late 100, launched before 100; copy 2000, set 0, hostile 100,
    // peer copy 100.
    EXPECT_EQ(json["total_gpu_ns"], 8900);
    EXPECT_EQ(self_ns, 8900);
    EXPECT_EQ(json["dropped"]["ring_full"], 12);
    EXPECT_EQ(json["process_ranges"][0]["path"], "prefetch");
    EXPECT_TRUE(json["notes"].is_array());
}

TEST(ReportJson, HasKernelsAndCopies) {
    const timeline data = eventful_capture();
    const auto kernels = nlohmann::json::parse(table_json("run.prof", data, report("kernels", data)).dump());
    EXPECT_EQ(kernels["total_ns"], 6800);
    EXPECT_EQ(kernels["rows"][0]["name"], "gemm(float*)");
    EXPECT_EQ(kernels["rows"][0]["symbol"], "_Z4gemmPf");
    EXPECT_EQ(kernels["rows"][0]["registers_per_thread"], 32);
    const auto copies = nlohmann::json::parse(table_json("run.prof", data, report("copies", data)).dump());
    EXPECT_EQ(copies["rows"][0]["operation"], "Memcpy HtoD (Pageable -> Device)");
    EXPECT_EQ(copies["rows"][0]["gigabytes_per_s"], 2000.0);
}

TEST(ReportCsv, KeepsBytesAndQuotes) {
    projection projected;
    projected.rows.emplace_back().path = hostile_name;
    projected.rows.back().gpu_sum_ns = 17;
    const std::string csv = projection_csv_header() + projection_csv("a,b.prof", projected);
    std::string quoted = "\"";
    for (const char c : hostile_name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    EXPECT_THAT(csv, HasSubstr("\r\n\"a,b.prof\",push_pop," + quoted + "\",0,0,0,17,"));
    EXPECT_THAT(csv, EndsWith("\r\n"));
}

TEST(ReportCsv, HasAValueForEveryColumn) {
    const timeline data = hta_capture();
    const auto columns = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
    for (const std::string& csv :
         {projection_csv_header() + projection_csv("x", project(data)),
          table_csv_header(report("kernels", data), true) + table_csv("x", report("kernels", data), true),
          table_csv_header(report("nvtx_gpu_proj_sum", data), false) +
              table_csv("x", report("nvtx_gpu_proj_sum", data), false)}) {
        const auto lines = lines_of(csv, "\r\n");
        EXPECT_GT(lines.size(), 1U);
        for (const std::string& line : lines) EXPECT_EQ(columns(line), columns(lines[0])) << line;
    }
}

// forward: host 70 us, GPU 200 (kernels) + 100 (copy) of 550; backward: host 290, GPU 250.
TEST(ReportText, ShowsHostBesideGpu) {
    const timeline data = hta_capture();
    const std::string text = projection_text(project(data), {});
    EXPECT_THAT(text, StartsWith("GPU time by range, in us\n"));
    EXPECT_THAT(line_with(text, "forward"), StartsWith("forward           1   70.000  300.000   54.5 %"));
    EXPECT_THAT(line_with(text, "backward"), StartsWith("backward          1  290.000  250.000   45.5 %"));
    EXPECT_THAT(line_with(text, "all GPU work"), HasSubstr("550.000  100.0 %"));
}

TEST(Reports, MarkCapturedRows) {
    const timeline data = graph_capture();
    projection projected = project(data);
    const std::string text = projection_text(projected, {});
    EXPECT_THAT(line_with(text, "  forward (captured)"), HasSubstr(" 2      -  0.300"));
    EXPECT_THAT(text, HasSubstr("(captured): open when a CUDA graph was captured"));
    EXPECT_THAT(projection_csv("x", projected), HasSubstr("x,captured,step #/backward,1,2,0,600,600,"));
    const auto parsed = nlohmann::json::parse(projection_json("x", data, projected).dump());
    for (const auto& row : parsed["rows"]) {
        EXPECT_EQ(row["captured"], row["path"] == "step #/forward" || row["path"] == "step #/backward") << row;
    }
    EXPECT_EQ(parsed["ops_of_unseen_captures"], 0);
    EXPECT_EQ(projection_notes(projected), "");
    projected.ops_of_unseen_captures = 1234;
    projected.ops_of_ambiguous_captures = 5;
    EXPECT_THAT(projection_notes(projected),
                HasSubstr("note: 1,234 operations of graph replays whose capture was not seen\n"));
    EXPECT_THAT(projection_notes(projected), HasSubstr("note: 5 operations of graph replays were captured by"));
    EXPECT_THAT(projection_text(project(hta_capture()), {}), Not(HasSubstr("captured")));
}

// hta_capture: of backward's 250 us 150 are NCCL's kernel.
TEST(ReportText, HasColumnsForWaitsCommunicationAndBytesWhereThereAreAny) {
    projection projected = project(hta_capture());
    text_layout layout;
    layout.width = 200;
    layout.legend = false;
    std::string text = projection_text(projected, layout);
    EXPECT_THAT(line_with(text, "GPU/each"), EndsWith("stddev     comm"));
    EXPECT_THAT(line_with(text, "backward"), EndsWith("150.000"));
    EXPECT_THAT(line_with(text, "all GPU work"), EndsWith("150.000"));

    for (projection_row& row : projected.rows) row.communication_ns = 0;
    projected.rows[0].wait_ns = 7'000;
    projected.rows[0].payload_bytes = 4'000'000;
    projected.wait_ns = 9'000;
    text = projection_text(projected, layout);
    EXPECT_THAT(line_with(text, "GPU/each"), EndsWith("wait    bytes"));
    EXPECT_THAT(line_with(text, "forward"), EndsWith("7.000  4.00 MB"));
    EXPECT_THAT(line_with(text, "all GPU work"), HasSubstr("9.000"));
    const timeline data = hta_capture();
    EXPECT_THAT(line_with(table_text(kernels_report({.data = data}), layout), "ncclKernel"), EndsWith("communication"));
}

TEST(ReportJson, TellsWaitsCommunicationAndBytes) {
    projection projected = project(hta_capture());
    projected.rows[0].wait_ns = 7;
    projected.rows[0].payload_bytes = 8;
    projected.wait_ns = 9;
    const auto json = projection_json("x", hta_capture(), projected);
    EXPECT_EQ(json["communication_ns"], 150'000);
    EXPECT_EQ(json["wait_ns"], 9);
    EXPECT_EQ(json["rows"][0]["wait_ns"], 7);
    EXPECT_EQ(json["rows"][0]["payload_bytes"], 8);
    EXPECT_EQ(json["rows"][1]["communication_ns"], 150'000);
    const timeline data = hta_capture();
    const auto kernels = table_json("x", data, kernels_report({.data = data}));
    EXPECT_EQ(kernels["communication_ns"], 150'000);
    for (const auto& row : kernels["rows"]) {
        EXPECT_EQ(row["class"], row["name"] == "ncclKernel_AllReduce" ? "communication" : "compute");
    }
}

TEST(ReportText, FitsTheTerminal) {
    const timeline data = eventful_capture();
    for (const std::size_t width : {60U, 80U, 100U, 132U, 200U}) {
        text_layout layout;
        layout.width = width;
        layout.legend = false;
        for (const std::string& text :
             {projection_text(project(data), layout), table_text(report("kernels", data), layout),
              table_text(report("copies", data), layout), table_text(report("cuda_api_sum", data), layout)}) {
            for (const std::string& line : lines_of(text)) {
                const bool is_heading = line.find(", in ") != std::string::npos || line.starts_with("Start/end");
                EXPECT_TRUE(is_heading || display_width(line) <= width) << width << ": " << line;
            }
        }
    }
}

TEST(ReportText, ShowsNoControlCharacter) {
    const timeline data = eventful_capture();
    const std::string text = summary_text(data, attribute(data), {}, {});
    EXPECT_TRUE(std::none_of(text.begin(), text.end(),
                             [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }));
    EXPECT_THAT(text, HasSubstr("evil \"name\""));
}

TEST(ReportText, LeavesOutWhatIsTooDeep) {
    const timeline data = eventful_capture();
    text_layout layout;
    layout.deepest = 0;
    const std::string text = projection_text(project(data), layout);
    EXPECT_THAT(text, HasSubstr("iteration #"));
    EXPECT_EQ(line_with(text, "forward"), "");
}

TEST(ReportText, SaysWhatIsMissing) {
    timeline data = eventful_capture();
    data.quality.ended = false;
    data.properties["missing"] = "no libcupti was found: GPU work is not recorded";
    const std::string text = capture_notes_text(data);
    EXPECT_THAT(text, HasSubstr("note: dropped: 12 ring_full"));
    EXPECT_THAT(text, HasSubstr("note: no libcupti was found: GPU work is not recorded\n"));
    EXPECT_THAT(text, HasSubstr("without closing this capture"));
    EXPECT_THAT(projection_notes(project(data)), HasSubstr("of 2 operations no launch was seen"));
}

TEST(ReportText, SaysWhatWasNotToBeRecorded) {
    const auto note = [](const char* list) {
        timeline data;
        data.quality.ended = true;
        data.properties["activities"] = list;
        EXPECT_TRUE(parse_activities(list, data.activities));
        return capture_notes_text(data);
    };
    EXPECT_EQ(note("all"), "");
    EXPECT_EQ(note("kernels,sets,waits,allocations,graph_nodes"),
              "note: not recorded: copies (activities=kernels,sets,waits,allocations,graph_nodes)\n");
    EXPECT_EQ(note("all,no_launches"),
              "note: not recorded: launches, graph_nodes (activities=all,no_launches); so GPU work is in no range\n");
    EXPECT_EQ(note("kernels,copies"),
              "note: not recorded: sets, waits, allocations, graph_nodes (activities=kernels,copies); times of waiting "
              "are those of the calls that were recorded\n");
    EXPECT_EQ(note("none"),
              "note: not recorded: kernels, copies, sets, launches, waits, allocations, graph_nodes "
              "(activities=none)\n");
}

TEST(ReportTable, KeepsTheContractOfItsColumns) {
    table of{"mine", "A heading", {}, {}, {{"total_ns", std::int64_t{5}}}};
    of.columns = {{"name", "name"},
                  {"symbol", ""},
                  {"Time (%)", "Time", quantity::percent, 0, 1},
                  {"Avg (ns)", "Avg", quantity::time_ns, 0, 1},
                  {"share", "%", quantity::share},
                  {"count", "count", quantity::count},
                  {"pid", "pid", quantity::identity},
                  {"bytes", "bytes", quantity::bytes},
                  {"none", "none", quantity::time_ns}};
    of.rows.push_back({std::string("a,b"), std::string("s"), 12.345, 1234.56, 0.25, std::uint64_t{12'345}, 4711,
                       std::uint64_t{2'500'000}, table_cell{}});
    EXPECT_EQ(table_csv_header(of, true), "capture,name,symbol,Time (%),Avg (ns),share,count,pid,bytes,none\r\n");
    EXPECT_EQ(table_csv("c", of, true), "c,\"a,b\",s,12.3,1234.6,0.25,12345,4711,2500000,\r\n");
    EXPECT_EQ(table_csv("c", of, false), "\"a,b\",s,12.3,1234.6,0.25,12345,4711,2500000,\r\n");
    const auto json = nlohmann::json::parse(table_json("c", timeline{}, of).dump());
    EXPECT_EQ(json["report"], "mine");
    EXPECT_EQ(json["total_ns"], 5);
    EXPECT_EQ(json["rows"][0]["Time (%)"], 12.345) << "JSON has what CSV rounds";
    EXPECT_EQ(json["rows"][0]["bytes"], 2'500'000);
    EXPECT_TRUE(json["rows"][0]["none"].is_null());
    EXPECT_EQ(table_text(of, {}),
              "A heading, in us\n\n"
              "name    Time    Avg       %   count   pid    bytes  none\n"
              "----  ------  -----  ------  ------  ----  -------  ----\n"
              "a,b   12.3 %  1.235  25.0 %  12,345  4711  2.50 MB     -\n");
}

// Kernels, ranges and domains with names that are anything: each comes back from every format.
TEST(ReportTable, SurvivesHostileNames) {
    const std::string range_name = hostile_name.substr(0, hostile_name.find('\0')) + '!';
    capture_builder capture;
    const std::uint16_t domain = capture.domain(range_name);
    capture.thread("main").push(1, range_name, domain).launch(2, 1).pop(5, domain);
    capture.kernel(1, 10, 20, {}, range_name);
    const timeline data = capture.build();
    const auto quoted = [](const std::string& text) {
        std::string out = "\"";
        for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
        return out + "\"";
    };
    const std::string in_domain = range_name + ":" + range_name;
    for (const std::string name : {"nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "nvtx_kern_sum", "nvtx_pushpop_sum",
                                   "cuda_gpu_kern_sum", "cuda_kern_exec_sum", "kernels"}) {
        SCOPED_TRACE(name);
        const table of = report(name, data);
        ASSERT_EQ(of.rows.size(), 1U);
        const bool has_range = name.starts_with("nvtx");
        const bool has_kernel = name.find("gpu_proj") == std::string::npos && name != "nvtx_pushpop_sum";
        const std::string csv = table_csv("x", of, false);
        if (has_range) {
            EXPECT_THAT(csv, HasSubstr(quoted(in_domain)));
        }
        if (has_kernel) {
            EXPECT_THAT(csv, HasSubstr(quoted(range_name)));
        }
        const auto row = nlohmann::json::parse(table_json("x", data, of).dump())["rows"][0];
        std::vector<std::string> texts;
        for (const auto& value : row) {
            if (value.is_string()) texts.push_back(original_bytes(value.get<std::string>()));
        }
        if (has_range) {
            EXPECT_THAT(texts, testing::Contains(in_domain));
        }
        if (has_kernel) {
            EXPECT_THAT(texts, testing::Contains(range_name));
        }
        text_layout wide;
        wide.width = 10'000;
        const std::string text = table_text(of, wide);
        EXPECT_THAT(text, HasSubstr(terminal_safe(has_range ? in_domain : range_name)));
        EXPECT_EQ(lines_of(text).size(), 5U) << "no name breaks a line";
    }
}

TEST(TextTable, SharesTheRoomAmongNames) {
    text_table table({{"one", 0, true}, {"n", 0}, {"two", 0, true}, {"three", 0, true}});
    table.add_row({std::string(100, 'a'), "1", "short", std::string(100, 'b')});
    // 5 for the short one, 1 for the number, 6 between: 68 are left for two.
    for (const std::string& line : lines_of(table.render(80))) EXPECT_LE(line.size(), 80U + 4U);
    EXPECT_EQ(display_width(lines_of(table.render(80))[1]), 80U);
    EXPECT_THAT(lines_of(table.render(80))[2], HasSubstr("  1  short  "));
}

TEST(TextTable, DropsTheLeastImportantColumnsFirst) {
    text_table table({{"name", 0, true}, {"must", 0}, {"may", 1}, {"might", 2}});
    table.add_row({"a long name that takes room", "1", "2", "3"});
    EXPECT_EQ(lines_of(table.render(100))[0], "name                         must  may  might");
    EXPECT_EQ(lines_of(table.render(40))[0], "name                         must  may");
    EXPECT_EQ(lines_of(table.render(36))[2], "a long name that takes room     1");
    EXPECT_EQ(lines_of(table.render(30))[2], "a long name that…es room     1");
}

TEST(TextTable, CutsNamesInTheMiddleAndBetweenLetters) {
    EXPECT_EQ(shortened("abcdefghij", 7), "abcd…ij");
    EXPECT_EQ(shortened("äöüßäöüß", 5), "äöü…ß");
    EXPECT_EQ(shortened("short", 5), "short");
}

TEST(TextTable, FormatsForReading) {
    EXPECT_EQ(with_thousands(999), "999");
    EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
    EXPECT_EQ(time_unit::for_largest(9'999'999).format(1'234'567), "1,234.567");
    EXPECT_EQ(time_unit::for_largest(10'000'000).format(1'234'567'891.0), "1,234.568");
    EXPECT_EQ(time_unit::for_largest(1'000'000'000'000).format(1e12), "1,000.000");
}

}  // namespace
}  // namespace prof
