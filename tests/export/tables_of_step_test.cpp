// SPDX-License-Identifier: Apache-2.0
// Tables of one step: worked by hand, and by laws on the captures of real programs. What people see adds up as it is
// printed, and all GPU work of the run is in one row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "export/example_captures.hpp"
#include "export/rendered.hpp"
#include "export/report/cell_text.hpp"
#include "report/mean_step.hpp"
#include "support/capture_builder.hpp"
#include "timeline/load.hpp"

namespace prof::tables_of_step_test {
namespace {

namespace fs = std::filesystem;
constexpr cuda_function cu_launch_kernel{api_domain::driver, 307, api_class::launch};
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<const report_kind*> kinds_named(const std::vector<std::string>& names) {
    std::vector<const report_kind*> out;
    for (const std::string& name : names) out.push_back(find_report(name));
    return out;
}

report_document document_of(const timeline& data, std::vector<std::string> names, bool of_a_step = true,
                            selection_request selection = {}) {
    report_settings settings;
    settings.of_a_step = of_a_step;
    settings.selection = std::move(selection);
    return shown_document(make_reports(data, "run.prof", settings, kinds_named(names)), {.rows = 40});
}

// The cells that people see, between bars; the sums come last.
std::vector<std::string> lines_of(const table& of) {
    std::vector<std::string> out;
    for (const auto* const rows : {&of.rows, &of.sums}) {
        for (const table_row& row : *rows) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (of.columns[i].title.empty()) continue;
                line += (line.empty() ? "" : "|") + cell_text(of.columns[i], row[i], unit_of(of));
            }
            out.push_back(line);
        }
    }
    return out;
}

std::vector<const table*> tables_of(const report_document& document) {
    std::vector<const table*> out;
    for (const report_part& part : document.parts) {
        for (const table* const each : tables_in(part)) {
            if (is_shown(*each)) out.push_back(each);
        }
    }
    return out;
}

// Start-up with a kernel of 30 us; a step that warms up, whose forward has one of 100 us; two that count, with forward
// (kernels of 10 and 20 us, of 20 and 22 us) and a copy of 5 us in none; 400 us in which an evaluation runs one of 7
// us; another step that counts, with forward (18 and 21 us); and one of 9 us at the end. Each step takes 1,000 us.
timeline program() {
    constexpr std::uint64_t us = 1000;
    capture_builder capture;
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    thread_script& main = capture.thread("main");
    std::uint32_t id = 0;
    const auto kernel = [&](std::uint64_t at, std::uint64_t length, const char* name) {
        const std::uint64_t key = correlation_key(1, ++id);
        main.call(at * us, (at + 1) * us, key, cu_launch_kernel, name);
        capture.kernel(key, (at + 2) * us, (at + 2 + length) * us, {}, name);
    };
    const auto step = [&](std::uint64_t at, std::uint64_t first, std::uint64_t second, bool has_other) {
        main.push(at * us, "step", phases).push((at + 10) * us, "forward", phases);
        kernel(at + 20, first, "gemm");
        if (second != 0) kernel(at + 200, second, "softmax");
        main.pop((at + 510) * us, phases);
        if (has_other) kernel(at + 700, 5, "scale");
        main.pop((at + 1000) * us, phases);
    };
    kernel(10, 30, "fill");
    step(1000, 100, 0, false);
    step(2000, 10, 20, true);
    step(3000, 20, 22, true);
    kernel(4100, 7, "evaluate");
    step(4400, 18, 21, true);
    step(5400, 50, 60, false);
    kernel(6500, 9, "save");
    return capture.build();
}

