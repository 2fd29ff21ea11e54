// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"
#include "timeline/thread_walk.hpp"

namespace prof::ranges_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// "name [start, end) depth", for each range in order.
std::vector<std::string> shown(const timeline& data) {
    std::vector<std::string> lines;
    for (const timeline_range& r : data.ranges) {
        lines.push_back(std::string{data.name(r.name)} + " [" + std::to_string(r.start_ns) + ", " +
                        std::to_string(r.end_ns) + ") " + std::to_string(r.depth));
    }
    return lines;
}

// Names of the ranges open when the call was made, innermost first.
std::vector<std::string> open_at(const timeline& data, std::size_t call) {
    std::vector<std::string> names;
    for (std::uint32_t node = data.api_calls[call].open; node != npos; node = data.open_nodes[node].below) {
        names.emplace_back(data.name(data.ranges[data.open_nodes[node].range].name));
    }
    return names;
}

TEST(TimelineRanges, NestAsTheyWerePushed) {
    capture_builder capture;
    capture.thread("main").push(1, "step").push(2, "forward").pop(5).push(6, "backward").pop(8).pop(9);
    const timeline data = capture.build();

    EXPECT_THAT(shown(data), ElementsAre("step [1, 9) 0", "forward [2, 5) 1", "backward [6, 8) 1"));
    EXPECT_EQ(data.ranges[0].parent, npos);
    EXPECT_EQ(data.ranges[1].parent, 0U);
    EXPECT_EQ(data.ranges[2].parent, 0U);
    EXPECT_EQ(data.ranges[2].end_thread, data.ranges[2].thread);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
    EXPECT_EQ(data.quality.ranges_open_at_end, 0U);
}

TEST(TimelineRanges, MayInterleaveAcrossDomains) {
    // b is pushed inside a and outlives it: its parent stays a, but what is launched then counts for b alone.
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("main")
        .push(1, "a")
        .push(2, "b", other)
        .launch(3, 1)
        .pop(4)  // a
        .launch(5, 2)
        .push(6, "c")
        .launch(7, 3)
        .pop(8, other)  // b, from under c
        .launch(9, 4)
        .pop(10)
        .launch(11, 5);
    const timeline data = capture.build();

    EXPECT_THAT(shown(data), ElementsAre("a [1, 4) 0", "b [2, 8) 1", "c [6, 10) 2"));
    EXPECT_EQ(data.ranges[1].parent, 0U);
    EXPECT_EQ(data.ranges[2].parent, 1U);
    EXPECT_THAT(open_at(data, 0), ElementsAre("b", "a"));
    EXPECT_THAT(open_at(data, 1), ElementsAre("b"));
    EXPECT_THAT(open_at(data, 2), ElementsAre("c", "b"));
    EXPECT_THAT(open_at(data, 3), ElementsAre("c"));
    EXPECT_THAT(open_at(data, 4), IsEmpty());
}

TEST(TimelineRanges, FollowRecordOrderAtEqualTimes) {
    capture_builder capture;
    capture.thread("main").push(5, "a").push(5, "b").launch(5, 1).pop(5).launch(5, 2).pop(5).launch(5, 3);
    const timeline data = capture.build();
    EXPECT_EQ(data.ranges[1].parent, 0U);
    EXPECT_THAT(open_at(data, 0), ElementsAre("b", "a"));
    EXPECT_THAT(open_at(data, 1), ElementsAre("a"));
    EXPECT_THAT(open_at(data, 2), IsEmpty());
}

TEST(TimelineRanges, NeverGoBackInTimeOnOneThread) {
    // The counters of two processors may differ by a few ticks: the thread moved between push and pop.
    capture_builder capture;
    capture.thread("main").push(100, "a").pop(98).push(99, "b").pop(110);
    EXPECT_THAT(shown(capture.build()), ElementsAre("a [100, 100) 0", "b [100, 110) 0"));
}

