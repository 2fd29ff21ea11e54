// SPDX-License-Identifier: Apache-2.0
// Recordings of a part of what a program does on the GPU. The trainer's step has 9 kernels, a copy and a set
// (plain_victim.cpp); its names say to which range each kernel belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

constexpr int steps = 5;

struct SessionActivities : testing::Test, profiled_program {
    process_result run(const std::string& activities, std::vector<std::string> words,
                       const std::string& cupti = PROF_TEST_FAKE_CUPTI) const {
        words.insert(words.begin(), {"steps", std::to_string(steps)});
        return profiled_program::run(words, {{"PROF_CUPTI_LIBRARY", cupti}, {"PROF_ACTIVITIES", activities}});
    }
    // Of a run that has to leave the program as it is, and nothing lost.
    timeline recorded(const std::string& activities, std::vector<std::string> words = {}) const {
        for (const std::string& old : scratch.files(".prof")) std::filesystem::remove(old);
        const process_result result = run(activities, std::move(words));
        EXPECT_EQ(result.exit_code(), 3) << activities;
        EXPECT_EQ(result.err, "") << activities;
        SCOPED_TRACE(activities);
        timeline data = only_capture();
        EXPECT_TRUE(data.quality.dropped.empty()) << activities;
        EXPECT_EQ(data.quality.launches_without_completion, 0U) << activities;
        EXPECT_EQ(data.ranges.empty(), false) << activities;
        return data;
    }
};

std::vector<std::int64_t> counts_by_kind(const timeline& data) {
    const auto ops = [&](op_kind kind) {
        return std::count_if(data.ops.begin(), data.ops.end(), [=](const gpu_op& op) { return op.kind == kind; });
    };
    const auto calls = [&](std::initializer_list<api_class> kinds) {
        return std::count_if(data.api_calls.begin(), data.api_calls.end(), [=](const timeline_api_call& call) {
            return std::find(kinds.begin(), kinds.end(), call.kind) != kinds.end();
        });
    };
    return {ops(op_kind::kernel),     ops(op_kind::memcpy),
            ops(op_kind::memset),     calls({api_class::launch}),
            calls({api_class::wait}), calls({api_class::allocation, api_class::blocking_allocation})};
}

TEST_F(SessionActivities, AreRecordedAsChosen) {
    struct expectation {
        const char* activities;
        std::vector<std::int64_t> counts;  // kernels, copies, sets; launches, waits, allocations
    };
    // A stream and a device are waited for at the end; one block of memory is allocated. Copies and sets are launched
    // by calls of one kind.
    const expectation expected[] = {
        {"all", {9 * steps, steps, steps, 11 * steps, 2, 1}},
        {"kernels", {9 * steps, 0, 0, 9 * steps, 0, 0}},
        {"copies", {0, steps, 0, 2 * steps, 0, 0}},
        {"sets,waits", {0, 0, steps, 2 * steps, 2, 0}},
        {"allocations", {0, 0, 0, 0, 0, 1}},
        {"kernels,copies,sets,no_launches", {9 * steps, steps, steps, 0, 0, 0}},
    };
    for (const expectation& e : expected) {
        const timeline data = recorded(e.activities);
        EXPECT_EQ(counts_by_kind(data), e.counts) << e.activities;
        EXPECT_EQ(data.ranges.size(), steps * 8U) << e.activities;
        EXPECT_FALSE(data.devices.empty()) << e.activities;
        EXPECT_EQ(data.properties.at("activities"), e.activities);
    }
}

TEST_F(SessionActivities, BelongToTheirRangesOnlyWithLaunches) {
    const timeline kernels = recorded("kernels", {"autograd"});
    const attribution att = attribute(kernels);
    for (const op_id i : kernels.ops.ids()) {
        ASSERT_TRUE(is_range(att.owner[i]));
        EXPECT_EQ(std::string(kernels.name(kernels.ranges[att.owner[i]].name)) + "_k",
                  kernels.kernel_symbol(kernels.ops[i]));
    }
    const projection loose = project(recorded("all,no_launches"));
    for (const projection_row& row : loose.rows) {
        const bool is_unmatched = row.kind == row_kind::unmatched;
        EXPECT_EQ(row.gpu_self_ns, is_unmatched ? loose.total_gpu_ns : 0) << row.path;
    }
    EXPECT_EQ(loose.total_ops, 11U * steps);
}

TEST_F(SessionActivities, GiveGraphWorkToTheLaunchWithoutGraphNodes) {
    // Launches that were captured leave no record of their own; without the nodes nothing else tells them apart.
    const timeline data = recorded("kernels", {"graph"});
    EXPECT_EQ(data.ops.size(), 9U * steps);
    const projection p = project(data);
    EXPECT_EQ(p.ops_of_unseen_captures, 9U * steps);
    const auto replay = std::find_if(p.rows.begin(), p.rows.end(),
                                     [](const projection_row& row) { return row.path == "iteration #/replay"; });
    ASSERT_NE(replay, p.rows.end());
    EXPECT_EQ(replay->gpu_self_ns, p.total_gpu_ns);

    const projection split = project(recorded("kernels,graph_nodes", {"graph"}));
    EXPECT_EQ(split.ops_of_unseen_captures, 0U);
}

TEST_F(SessionActivities, LeaveCuptiAloneWhenNoneIsChosen) {
    // A libcupti that is not there is missed as soon as it is wanted.
    const process_result wanted = run("waits", {}, "/nonexistent/libcupti.so");
    EXPECT_NE(wanted.err.find("/nonexistent/libcupti.so"), std::string::npos) << wanted.err;
    for (const std::string& old : scratch.files(".prof")) std::filesystem::remove(old);
    const process_result result = run("none", {}, "/nonexistent/libcupti.so");
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_EQ(result.err, "");

    const timeline data = recorded("none");
    EXPECT_EQ(counts_by_kind(data), std::vector<std::int64_t>(6, 0));
    EXPECT_EQ(data.ranges.size(), steps * 8U);
    EXPECT_FALSE(data.properties.contains("cupti_version"));
    EXPECT_NE(capture_title(data).find("GPU work not recorded"), std::string::npos) << capture_title(data);
}

TEST_F(SessionActivities, RefuseAnInvalidListInOneLine) {
    const process_result result = run("waits,no_launches", {});
    EXPECT_EQ(result.exit_code(), 3);
    EXPECT_EQ(result.err, "libprof: PROF_ACTIVITIES: \"waits,no_launches\" is not accepted; it takes " +
                              std::string(accepted_activities) + "; the default is used\n");
}

}  // namespace
}  // namespace prof::test
