// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::windows_test {
namespace {

using testing::ElementsAre;

format::window_entry window(std::uint32_t epoch, std::uint64_t begin, std::uint64_t end) {
    return {.epoch = epoch, .warmup_calls = 0, .begin_ticks = begin, .end_ticks = end};
}

void add(capture_builder& capture, const format::window_entry& entry) {
    capture.parts().windows.insert_or_assign(entry.epoch, entry);
}

record begins(std::uint64_t ns, std::uint32_t epoch) {
    return {.ticks = ns, .value = epoch, .kind = record_kind::window};
}

std::vector<std::string> shown(const timeline& data) {
    std::vector<std::string> lines;
    for (const timeline_range& r : data.ranges) {
        lines.push_back(std::string{data.name(r.name)} + " [" + std::to_string(r.start_ns) + ", " +
                        std::to_string(r.end_ns) + ") " + std::to_string(r.depth) + (r.open_at_end ? " cut" : ""));
    }
    return lines;
}

TEST(TimelineWindows, AreOneInACaptureWithoutEntries) {
    capture_builder capture;
    capture.thread("main").push(1, "a").pop(5);
    const timeline data = capture.build();
    ASSERT_EQ(data.windows.size(), 1U);
    EXPECT_EQ(data.windows[0].start_ns, data.start_ns);
    EXPECT_EQ(data.windows[0].end_ns, data.end_ns);
}

TEST(TimelineWindows, CutOpenRangesAtTheirEnd) {
    // "epoch" was open when the first window ended, at 10. Whether it was popped before the second window is unknown.
    // The ranges of the second window are independent of it.
    capture_builder capture;
    add(capture, window(1, 1, 10));
    add(capture, window(2, 50, 60));
    capture.thread("main")
        .push(2, "epoch")
        .push(3, "step")
        .pop(8)
        .add(begins(51, 2))
        .push(52, "step")
        .launch(53, 7)
        .pop(55)
        .push(58, "late");
    capture.thread("idle until the second").push(54, "other").pop(56);
    const timeline data = capture.build();
    EXPECT_THAT(shown(data), ElementsAre("epoch [2, 10) 0 cut", "step [3, 8) 1", "step [52, 55) 0", "other [54, 56) 0",
                                         "late [58, 60) 0 cut"));
    EXPECT_EQ(data.quality.ranges_open_at_end, 2U);
    EXPECT_EQ(data.ranges[data.open_nodes[data.api_calls[0].open].range].start_ns, 52);
    EXPECT_EQ(data.open_nodes[data.api_calls[0].open].below, npos);
}

TEST(TimelineWindows, CutStartEndRangesAtTheirEnd) {
    // Range 5 is started in the first window and ended in the second, by another thread. Between the two nothing was
    // recorded, so of the range only 4 to 100 is known. Range 6 begins and ends in the second.
    capture_builder capture;
    add(capture, window(1, 1, 100));
    add(capture, window(2, 1000, 1100));
    capture.thread("main").start(4, "request", 5).add(begins(1001, 2)).start(1010, "reply", 6);
    capture.thread("idle until the second").end(1020, 5).end(1030, 6);
    const timeline data = capture.build();
    EXPECT_THAT(shown(data), ElementsAre("request [4, 100) 0 cut", "reply [1010, 1030) 0"));
    EXPECT_EQ(data.quality.dropped.at("end_without_start"), 1U);
    EXPECT_EQ(data.quality.ranges_open_at_end, 1U);
}

TEST(TimelineWindows, EndBeforeTheNextIfTheirEndIsUnknown) {
    capture_builder capture;
    add(capture, window(1, 1, 0));
    add(capture, window(2, 50, 0));
    capture.thread("main").push(2, "a").add(begins(51, 2)).push(52, "b").mark(70, "the last that is known");
    const timeline data = capture.build();
    EXPECT_THAT(shown(data), ElementsAre("a [2, 50) 0 cut", "b [52, 70) 0 cut"));
}

TEST(TimelineWindows, DoNotLetCallsReturnAfterTheirEnd) {
    capture_builder capture;
    add(capture, window(1, 1, 10));
    add(capture, window(2, 50, 60));
    capture.thread("main").enter(9, 4).add(begins(51, 2)).exit(52, 4);
    const timeline data = capture.build();
    EXPECT_EQ(data.api_calls[0].end_ns, 0);
}

TEST(TimelineWindows, LeaveOutLaunchesOfTheWarmUp) {
    // Up to call 100 nothing was recorded, except that of two threads one was a little ahead: 99 was. 101 lost its
    // launch, and stays. Epoch 3 was warmed up, and its window was passed over.
    capture_builder capture;
    add(capture, window(1, 10, 40));
    format::window_entry second = window(2, 50, 90);
    second.warmup_calls = 100;
    add(capture, second);
    const auto key = [](std::uint32_t id) { return correlation_key(2, id); };
    capture.thread("main").launch(53, key(99)).launch(54, key(102));
    for (const std::uint32_t id : {98U, 99U, 100U, 101U, 102U}) capture.kernel(key(id), id, id + 1);
    // Ids wrap: 2^32 - 1 came before 100. One of another window is none of this one's.
    capture.kernel(key(UINT32_MAX), 60, 61);
    capture.kernel(correlation_key(1, 5), 20, 21);
    capture.kernel(correlation_key(3, 5), 95, 96);
    const timeline data = capture.build();
    std::vector<std::uint64_t> kept;
    for (const gpu_op& op : data.ops) kept.push_back(op.correlation);
    EXPECT_THAT(kept, ElementsAre(correlation_key(1, 5), key(99), key(101), key(102)));
    EXPECT_EQ(data.ops[1].launch, 0U);
    EXPECT_EQ(data.ops[2].launch, npos);
}

}  // namespace
}  // namespace prof::windows_test