TEST(TimelineRanges, EndWithTheCaptureIfLeftOpen) {
    capture_builder capture;
    capture.thread("main").push(1, "run").push(2, "step").launch(3, 1).pop(4);
    capture.kernel(1, 10, 90);
    const timeline data = capture.build();
    EXPECT_EQ(data.end_ns, 90);
    EXPECT_THAT(shown(data), ElementsAre("run [1, 90) 0", "step [2, 4) 1"));
    EXPECT_TRUE(data.ranges[0].open_at_end);
    EXPECT_FALSE(data.ranges[1].open_at_end);
    EXPECT_EQ(data.quality.ranges_open_at_end, 1U);
}

TEST(TimelineRanges, CountPopsWithoutPush) {
    capture_builder capture;
    capture.parts().drops[static_cast<std::uint32_t>(drop_cause::pop_without_push)] = 3;
    const std::uint16_t other = capture.domain("other");
    capture.thread("main").pop(1).push(2, "a").pop(3, other).pop(4);
    const timeline data = capture.build();
    EXPECT_THAT(shown(data), ElementsAre("a [2, 4) 0"));
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("pop_without_push", 5U)));
}

TEST(TimelineRanges, MayEndOnAnotherThread) {
    capture_builder capture;
    capture.thread("main")
        .start(1, "request 1", 71)
        .start(3, "request 2", 72)
        .start(4, "request 3", 73)
        .push(5, "x")
        .pop(6);
    capture.thread("worker").end(8, 72).end(9, 71).end(10, 99);
    const timeline data = capture.build();

    EXPECT_THAT(shown(data),
                ElementsAre("request 1 [1, 9) 0", "request 2 [3, 8) 0", "request 3 [4, 10) 0", "x [5, 6) 0"));
    EXPECT_EQ(data.ranges[0].style, range_style::start_end);
    EXPECT_EQ(data.ranges[0].thread, 0U);
    EXPECT_EQ(data.ranges[0].end_thread, 1U);
    EXPECT_TRUE(data.ranges[2].open_at_end);
    EXPECT_EQ(data.ranges[3].parent, npos) << "start/end ranges take no part in nesting";
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("end_without_start", 1U)));
}

TEST(TimelineRanges, PairAReusedIdInOrderOfTime) {
    capture_builder capture;
    capture.thread("main").start(1, "a", 5).end(2, 5).start(3, "b", 5).end(7, 5);
    EXPECT_THAT(shown(capture.build()), ElementsAre("a [1, 2) 0", "b [3, 7) 0"));
}

TEST(TimelineRanges, EndNoEarlierThanTheyStart) {
    capture_builder capture;
    capture.thread("main").start(50, "a", 5);
    capture.thread("worker").end(49, 5);
    EXPECT_THAT(shown(capture.build()), ElementsAre("a [50, 50) 0"));
}

TEST(TimelineRanges, TakeThePayloadOfTheRecordThatFollowsTheirStart) {
    const auto f64 = static_cast<std::uint8_t>(payload_type::f64);
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.start(1, "a", 5).add({.ticks = 1, .value = 42, .kind = record_kind::payload, .flags = f64});
    main.mark(2, "m").add({.ticks = 3, .value = 1, .kind = record_kind::payload, .flags = f64});
    main.add({.ticks = 4, .value = 9, .kind = record_kind::range_push, .flags = 1});
    const timeline data = capture.build();
    EXPECT_EQ(data.ranges[0].payload, 42U);
    EXPECT_EQ(data.ranges[0].payload_kind, payload_type::f64);
    EXPECT_EQ(data.ranges[1].payload, 9U);
    EXPECT_EQ(data.ranges[1].payload_kind, payload_type::u64);
    ASSERT_EQ(data.marks.size(), 1U);
    EXPECT_EQ(data.name(data.marks[0].name), "m");
}

