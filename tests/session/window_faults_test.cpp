// SPDX-License-Identifier: Apache-2.0
// Windows that open and end at bad moments (window_faults_victim.cpp): while a call of the warm-up has not returned,
// while another thread still begins the capture, and while the disk does not answer. What was recorded is all there,
// nothing else is, and the windows after it are recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using settings = std::map<std::string, std::string>;
using counts = std::map<std::string, int>;

struct WindowFaults : testing::Test, profiled_program {
    WindowFaults() : profiled_program(way_in::injected) {}

    timeline record(const char* scene, const environment& options, const std::string& expected_notice = "") const {
        const process_result result = run({scene}, options);
        EXPECT_EQ(result.exit_code(), 3) << result.out << result.err;
        EXPECT_EQ(result.err, expected_notice);
        return only_capture();
    }
};

counts kernels(const timeline& data) {
    counts out;
    for (const gpu_op& op : data.ops) ++out[std::string(data.kernel_symbol(op))];
    return out;
}

// Each operation has its launch, and each launch its operation.
void expect_matched(const timeline& data) {
    EXPECT_TRUE(std::none_of(data.ops.begin(), data.ops.end(), [](const gpu_op& op) { return op.launch == npos; }));
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
    EXPECT_EQ(data.quality.dropped, (std::map<std::string, std::uint64_t>{}));
    EXPECT_TRUE(data.quality.ended);
}

constexpr const char* passed_over =
    "libprof: a window was passed over: the capture's disk did not answer while the one before was taken in\n";

struct WindowFaultsAfterCalls : WindowFaults, testing::WithParamInterface<const char*> {};

TEST_P(WindowFaultsAfterCalls, LeaveOutAllOfAWarmUpWhoseCallsReturnInAnotherOrder) {
    const timeline data = record(
        "late_return", {{"PROF_SCHEDULE", "wait=1,warmup=1,active=1,repeat=1"}, {"FAKE_GPU_CALLS_BEFORE", GetParam()}});
    EXPECT_EQ(kernels(data), (counts{{"recorded", 3}}));
    expect_matched(data);
}
// The numbers of calls begin again at 1 after 2^32 - 1.
INSTANTIATE_TEST_SUITE_P(Made, WindowFaultsAfterCalls, testing::Values("0", "4294967240"));

TEST_F(WindowFaults, KeepTheFirstWindowWhileAnotherThreadBeginsTheCapture) {
    const timeline data = record("slow_begin", {{"LD_PRELOAD", PROF_TEST_SLOW_FIRST_RECORD}});
    EXPECT_EQ(kernels(data), (counts{{"first_window", 3}, {"second_window", 3}}));
    EXPECT_EQ(data.windows.size(), 2U);
    expect_matched(data);
}

TEST_F(WindowFaults, RecordTheRangesAfterOneThatWasPassedOver) {
    const timeline data = record("slow_disk",
                                 {{"PROF_CAPTURE_RANGE", "nvtx"},
                                  {"PROF_NVTX_CAPTURE", "capture"},
                                  {"PROF_CAPTURE_RANGE_END", "repeat"},
                                  {"LD_PRELOAD", PROF_TEST_SLOW_DISK}},
                                 passed_over);
    EXPECT_EQ(kernels(data), (counts{{"range_0", 1}, {"range_1", 1}, {"range_3", 1}, {"range_4", 1}, {"range_5", 1}}));
    EXPECT_EQ(data.windows.size(), 5U);
    EXPECT_NE(data.properties.at("windows_notice").find("1 window was passed over"), std::string::npos);
    expect_matched(data);
}

// Of five ranges the second is passed over, so the third and the fourth are the second and the third window.
TEST_F(WindowFaults, CountTheWindowsThatWereRecorded) {
    const timeline data = record("slow_disk",
                                 {{"PROF_CAPTURE_RANGE", "nvtx"},
                                  {"PROF_NVTX_CAPTURE", "capture"},
                                  {"PROF_CAPTURE_RANGE_END", "repeat:4"},
                                  {"LD_PRELOAD", PROF_TEST_SLOW_DISK}},
                                 passed_over);
    EXPECT_EQ(kernels(data), (counts{{"range_0", 1}, {"range_1", 1}, {"range_3", 1}, {"range_4", 1}}));
    expect_matched(data);
}

// The GPU work of the warm-up of a window that never opened belongs to no window.
TEST_F(WindowFaults, LeaveOutTheWarmUpOfAWindowThatWasPassedOver) {
    const timeline data = record(
        "slow_disk_in_steps",
        {{"PROF_SCHEDULE", "wait=1,warmup=1,active=1,repeat=4"}, {"LD_PRELOAD", PROF_TEST_SLOW_DISK}}, passed_over);
    EXPECT_EQ(kernels(data), (counts{{"step_2", 3}, {"step_8", 3}, {"step_11", 3}}));
    EXPECT_EQ(data.windows.size(), 3U);
    expect_matched(data);
}

}  // namespace
}  // namespace prof::test
