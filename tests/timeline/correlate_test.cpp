// SPDX-License-Identifier: Apache-2.0
#include "timeline/correlate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::correlate_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Start times of the operations that a call caused.
std::vector<std::int64_t> work_of(const timeline& data, std::size_t call) {
    std::vector<std::int64_t> starts;
    const timeline_api_call& c = data.api_calls[call];
    for (std::uint32_t i = 0; i < c.op_count; ++i) {
        const std::uint32_t op = data.ops_by_launch[c.first_op + i];
        EXPECT_EQ(data.ops[op].launch, call);
        starts.push_back(data.ops[op].start_ns);
    }
    return starts;
}

TEST(Correlation, FindsTheCallOfEachOperation) {
    capture_builder capture;
    capture.thread("main").launch(1, 11).launch(3, 12).enter(5, 13, "").exit(9, 13);
    capture.kernel(12, 40, 50).kernel(11, 20, 30);
    capture.transfer({.start_ns = 60, .end_ns = 65, .correlation = 13, .bytes = 8, .kind = transfer_kind::memset});
    const timeline data = capture.build();

    ASSERT_EQ(data.ops.size(), 3U);
    EXPECT_THAT(work_of(data, 0), ElementsAre(20));
    EXPECT_THAT(work_of(data, 1), ElementsAre(40));
    EXPECT_THAT(work_of(data, 2), ElementsAre(60));
    EXPECT_EQ(data.ops[2].kind, op_kind::memset);
    EXPECT_EQ(data.transfers[data.ops[2].detail].bytes, 8U);
    EXPECT_EQ(data.ops[0].start_ns, 20);
    EXPECT_EQ(data.api_calls[0].end_ns, 2);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
}

TEST(Correlation, GivesOneCallAllNodesOfItsGraphInOrderOfTime) {
    capture_builder capture;
    capture.thread("main").enter(1, 11).exit(2, 11);
    capture.kernel(11, 40, 50).kernel(11, 20, 60, {.stream = 9}).kernel(11, 30, 31);
    EXPECT_THAT(work_of(capture.build(), 0), ElementsAre(20, 30, 40));
}

// A wait [2, 10) has a launch [3, 4) in it that has another id.
// CUPTI's times of such a copy are those of the call, in which the CPU waits for the stream and copies: they overlap
// the kernel that the stream runs meanwhile. Between pinned memory the GPU may copy.
TEST(Correlation, CopiesFromHostToHostByTheCpuTakeNoTimeOfTheGpu) {
    constexpr std::uint8_t pageable = 1;
    constexpr std::uint8_t pinned = 2;
    capture_builder capture;
    capture.thread("main").launch(1, 11).enter(20, 12, "").exit(90, 12).enter(95, 13, "").exit(99, 13);
    capture.kernel(11, 10, 80);
    capture.transfer({.start_ns = 21,
                      .end_ns = 89,
                      .correlation = 12,
                      .bytes = 8,
                      .copy_kind = 9,
                      .source_kind = pinned,
                      .destination_kind = pageable});
    capture.transfer({.start_ns = 100,
                      .end_ns = 110,
                      .correlation = 13,
                      .bytes = 8,
                      .copy_kind = 9,
                      .source_kind = pinned,
                      .destination_kind = pinned});
    capture.transfer({.start_ns = 120,
                      .end_ns = 130,
                      .correlation = 13,
                      .bytes = 8,
                      .copy_kind = 2,
                      .source_kind = 3,
                      .destination_kind = pageable});
    const timeline data = capture.build();
    ASSERT_EQ(data.ops.size(), 4U);
    std::vector<std::pair<std::int64_t, std::int64_t>> times;
    for (const gpu_op& op : data.ops) times.emplace_back(op.start_ns, op.end_ns);
    EXPECT_THAT(times, ElementsAre(Pair(10, 80), Pair(89, 89), Pair(100, 110), Pair(120, 130)));
}

TEST(Correlation, MatchesNestedCalls) {
    capture_builder capture;
    capture.thread("main")
        .add({.ticks = 2,
              .value = 11,
              .kind = record_kind::api_enter,
              .flags = static_cast<std::uint8_t>(api_class::wait)})
        .launch(3, 12)
        .exit(10, 11)
        .exit(11, 11);
    const timeline data = capture.build();
    ASSERT_EQ(data.api_calls.size(), 2U);
    EXPECT_EQ(data.api_calls[0].end_ns, 10);
    EXPECT_EQ(data.api_calls[1].end_ns, 4);
}