TEST(TimelineRanges, AreCutAtMissingRecordsAndRightAfterwards) {
    capture_builder capture;
    capture.thread("main")
        .push(1, "step 1")    // 0
        .push(2, "forward")   // 1
        .pop(3)               // 2: lost
        .push(4, "backward")  // 3: lost
        .pop(5)               // 4: of what was lost
        .pop(6)               // 5: of step 1
        .push(7, "step 2")    // 6
        .launch(8, 1)         // 7, 8
        .pop(10);             // 9
    capture_contents contents = capture.contents(2);
    contents.runs.erase(contents.runs.begin() + 1);
    const timeline data = build_timeline(contents);

    EXPECT_THAT(shown(data), ElementsAre("step 1 [1, 2) 0", "forward [2, 2) 1", "step 2 [7, 10) 0"));
    EXPECT_THAT(open_at(data, 0), ElementsAre("step 2"));
    EXPECT_EQ(data.quality.ranges_open_at_end, 2U);
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("pop_without_push", 2U)));
    ASSERT_EQ(data.quality.damage.size(), 1U);
    EXPECT_THAT(data.quality.damage[0], HasSubstr("2 records of thread 1001 (main) are missing; 2 ranges"));
}

TEST(TimelineRanges, HaveABoundedDepthWhenPopsAreForgotten) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    thread_script& main = capture.thread("main");
    for (std::uint64_t i = 0; i < deepest_nesting + 10; ++i) main.push(i, "leak");
    main.push(5000, "x", other).launch(5000, 1).pop(5001, other).pop(5002, other);
    for (int i = 0; i < 11; ++i) main.pop(6000);
    main.launch(6001, 2);
    for (std::size_t i = 0; i < deepest_nesting - 1; ++i) main.pop(7000 + i);
    main.pop(9000);
    const timeline data = capture.build();
    ASSERT_EQ(data.ranges.size(), deepest_nesting + 11);
    EXPECT_EQ(open_at(data, 0).size(), outermost_kept + 11);
    EXPECT_EQ(open_at(data, 0).front(), "x");
    EXPECT_EQ(open_at(data, 1).size(), outermost_kept) << "what is set aside is around nothing";
    EXPECT_EQ(data.ranges[deepest_nesting].end_ns, 6000);
    EXPECT_EQ(data.ranges[deepest_nesting - 1].end_ns, 6000) << "the eleventh pop is that of one set aside";
    EXPECT_EQ(data.ranges[deepest_nesting - 2].end_ns, 7000);
    EXPECT_EQ(data.ranges.front().end_ns, 7000 + deepest_nesting - 2) << "each has the end that it had";
    EXPECT_EQ(data.ranges.back().depth, outermost_kept + 10);
    EXPECT_EQ(data.quality.ranges_open_at_end, 0U);
    EXPECT_THAT(data.quality.dropped,
                ElementsAre(Pair("nested_too_deep", deepest_nesting - outermost_kept), Pair("pop_without_push", 2U)));
}

// Ranges whose pops were forgotten do not hide the latest range, however many they are.
TEST(TimelineRanges, SurviveAnyNumberOfForgottenPops) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "run");
    constexpr std::uint64_t steps = 5'000;
    for (std::uint64_t i = 0; i < steps; ++i) {
        main.push(10 * i + 1, "leak").push(10 * i + 2, "good").launch(10 * i + 3, static_cast<std::uint32_t>(i + 1));
        main.pop(10 * i + 4);
    }
    const timeline data = capture.build();
    ASSERT_EQ(data.api_calls.size(), steps);
    for (std::size_t i = 0; i < steps; i += 97) {
        const std::vector<std::string> open = open_at(data, i);
        ASSERT_LE(open.size(), deepest_nesting);
        ASSERT_EQ(open.front(), "good") << i;
        ASSERT_EQ(open.back(), "run") << "the outermost stay: " << i;
    }
    EXPECT_EQ(data.quality.ranges_open_at_end, steps + 1);
}

TEST(TimelineRanges, AreOrderedByStartAcrossThreads) {
    capture_builder capture;
    capture.thread("one").push(5, "c").push(6, "d").pop(7).pop(8);
    capture.thread("two").push(1, "a").push(5, "b").launch(6, 1).pop(7).pop(9);
    const timeline data = capture.build();
    EXPECT_THAT(shown(data), ElementsAre("a [1, 9) 0", "c [5, 8) 0", "b [5, 7) 1", "d [6, 7) 1"));
    EXPECT_EQ(data.ranges[2].parent, 0U);
    EXPECT_EQ(data.ranges[3].parent, 1U);
    EXPECT_THAT(open_at(data, 0), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace prof::ranges_test
