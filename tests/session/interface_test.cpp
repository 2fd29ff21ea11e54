// SPDX-License-Identifier: Apache-2.0
// What crosses libprof.so's border: rows of the summary, and messages in NVTX's payloads (interface_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;

struct Interface : testing::Test, profiled_program {
    std::string preloaded;

    process_result run(const std::string& scene, const std::string& autostart, const char* clock = "virtual") const {
        return profiled_program::run(
            {scene}, {{"PROF_AUTOSTART", autostart}, {"FAKE_GPU_CLOCK", clock}, {"LD_PRELOAD", preloaded}});
    }
};

using cells = std::vector<std::string>;

std::vector<cells> read_cells(const std::string& text) {
    std::vector<cells> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        cells& row = out.emplace_back();
        std::istringstream stream(line);
        for (std::string cell; std::getline(stream, cell, ';');) row.push_back(cell);
    }
    return out;
}

cells as_cells(const projection_row& r) {
    cells out = {r.path};
    const auto add = [&](auto value) { out.push_back(std::to_string(value)); };
    add(r.depth);
    add(r.is_captured ? 1 : 0);
    add(r.instances);
    for (const std::int64_t ns :
         {r.host_ns, r.gpu_sum_ns, r.gpu_self_ns, r.gpu_child_ns, r.gpu_busy_ns, r.gpu_span_ns}) {
        add(ns);
    }
    add(r.ops);
    add(r.self_ops);
    add(r.adopted_ops);
    for (const std::int64_t ns : {r.adopted_ns, r.communication_ns, r.wait_ns}) add(ns);
    add(r.payload_bytes);
    add(r.is_observed ? 2 : r.kind == row_kind::range ? 1 : 2 + static_cast<int>(r.kind));
    add(r.parent == npos ? -1 : static_cast<int>(r.parent));
    out.push_back(r.name);
    return out;
}

