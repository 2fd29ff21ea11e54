// SPDX-License-Identifier: Apache-2.0
// A recording that is paused and resumed, in a whole program on the simulated GPU (windows_victim.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

struct SessionWindows : testing::Test, profiled_program {
    SessionWindows() : profiled_program(way_in::injected, {{"PROF_AUTOSTART", "0"}, {"PROF_EXPORT", "summary"}}) {}

    // The captures in the order of their steps.
    std::vector<timeline> record_all(std::vector<std::string> words, const char* export_each,
                                     const char* api_calls = "") const {
        const auto result = run(std::move(words), {{"PROF_EXPORT_EACH", export_each}, {"PROF_API_CALLS", api_calls}});
        EXPECT_EQ(result.exit_code(), 0) << result.err;
        EXPECT_EQ(result.out, "done\n");
        EXPECT_EQ(result.err, "");
        std::vector<timeline> out = all_captures();
        std::sort(out.begin(), out.end(), [](const timeline& a, const timeline& b) {
            return a.windows.front().first_step < b.windows.front().first_step;
        });
        EXPECT_EQ(scratch.files(".summary.txt").size(), out.size());
        return out;
    }
    timeline record(const std::vector<std::string>& words) const {
        const std::vector<timeline> all = record_all(words, "run");
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? timeline{} : all.front();
    }
};

std::map<std::string, std::size_t> kernels_by_name(const timeline& data) {
    std::map<std::string, std::size_t> counts;
    for (const gpu_op& op : data.ops) ++counts[std::string(data.kernel_symbol(op))];
    return counts;
}

std::size_t ranges_named(const timeline& data, std::string_view name) {
    return static_cast<std::size_t>(std::count_if(data.ranges.begin(), data.ranges.end(),
                                                  [&](const timeline_range& r) { return data.name(r.name) == name; }));
}

// Every launch of a window has its kernel, though the GPU was far behind when the window ended. No work from between
// the windows is recorded.
TEST_F(SessionWindows, HoldExactlyTheirOwnWork) {
    const timeline data = record({"windows", "20", "steps", "4"});
    const std::map<std::string, std::size_t> expected{{"recorded_k", 20U * 4 * 5}};
    EXPECT_EQ(kernels_by_name(data), expected);
    EXPECT_EQ(ranges_named(data, "step"), 20U * 4);
    EXPECT_TRUE(std::none_of(data.ops.begin(), data.ops.end(), [](const gpu_op& op) { return op.launch == npos; }));
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
    EXPECT_TRUE(data.quality.dropped.empty());
    EXPECT_TRUE(data.quality.ended);

    ASSERT_EQ(data.windows.size(), 20U);
    for (std::size_t i = 0; i < data.windows.size(); ++i) {
        EXPECT_LT(data.windows[i].start_ns, data.windows[i].end_ns);
        EXPECT_EQ(data.windows[i].first_step, i);
        EXPECT_EQ(data.windows[i].last_step, i + 1);
        const std::int64_t before = i == 0 ? data.start_ns : data.windows[i - 1].end_ns;
        EXPECT_LE(before, data.windows[i].start_ns);
    }
    // Open when its window ended, and no longer when the next began.
    EXPECT_EQ(ranges_named(data, "across"), 20U);
    for (const timeline_range& range : data.ranges) {
        EXPECT_EQ(range.open_at_end, data.name(range.name) == "across");
        EXPECT_EQ(range.depth, data.name(range.name) == "across" ? 0U : 1U);
    }
}

TEST_F(SessionWindows, MayBeSeparateCaptures) {
    const std::vector<timeline> all = record_all({"windows", "12", "steps", "4"}, "window");
    ASSERT_EQ(all.size(), 12U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::map<std::string, std::size_t> expected{{"recorded_k", 4U * 5}};
        EXPECT_EQ(kernels_by_name(all[i]), expected);
        ASSERT_EQ(all[i].windows.size(), 1U);
        EXPECT_EQ(all[i].windows.front().first_step, i);
        EXPECT_EQ(all[i].quality.launches_without_completion, 0U);
        EXPECT_TRUE(all[i].quality.dropped.empty());
        EXPECT_TRUE(all[i].quality.ended);
    }
}

TEST_F(SessionWindows, MayEndWhileOtherThreadsLaunch) {
    const timeline data = record({"windows", "10", "steps", "3", "threads", "2"});
    EXPECT_EQ(kernels_by_name(data)["recorded_k"], 10U * 3 * 5);
    EXPECT_EQ(data.windows.size(), 10U);
    // All of the other threads' ranges stand in a window, give or take the moment in which the gate is shut.
    for (const gpu_op& op : data.ops) {
        if (op.launch != npos && data.kernel_symbol(op) == "recorded_k") {
            EXPECT_NE(data.api_calls[op.launch].open, npos);
        }
    }
    const projection p = project(data);
    std::int64_t self = 0;
    for (const projection_row& row : p.rows) self += row.gpu_self_ns;
    EXPECT_EQ(self, p.total_gpu_ns);
}

struct SessionWindowsByApiCalls : SessionWindows, testing::WithParamInterface<const char*> {};

// Each thread is in the middle of a call again and again when CUPTI is switched on, off and, if it may be, finalized.
// The fake counts calls that go on with memory freed by that, and would report them on stderr.
TEST_P(SessionWindowsByApiCalls, HarmNoCallInProgress) {
    const char* const finalized = GetParam() == std::string("driver") ? "1" : "0";
    const std::vector<std::string> words{"windows", "300", "steps", "1", "threads", "2", "finalized", finalized};
    const std::vector<timeline> all = record_all(words, "run", GetParam());
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].windows.size(), 300U);
    EXPECT_EQ(all[0].properties.at("api_calls"), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Each, SessionWindowsByApiCalls, testing::Values("driver", "runtime"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace prof::test
