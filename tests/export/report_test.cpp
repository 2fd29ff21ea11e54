// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/json_text.hpp"
#include "export/chrome/trace_names.hpp"
#include "export/example_captures.hpp"
#include "export/lines_of.hpp"
#include "export/rendered.hpp"
#include "export/report/text_table.hpp"
#include "report/makers.hpp"

namespace prof::report_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string line_with(const std::string& text, const std::string& word) {
    for (const std::string& line : lines_of(text)) {
        if (line.find(word) != std::string::npos) return line;
    }
    return {};
}

table report(std::string_view name, const timeline& data) {
    const report_part made = find_report(name)->make(
        {.data = data, .names = kernel_name_style::full, .hidden = {}, .call_name = call_names(data)});
    return *block_in<table>(made);
}

TEST(ReportJson, HasTheKeysOfTheContract) {
    const timeline data = eventful_capture();
    const auto json = nlohmann::json::parse(projection_json("run.prof", data, {}, project(data)).dump());
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

// Two steps of a run of 40, one drawn among the first 20 and one among the last: 20 and 100 ns on the GPU.
TEST(ReportJson, HasTheEstimatesOfSteps) {
    capture_builder capture;
    const auto step = [&, own = capture.domain("prof")](std::uint64_t ns, std::uint64_t number) {
        return record{.ticks = ns,
                      .value = number,
                      .name = capture.name("step"),
                      .domain = own,
                      .kind = record_kind::mark,
                      .flags = static_cast<std::uint8_t>(payload_type::u64)};
    };
    capture.parts().properties["steps"] = "40";
    capture.parts().windows[1] = {.epoch = 1,
                                  .begin_ticks = 100,
                                  .end_ticks = 200,
                                  .first_step = 5,
                                  .last_step = 5,
                                  .drawn_first = 0,
                                  .drawn_among = 20,
                                  .ends_with_step = 1};
    capture.parts().windows[2] = {.epoch = 2,
                                  .begin_ticks = 300,
                                  .end_ticks = 400,
                                  .first_step = 30,
                                  .last_step = 30,
                                  .drawn_first = 20,
                                  .drawn_among = 20,
                                  .ends_with_step = 1};
    capture.thread("main")
        .add(step(100, 5))
        .push(110, "forward")
        .launch(120, 1)
        .pop(130)
        .add({.ticks = 300, .value = 2, .kind = record_kind::window})
        .add(step(301, 30))
        .push(310, "forward")
        .launch(320, 2)
        .pop(330);
    capture.kernel(1, 1000, 1020).kernel(2, 2000, 2100);
    const timeline data = capture.build();
    const auto json = nlohmann::json::parse(table_json("run.prof", data, report("steps", data)).dump());
    EXPECT_EQ(json["captured_steps"], 2);
    EXPECT_EQ(json["windows"], 2);
    EXPECT_EQ(json["steps"], 40);
    EXPECT_EQ(json["stood_for"], 40);
    ASSERT_EQ(json["rows"].size(), 2U);
    // Successive differences: s^2 is (100 - 20)^2 / 2; half of the steps each, one of 20 taken; Student's t of one
    // degree.
    const double half_width = 12.7062 * std::sqrt(2 * 0.25 * (1 - 1 / 20.0) * 3200);
    EXPECT_EQ(json["rows"][0]["path"], "forward");
    EXPECT_EQ(json["rows"][0]["instances"], 1.0);
    EXPECT_EQ(json["rows"][0]["instances_half_width"], 0.0);
    EXPECT_EQ(json["rows"][1]["path"], "all GPU work");
    EXPECT_TRUE(json["rows"][1]["instances"].is_null());
    for (const auto& row : json["rows"]) {
        EXPECT_DOUBLE_EQ(row["gpu_ns"], 60);
        EXPECT_NEAR(row["half_width_ns"], half_width, 0.01);
    }
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

// Without GPU work the table is of host times: no column, row or total of zeros.
TEST(ReportText, IsOfHostTimesWithoutGpuWork) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "step").push(1'000, "load").pop(3'000).push(4'000, "load").pop(9'000).pop(10'000);
    const timeline data = capture.build();
    EXPECT_EQ(projection_text(project(data), {}),
              "Host time by range, in us\n"
              "\n"
              "range   count   total   self    each     min  median     max\n"
              "------  -----  ------  -----  ------  ------  ------  ------\n"
              "step        1  10.000  3.000  10.000  10.000  10.000  10.000\n"
              "  load      2   7.000  7.000   3.500   2.000   3.500   5.000\n"
              "\n"
              "total: time between begin and end. self: without the ranges directly inside, on\n"
              "the same thread. min to max: of one instance.\n");
    EXPECT_EQ(projection_json("x", data, {}, project(data))["rows"][1]["host_median_ns"], 3500);
    EXPECT_EQ(projection_json("x", data, {}, project(data))["rows"].size(), 5U) << "programs get all rows";
    EXPECT_EQ(projection_text(project({}), {}), "Host time by range: no range was recorded\n");
    people_layout layout;
    layout.rows = 1;
    EXPECT_THAT(projection_notes(project(data), layout), HasSubstr("rows with less host time are left out"));
}

// A wait without a recorded operation is host time that has no range.
TEST(ReportText, HasTheWaitsOfACaptureWithoutGpuWork) {
    projection projected;
    projected.rows.emplace_back().path = "step";
    projected.rows.back().instances = 1;
    projected.rows.emplace_back().path = "(no range)";
    projected.rows.back().kind = row_kind::no_range;
    projected.rows.back().wait_ns = 5'000;
    const std::string text = projection_text(projected, {});
    EXPECT_THAT(line_with(text, "median"), EndsWith("GPU waits"));
    EXPECT_THAT(line_with(text, "(no range)"), EndsWith("5.000"));
}

TEST(Reports, MarkCapturedRows) {
    const timeline data = graph_capture();
    projection projected = project(data);
    const std::string text = projection_text(projected, {});
    EXPECT_THAT(line_with(text, "  forward (captured)"), HasSubstr(" 2      -  0.300"));
    EXPECT_THAT(text, HasSubstr("open when a CUDA graph was captured"));
    EXPECT_THAT(projection_csv("x", projected), HasSubstr("x,captured,step #/backward,1,2,0,600,600,"));
    const auto parsed = nlohmann::json::parse(projection_json("x", data, {}, projected).dump());
    for (const auto& row : parsed["rows"]) {
        EXPECT_EQ(row["captured"], row["path"] == "step #/forward" || row["path"] == "step #/backward") << row;
    }
    EXPECT_EQ(parsed["ops_of_unseen_captures"], 0);
    EXPECT_EQ(projection_notes(projected, {}), "");
    projected.ops_of_unseen_captures = 1234;
    projected.ops_of_ambiguous_captures = 5;
    EXPECT_THAT(projection_notes(projected, {}),
                HasSubstr("note: 1,234 operations of graph replays whose capture was not seen\n"));
    EXPECT_THAT(projection_notes(projected, {}), HasSubstr("note: 5 operations of graph replays were captured by"));
    EXPECT_THAT(projection_text(project(hta_capture()), {}), Not(HasSubstr("captured")));
}

TEST(ReportJson, HasTheNotesOfATable) {
    table noted = report("kernels", {});
    noted.notes = {"some were left out \xff"};
    EXPECT_EQ(table_json("x", {}, noted)["notes"].back(), "some were left out \\xFF");
}

TEST(ReportText, MarksRowsWhereFoldingMergedDifferentNames) {
    projection projected;
    EXPECT_EQ(projection_notes(projected, {}), "");
    for (const char* path : {"step #", "step #/conv#", "step #/a\\/b #", "x #", "y #"}) {
        projected.rows.emplace_back().path = path;
        projected.rows.back().merged_names = projected.rows.size() == 1 ? 0 : 2;
    }
    EXPECT_EQ(
        projection_notes(projected, {}),
        "note: names that recur and differ in a number only are one row: conv# (2 names), a/b # (2 names), x # (2 "
        "names) and 1 more; --fold none keeps them apart\n");
    EXPECT_EQ(projection_json("x", {}, {}, projected)["rows"][1]["merged_names"], 2);
    EXPECT_EQ(projection_json("x", {}, {}, projected)["fold"], "counters");
    projected.fold = {.mode = fold_mode::listed, .names = {"layer #", "\xff#"}};
    EXPECT_EQ(projection_json("x", {}, {}, projected)["fold"], "layer #,\\xFF#");
}

// Rows whose names look alike: a fixed one and a range called so; a range whose name has a domain in it and one of that
// domain; a captured range and one whose name ends in what text adds to captured ones.
TEST(Reports, DistinguishRowsInEachFormat) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "x").node(3, 77).pop(4).push(5, "(no range)").pop(6).push(7, "NCCL:y").pop(8);
    main.push(9, "y", nccl).pop(10, nccl).push(11, "x (captured)").pop(12).launch(13, 1, "");
    main.start(20, "(no range)", 1).end(21, 1);
    capture.kernel(1, 100, 110, {.graph_node = 77});
    const timeline data = capture.build();
    const projection projected = project(data);

    const auto json = nlohmann::json::parse(projection_json("c", data, {}, projected).dump());
    std::vector<std::string> rows;
    for (const char* list : {"rows", "process_ranges"}) {
        for (const auto& row : json[list]) {
            rows.push_back(row["type"].get<std::string>() + ',' + row["path"].get<std::string>());
        }
    }
    EXPECT_THAT(rows,
                testing::ElementsAre("push_pop,x", "push_pop,\\(no range)", "push_pop,NCCL\\:y", "push_pop,NCCL:y",
                                     "push_pop,x (captured)", "captured,x", "no_range,(no range)",
                                     "ambiguous,(ambiguous)", "unmatched,(unmatched)", "start_end,\\(no range)"));

    const auto csv = lines_of(projection_csv("c", projected), "\r\n");
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_THAT(csv.at(i), StartsWith("c," + rows[i] + ','));

    const auto text = lines_of(projection_text(projected, {}));
    const std::vector<std::string> shown = {
        "x  ", "\\(no range)  ", "NCCL\\:y  ", "NCCL:y  ", "x \\(captured)  ", "x (captured)  ", "(no range)  "};
    for (const std::string& name : shown) {
        EXPECT_EQ(
            std::count_if(text.begin(), text.end(), [&](const std::string& line) { return line.starts_with(name); }),
            name == "\\(no range)  " ? 2 : 1)
            << name;
    }
}