TEST_F(Interface, GivesTheRowsOfTheSummary) {
    const process_result result = run("summary", "0");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    EXPECT_EQ(result.err, "");
    const projection p = project(only_capture());
    const std::vector<cells> printed = read_cells(result.out);
    ASSERT_EQ(printed.size(), p.rows.size());
    for (std::size_t i = 0; i < printed.size(); ++i) {
        cells expected = as_cells(p.rows[i]);
        ASSERT_EQ(printed[i].size(), expected.size());
        // Times of the host are read while the recording runs, when its clock is known from fewer readings.
        for (const std::size_t host : {4U, 15U}) {
            const double later = std::stod(expected[host]);
            EXPECT_NEAR(std::stod(printed[i][host]), later, 0.02 * later) << printed[i][0] << ", column " << host;
            expected[host] = printed[i][host];
        }
        EXPECT_EQ(printed[i], expected);
    }

    // The first row by hand: two kernels of its own and three of autograd's thread, one in the range inside.
    const projection_row& first = p.rows.front();
    EXPECT_EQ(first.gpu_self_ns, 4 * 30'000 + 20'000);
    EXPECT_EQ(first.gpu_child_ns, 20'000);
    EXPECT_EQ(first.communication_ns, 40'000);
    EXPECT_EQ(first.adopted_ns, 90'000);
    EXPECT_EQ((std::vector<std::uint64_t>{first.ops, first.self_ops, first.adopted_ops}),
              (std::vector<std::uint64_t>{6, 5, 3}));
    EXPECT_EQ(first.payload_bytes, 7'000'000U);
    EXPECT_GT(first.wait_ns, 0);
    EXPECT_EQ(std::count_if(p.rows.begin(), p.rows.end(), [](const projection_row& r) { return r.is_captured; }), 1);
}

TEST_F(Interface, GivesAnEmptySummaryOfNothing) {
    const process_result result = run("empty", "0");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    EXPECT_EQ(result.err, "");
    const std::string special = "(no range);3;0\n(ambiguous);4;0\n(unmatched);5;0\n";
    EXPECT_EQ(result.out, special + special);
    EXPECT_TRUE(scratch.files(".prof").empty());
}

// The command makes the exports. The program gets the reason from its call, and one line at its end.
TEST_F(Interface, DoesNotReadBackALargeCapture) {
    const process_result result = run("large", "0");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    if (result.out.starts_with("no room")) GTEST_SKIP() << "no disk for a large capture";
    const auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(result.out, "no summary is made in the program of " + found.front() +
                              ": it has 300 MB; `prof report` makes one from it\n");
    EXPECT_EQ(result.err, "libprof: " + found.front() + ": exports are skipped inside the program: it has 300 MB; " +
                              "`prof export` and `prof report` make them\n");
    EXPECT_TRUE(scratch.files(".gz").empty() && scratch.files(".txt").empty());
    EXPECT_TRUE(only_capture().quality.ended);
}

// A library in front of getauxval stands in for the kernel.
TEST_F(Interface, DoesNothingInASetUserIdProgram) {
    preloaded = PROF_TEST_MORE_RIGHTS;
    const process_result result = run("more-rights", "1");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    EXPECT_EQ(result.out, "a set-user-id program, or one whose file has capabilities, is not recorded\n");
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(scratch.entry_count(), 0U);
}

TEST_F(Interface, RefusesToStartWithoutAWritableDirectory) {
    std::ofstream(scratch.path + "/file") << "mine";
    std::filesystem::create_directory_symlink("/proc/self", scratch.path + "/read-only");
    const process_result result = run("place", "0");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out,
              "cannot make captures in file: Not a directory\n"
              "cannot make the directory file/below: Not a directory\n"
              "cannot make the directory read-only/below: No such file or directory\n");
    EXPECT_EQ(only_capture().ranges.size(), 1U);
    EXPECT_EQ(read_file(scratch.path + "/file"), "mine");
}

// Of steps 0 to 11, of which 2, 5, 8 and 11 were captured, each in a window of its own: forward took 20, 40, 60 and 80
// us there and 4 us in the range inside. Each window stands for three steps. Neighbours differ by 20 us, so each varies
// by 200 us^2; variance 4 (1/4)^2 200 (1 - 1/3) = 100/3 us^2, with 2 3^2 / (3 3 - 1) = 2.25 degrees of freedom, for
// which t is 3.875480. What is the same in each step varies by nothing. The range part was open in step 2, where a
// graph of 4 us was captured that each of these steps launches.
TEST_F(Interface, GivesEstimatesOfStepCosts) {
    // The GPU's clock must stand in line with the host's through four windows, as it does where both are real.
    const process_result result = run("steps", "0", "");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    EXPECT_EQ(result.err, "");
    const std::vector<cells> printed = read_cells(result.out);
    ASSERT_EQ(printed.size(), 3U * 6);
    // One window tells nothing of the others.
    EXPECT_EQ(printed[0], (cells{"1", "1", "4", "0", "32000.000000", "none"}));
    EXPECT_EQ(printed[1], (cells{"forward", "0", "0", "24000.000000", "none", "1.000000", "none"}));
    const double half_width = 3.875480 * 1000 * std::sqrt(100.0 / 3);
    for (const std::size_t at : {6U, 12U}) {  // while it records, and when it has stopped
        EXPECT_EQ((cells{printed[at].begin(), printed[at].begin() + 5}), (cells{"4", "4", "12", "0", "62000.000000"}));
        EXPECT_NEAR(std::stod(printed[at][5]), half_width, 0.01);
        EXPECT_EQ((cells{printed[at + 1].begin(), printed[at + 1].begin() + 4}),
                  (cells{"forward", "0", "0", "54000.000000"}));
        EXPECT_NEAR(std::stod(printed[at + 1][4]), half_width, 0.01);
        EXPECT_EQ(printed[at + 1][5], "1.000000");
        EXPECT_EQ(printed[at + 1][6], "0.000000");
        const cells same_in_each = {"4000.000000", "0.000000", "1.000000", "0.000000"};
        const auto row = [&](const char* path, const char* depth, const char* captured) {
            cells out = {path, depth, captured};
            out.insert(out.end(), same_in_each.begin(), same_in_each.end());
            return out;
        };
        EXPECT_EQ(printed[at + 2], row("forward/norm", "1", "0"));
        EXPECT_EQ((cells{printed[at + 3].begin(), printed[at + 3].begin() + 6}),
                  (cells{"part", "0", "0", "0.000000", "0.000000", "0.250000"}));
        EXPECT_EQ(printed[at + 4], row("part", "0", "1"));
        EXPECT_EQ(printed[at + 5], (cells{"(no range)", "0", "0", "4000.000000", "0.000000", "0.000000", "0.000000"}));
    }
}

TEST_F(Interface, NamesRangesByTheMessageInTheirPayload) {
    const process_result result = run("messages", "1");
    ASSERT_EQ(result.exit_code(), 0) << result.err;
    const timeline data = only_capture();
    EXPECT_TRUE(data.quality.dropped.empty());
    std::vector<std::string> names;
    for (const timeline_range& range : data.ranges) {
        if (range.name != 0) names.emplace_back(data.name(range.name));
    }
    EXPECT_THAT(names,
                ElementsAre("char pointer", "flagged pointer", "eight of", "characters", "no zero!!", "in an array",
                            "in an", "registered", "everywhere", "the event's own", "everywhere"));
    EXPECT_EQ(data.ranges.size() - names.size(), 9U);
    ASSERT_EQ(data.marks.size(), 1U);
    EXPECT_EQ(data.name(data.marks.front().name), "everywhere");
    // Fields after a text are found where they are.
    EXPECT_EQ(std::count_if(data.ranges.begin(), data.ranges.end(),
                            [](const timeline_range& range) { return range.payload == 4711; }),
              4);
}

}  // namespace
}  // namespace prof::test