// The inner call was left by a longjmp: what returns is the outer one, and after that none is open.
TEST(Correlation, ForgetsInnerCallsThatDidNotReturn) {
    capture_builder capture;
    capture.thread("main").enter(1, 11).enter(2, 12).exit(5, 11).exit(6, 12).node(7, 1);
    const timeline data = capture.build();
    EXPECT_EQ(data.api_calls[0].end_ns, 5);
    EXPECT_EQ(data.api_calls[1].end_ns, 0);
    EXPECT_FALSE(data.api_calls[0].is_captured || data.api_calls[1].is_captured);
}

TEST(Correlation, LeavesWorkWithoutALaunchUnmatched) {
    capture_builder capture;
    capture.thread("main").launch(1, 11);
    capture.kernel(11, 20, 30).kernel(12, 40, 50).kernel(0, 60, 70);
    const timeline data = capture.build();
    EXPECT_EQ(data.ops[1].launch, npos);
    EXPECT_EQ(data.ops[2].launch, npos);
}

TEST(Correlation, MatchesAReusedIdToTheLatestEarlierCall) {
    capture_builder capture;
    capture.thread("main").launch(10, 11).launch(100, 11);
    // The first kernel seems to start before its launch: the clocks differ by a little.
    capture.kernel(11, 9, 20).kernel(11, 99, 100).kernel(11, 100, 130).kernel(11, 150, 160);
    const timeline data = capture.build();
    EXPECT_THAT(work_of(data, 0), ElementsAre(9, 99));
    EXPECT_THAT(work_of(data, 1), ElementsAre(100, 150));
}

TEST(Correlation, KeepsAttachEpochsApart) {
    capture_builder capture;
    capture.thread("main").launch(10, correlation_key(1, 5)).launch(20, correlation_key(2, 5));
    capture.kernel(correlation_key(1, 5), 30, 31).kernel(correlation_key(2, 5), 25, 26);
    const timeline data = capture.build();
    EXPECT_THAT(work_of(data, 0), ElementsAre(30));
    EXPECT_THAT(work_of(data, 1), ElementsAre(25));
}

TEST(Correlation, LeavesOutRecordsWithoutTimesAndCountsThem) {
    capture_builder capture;
    capture.parts().drops[static_cast<std::uint32_t>(drop_cause::cupti_no_timestamp)] = 2;
    capture.thread("main").launch(1, 11).launch(2, 12).launch(3, 13).launch(4, 14).launch(5, 15);
    capture.kernel(11, 0, 30).kernel(12, 20, 0).kernel(13, 20, 19).kernel(14, 20, UINT64_MAX).kernel(15, 20, 20);
    const timeline data = capture.build();
    ASSERT_EQ(data.ops.size(), 1U);
    EXPECT_EQ(data.ops[0].correlation, 15U);
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("cupti_no_timestamp", 6U)));
    EXPECT_EQ(data.quality.launches_without_completion, 0U) << "each left a record, if one without times";
}

// The second launch's name was lost; the third call is another function's, which launches no kernel.
TEST(Correlation, CountsLaunchesWithoutARecordWhoseNameWasLost) {
    capture_builder capture;
    capture.parts().drops[static_cast<std::uint32_t>(drop_cause::names_full)] = 1;
    capture.thread("main").launch(1, 11).launch(3, 12, "").add(
        {.ticks = 5, .value = 13, .category = 99, .kind = record_kind::api_enter});
    capture.kernel(11, 20, 30);
    EXPECT_EQ(capture.build().quality.launches_without_completion, 1U);
}

TEST(Correlation, CountsKernelLaunchesWithoutARecord) {
    capture_builder capture;
    capture.thread("main").launch(1, 11).launch(2, 12).enter(3, 13, "").enter(5, 14, "kernel");
    capture.kernel(11, 20, 30);
    const timeline data = capture.build();
    EXPECT_EQ(data.quality.launches_without_completion, 2U);
    EXPECT_EQ(data.api_calls[3].end_ns, 0) << "never seen to return";
    EXPECT_EQ(data.name(data.api_calls[3].kernel_name), "kernel");
}

}  // namespace
}  // namespace prof::correlate_test