// hta_capture: of backward's 250 us 150 are NCCL's kernel.
TEST(ReportText, HasColumnsForWaitsCommunicationAndBytesIfAny) {
    projection projected = project(hta_capture());
    people_layout layout;
    layout.width = 200;
    layout.legend = false;
    std::string text = projection_text(projected, layout);
    EXPECT_THAT(line_with(text, "GPU/each"), HasSubstr("stddev     comm"));
    EXPECT_THAT(line_with(text, "backward"), HasSubstr("150.000"));
    EXPECT_THAT(line_with(text, "all GPU work"), EndsWith("150.000"));

    for (projection_row& row : projected.rows) row.communication_ns = 0;
    projected.rows[0].wait_ns = 7'000;
    projected.rows[0].payload_bytes = 4'000'000;
    projected.wait_ns = 9'000;
    text = projection_text(projected, layout);
    EXPECT_THAT(line_with(text, "GPU/each"), HasSubstr("GPU waits    bytes"));
    EXPECT_THAT(line_with(text, "forward"), HasSubstr("7.000  4.00 MB"));
    EXPECT_THAT(line_with(text, "all GPU work"), HasSubstr("9.000"));
    const timeline data = hta_capture();
    EXPECT_THAT(line_with(table_text(kernels_report({.data = data}), layout), "ncclKernel"), EndsWith("communication"));
}