TEST(TablesOfStep, AreWorkedByHand) {
    const report_document document = document_of(program(), {"gpu-projection", "kernels"});
    const std::vector<const table*> tables = tables_of(document);
    ASSERT_EQ(tables.size(), 3U);
    // 10 + 20, 20 + 22, 18 + 21: 111 us in three steps; scale 5 in each.
    EXPECT_THAT(lines_of(*tables[0]),
                ElementsAre("step|1|1.000|0.042|4.2 %|0.005|0.042|3", "  forward|1|0.500|0.037|3.7 %|0.037|0.037|2",
                            "all GPU work|||0.042|4.2 %|0.042||3"));
    EXPECT_THAT(lines_of(*tables[2]),
                ElementsAre("softmax|2.1 %|1|0.021|0.020|0.021|0.022|0|compute",
                            "gemm|1.6 %|1|0.016|0.010|0.016|0.020|0|compute",
                            "scale|0.5 %|1|0.005|0.005|0.005|0.005|0|compute", "total|4.2 %|3|0.042|||||"));
    EXPECT_EQ(tables[1]->heading, "The whole run");
    const auto gpu_ns = [&](std::size_t row) { return std::get<std::int64_t>(tables[1]->rows[row][4].value); };
    std::map<std::string, std::int64_t> by_part;
    for (std::size_t i = 0; i < tables[1]->rows.size(); ++i) {
        by_part[std::get<std::string>(tables[1]->rows[i][0].value)] = gpu_ns(i);
    }
    const std::map<std::string, std::int64_t> expected = {
        {"start-up", 30'000}, {"warm-up", 100'000}, {"steps", 126'000}, {"between steps", 7'000}, {"end", 119'000}};
    EXPECT_EQ(by_part, expected);
}

TEST(TablesOfStep, AreOfTheStepsThatAreChosen) {
    const report_document document = document_of(program(), {"gpu-projection"}, true, {.steps = "2"});
    const std::vector<const table*> tables = tables_of(document);
    ASSERT_EQ(tables.size(), 1U);  // how the run divides is not of a part
    EXPECT_THAT(lines_of(*tables[0]), testing::Contains(HasSubstr("forward|1|0.500|0.042|4.2 %")));
}

TEST(TablesOfStep, AreOfTheWholeRunWhereThatIsWantedOrNoStepIsKnown) {
    const std::string whole = document_text(document_of(program(), {"gpu-projection"}, false), {});
    EXPECT_THAT(whole, HasSubstr("GPU time by range"));
    const std::string of_ranges =
        document_text(document_of(program(), {"gpu-projection"}, true, {.ranges = {"forward"}}), {});
    EXPECT_THAT(of_ranges, HasSubstr("GPU time by range"));
    capture_builder none;
    none.thread("main").push(0, "load").launch(10, 1).pop(20);
    none.kernel(1, 12, 18);
    EXPECT_THAT(document_text(document_of(none.build(), {"gpu-projection"}), {}), HasSubstr("GPU time by range"));
}

TEST(TablesOfStep, ForProgramsAreSumsInAnyCase) {
    const timeline data = program();
    const auto json = [&](bool of_a_step) {
        report_settings settings;
        settings.of_a_step = of_a_step;
        const report_document made = make_reports(data, "run.prof", settings, kinds_named({"kernels"}));
        return report_json(made.capture, made.parts.front());
    };
    EXPECT_EQ(json(false)["total_ns"], 30'000 + 100'000 + 126'000 + 7'000 + 119'000);
}

std::vector<fs::path> real_captures() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(fs::path(PROF_SOURCE_DIR) / "examples/captures")) {
        if (entry.path().extension() == ".prof") out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::int64_t ns_in(const table_cell& cell) {
    const auto* const ns = std::get_if<std::int64_t>(&cell.value);
    return ns == nullptr ? 0 : *ns;
}

std::size_t column_of(const table& of, const std::string& title) {
    for (std::size_t i = 0; i < of.columns.size(); ++i) {
        if (of.columns[i].title == title) return i;
    }
    return of.columns.size();
}

TEST(TablesOfStep, AddUpAsTheyArePrinted) {
    std::size_t checked = 0;
    for (const fs::path& path : real_captures()) {
        SCOPED_TRACE(path.string());
        const timeline data = load_timeline(path);
        if (data.ops.empty()) continue;
        const report_document document = document_of(data, {"gpu-projection", "kernels", "copies"});
        std::int64_t quantum_ns = 0;
        std::map<std::string, std::int64_t> totals;
        for (const table* const each : tables_of(document)) {
            if (each->heading == "The whole run") {
                std::int64_t gpu_ns = 0;
                for (const table_row& row : each->rows) gpu_ns += ns_in(row[4]);
                EXPECT_EQ(gpu_ns, project(data).total_gpu_ns);
                continue;
            }
            if (!each->step_ns) continue;
            quantum_ns = static_cast<std::int64_t>(unit_of(*each).ns / 1000);
            const std::size_t time =
                each->report == "gpu-projection" ? column_of(*each, "GPU") : column_of(*each, "time");
            if (time == each->columns.size()) continue;
            std::int64_t sum_ns = 0;
            for (const table_row& row : each->rows) {
                const std::string name = cell_text(each->columns[0], row[0], unit_of(*each));
                EXPECT_EQ(ns_in(row[time]) % quantum_ns, 0) << name;
                if (!name.starts_with("  ")) sum_ns += ns_in(row[time]);
            }
            EXPECT_EQ(sum_ns, ns_in(each->sums.front()[time])) << each->heading;
            totals[each->report] = sum_ns;
            ++checked;
        }
        if (totals.contains("gpu-projection")) {
            EXPECT_NEAR(static_cast<double>(totals["gpu-projection"]),
                        static_cast<double>(totals["kernels"] + totals["copies"]),
                        1.5 * static_cast<double>(quantum_ns));
        }
    }
    EXPECT_GE(checked, 4U);
}

// Children and what is outside of them are the row above, in printed numbers.
TEST(TablesOfStep, HaveRowsThatConsistOfThoseBelow) {
    std::size_t checked = 0;
    for (const fs::path& path : real_captures()) {
        SCOPED_TRACE(path.string());
        const timeline data = load_timeline(path);
        report_settings settings;
        settings.of_a_step = true;
        const report_document document = make_reports(data, "run.prof", settings, kinds_named({"gpu-projection"}));
        const table& ranges = *block_in<table>(document.parts.front());
        const std::size_t gpu = column_of(ranges, "GPU");
        if (!ranges.step_ns || gpu == ranges.columns.size()) continue;
        const std::size_t self = column_of(ranges, "self");
        const auto depth_of = [&](std::size_t row) {
            const auto& name = std::get<std::string>(ranges.rows[row][0].value);
            return name.find_first_not_of(' ') / 2;
        };
        for (std::size_t i = 0; i < ranges.rows.size(); ++i) {
            std::int64_t sum_ns = ns_in(ranges.rows[i][self]);
            for (std::size_t k = i + 1; k < ranges.rows.size() && depth_of(k) > depth_of(i); ++k) {
                if (depth_of(k) == depth_of(i) + 1) sum_ns += ns_in(ranges.rows[k][gpu]);
            }
            EXPECT_EQ(sum_ns, ns_in(ranges.rows[i][gpu])) << i;
            ++checked;
        }
    }
    EXPECT_GE(checked, 10U);
}

}  // namespace
}  // namespace prof::tables_of_step_test