TEST(ReportJson, HasWaitsCommunicationAndBytes) {
    projection projected = project(hta_capture());
    projected.rows[0].wait_ns = 7;
    projected.rows[0].payload_bytes = 8;
    projected.wait_ns = 9;
    const auto json = projection_json("x", hta_capture(), {}, projected);
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

// Two steps of 12 and 13 ms; parts of a step: 3.9, 6.8 and 1.03 ms, and 0.27 in none; 0.05 of them at the same time.
step_figures two_steps() {
    return {
        .steps = 2,
        .source = step_source::observed,
        .witness = 1,
        .total_ns = 25'000'000,
        .median_ns = 12'400'000,
        .min_ns = 12'000'000,
        .max_ns = 13'000'000,
        .host_median_ns = 11'500'000,
        .host_ns = 23'000'000,
        .has_gpu = true,
        .gpu_sum_ns = 24'000'000,
        .gpu_busy_ns = 23'900'000,
        .ops = 40,
        .devices = 1,
        .parts = {
            {"backward", 13'600'000, 20}, {"forward", 7'800'000, 12}, {"optimizer", 2'060'000, 4}, {"", 540'000, 4}}};
}

TEST(ReportJson, HasTheFiguresOfAStep) {
    const timeline data = hta_capture();
    auto json = projection_json("x", data, two_steps(), project(data))["step"];
    EXPECT_EQ(json["steps"], 2);
    EXPECT_EQ(json["source"], "observed");
    EXPECT_EQ(json["ended_by"], "optimizers");
    EXPECT_EQ(json["is_first"], false);
    EXPECT_EQ(json["mean_ns"], 12'500'000.0);
    EXPECT_EQ(json["median_ns"], 12'400'000.0);
    EXPECT_EQ(json["min_ns"], 12'000'000);
    EXPECT_EQ(json["max_ns"], 13'000'000);
    EXPECT_EQ(json["total_ns"], 25'000'000);
    EXPECT_EQ(json["host_median_ns"], 11'500'000.0);
    EXPECT_EQ(json["host_ns"], 23'000'000);
    EXPECT_EQ(json["gpu_sum_ns"], 24'000'000);
    EXPECT_EQ(json["gpu_busy_ns"], 23'900'000);
    EXPECT_EQ(json["ops"], 40);
    EXPECT_EQ(json["devices"], 1);
    EXPECT_EQ(json["parts"][1].dump(), R"({"phase":"forward","gpu_sum_ns":7800000,"ops":12})");
    EXPECT_TRUE(json["parts"][3]["phase"].is_null());
    json = projection_json("x", data, step_figures{.steps = 1, .parts = {}}, project(data))["step"];
    EXPECT_TRUE(json["gpu_sum_ns"].is_null());
    EXPECT_TRUE(json["ended_by"].is_null());
    EXPECT_TRUE(projection_json("x", data, {}, project(data))["step"].is_null());
}

TEST(ReportText, FoldsRowsThatDoNotFit) {
    projection projected;
    const auto add = [&](const std::string& path, std::uint32_t parent, std::int64_t sum_ns, std::int64_t self_ns) {
        projection_row& row = projected.rows.emplace_back();
        row.path = path;
        row.parent = parent;
        row.depth = parent == npos ? 0 : projected.rows[parent].depth + 1;
        row.instances = 10;
        row.host_ns = 4000;
        row.gpu_sum_ns = sum_ns;
        row.gpu_self_ns = self_ns;
        row.self_ops = row.ops = 1000;
        row.merged_names = path.ends_with('#') ? 2 : 0;
    };
    add("step", npos, 9'000, 1'000);
    add("step/… 2 more rows", 0, 5'000, 5'000);
    add("step/layer #", 0, 2'000, 1'500);
    add("step/layer #/mlp", 2, 500, 500);
    add("step/loss", 0, 1'000, 1'000);
    projected.rows.emplace_back().kind = row_kind::no_range;
    projected.rows.back().path = "(no range)";
    projected.total_gpu_ns = 9'000;
    projected.total_ops = 9000;
    people_layout layout;
    layout.rows = 4;
    const std::string text = projection_text(projected, layout);
    EXPECT_THAT(line_with(text, "  \\… 2 more rows"), HasSubstr("5.000   55.6 %"));
    EXPECT_EQ(line_with(text, "  … 3 more rows"),
              "  … 3 more rows      30  8.000  3.000   33.3 %  3.000                                     3,000");
    EXPECT_EQ(line_with(text, "layer"), "");
    EXPECT_EQ(
        projection_notes(projected, layout),
        "note: 3 rows with less GPU time are left out, and \"… more rows\" have their sums; --rows all shows them\n"
        "note: names that recur and differ in a number only are one row: 1 that is left out above; --fold none keeps "
        "them apart\n");
    layout.rows = SIZE_MAX;
    EXPECT_THAT(projection_text(projected, layout), Not(HasSubstr("\n  … ")));
    EXPECT_THAT(projection_notes(projected, layout), Not(HasSubstr("left out")));
    EXPECT_THAT(projection_csv("x", projected), HasSubstr("step/layer #/mlp"));

    std::swap(projected.rows, projected.process_ranges);
    layout.rows = 2;
    EXPECT_THAT(projection_text(projected, layout), HasSubstr("\n… "));
    EXPECT_THAT(projection_notes(projected, layout), HasSubstr(" rows with less GPU time are left out"));
}

// What a budget leaves: an estimate for each range, in the summary only for the largest of them.
TEST(ReportText, HasNoMoreEstimatesThanRows) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    capture.parts().properties["steps"] = "100";
    thread_script& main = capture.thread("main");
    std::uint64_t ns = 0;
    std::uint64_t correlation = 0;
    for (std::uint64_t step = 1; step <= 3; ++step) {
        main.add({.ticks = ++ns,
                  .value = step,
                  .name = capture.name("step"),
                  .domain = own,
                  .kind = record_kind::mark,
                  .flags = static_cast<std::uint8_t>(payload_type::u64)});
        for (char name = 'a'; name <= 'z'; ++name) {
            main.push(ns + 1, std::string(2, name)).launch(ns + 2, ++correlation).pop(ns + 4);
            ns += 4;
            capture.kernel(correlation, 1000 * correlation, 1000 * correlation + static_cast<std::uint64_t>(name));
        }
    }
    const timeline data = capture.build();
    people_layout layout;
    layout.rows = 10;
    const std::string text = summary_text(data, layout);
    EXPECT_THAT(text, HasSubstr("\nStep  "));
    const auto estimates = lines_of(text.substr(text.find("GPU time a step")));
    EXPECT_EQ(
        std::count_if(estimates.begin(), estimates.end(),
                      [](const std::string& line) { return line.size() > 2 && line[0] == line[1] && line[2] == ' '; }),
        9);
    EXPECT_THAT(text, HasSubstr("17 rows with less GPU time are left out; --rows all shows them"));
    EXPECT_EQ(report("steps", data).rows.size(), 27U);
}

TEST(ReportText, FitsTheTerminal) {
    const timeline data = eventful_capture();
    for (const std::size_t width : {60U, 80U, 100U, 132U, 200U}) {
        people_layout layout;
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
    const std::string text = summary_text(data, {});
    EXPECT_TRUE(std::none_of(text.begin(), text.end(),
                             [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; }));
    EXPECT_THAT(text, HasSubstr("evil \"name\""));
}

TEST(ReportText, LeavesOutRowsThatAreTooDeep) {
    const timeline data = eventful_capture();
    people_layout layout;
    layout.deepest = 0;
    const std::string text = projection_text(project(data), layout);
    EXPECT_THAT(text, HasSubstr("iteration #"));
    EXPECT_EQ(line_with(text, "forward"), "");
}

TEST(ReportText, NamesMissingRecords) {
    timeline data = eventful_capture();
    data.quality.ended = false;
    data.properties["missing"] = "no libcupti was found: GPU work is not recorded";
    const std::string text = capture_notes_text(data);
    EXPECT_THAT(text, HasSubstr("lost: the rings were full; raise memory"));
    EXPECT_THAT(text, HasSubstr("\nno libcupti was found: GPU work is not recorded\n"));
    EXPECT_THAT(text, HasSubstr("without closing this capture"));
    EXPECT_THAT(projection_notes(project(data), {}), HasSubstr("of 2 operations no launch was seen"));
}

TEST(ReportText, NamesActivitiesThatWereSwitchedOff) {
    const auto note = [](const char* list) {
        timeline data;
        data.quality.ended = true;
        data.properties["activities"] = list;
        EXPECT_TRUE(parse_activities(list, data.activities));
        return notes_text({.capture = heading_of(data)});
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
        people_layout wide;
        wide.width = 10'000;
        wide.legend = false;
        const std::string text = table_text(of, wide);
        EXPECT_THAT(text, HasSubstr(terminal_safe(has_range ? in_domain : range_name)));
        EXPECT_EQ(lines_of(text).size(), of.sums.empty() ? 5U : 7U) << "no name breaks a line";
    }
}

}  // namespace
}  // namespace prof::report_test
