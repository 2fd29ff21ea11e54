// SPDX-License-Identifier: Apache-2.0
// Threads that declare whose work they do. What comes out was worked out by hand from docs/reference/attribution.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/rows.hpp"
#include "support/capture_builder.hpp"

namespace prof::explicit_parent_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> ranges_of(const timeline& data, const attribution& att, std::size_t op) {
    std::vector<std::string> names;
    for_each_open_range(data, att, op_id(op),
                        [&](range_id range) { names.emplace_back(data.name(data.ranges[range].name)); });
    return names;
}

// Kernel n runs from 1000 * n for 10 * n ns: each sum of some of them is unlike any other.
void add_kernels(capture_builder& capture, std::uint64_t count) {
    for (std::uint64_t n = 1; n <= count; ++n) capture.kernel(n, 1000 * n, 1010 * n);
}

TEST(ExplicitParent, GetsItsWorkersLaunches) {
    capture_builder capture;
    capture.thread("main").push(1, "step").push(2, "forward").here(3, 71).pop(50).pop(60);
    capture.thread("worker")
        .push(5, "worker loop")
        .launch(6, 1)
        .adopt(10, 71)
        .launch(11, 2)
        .push(12, "task")
        .launch(13, 3)
        .pop(14)
        .leave(20)
        .launch(21, 4)
        .pop(90);
    add_kernels(capture, 4);
    const timeline data = capture.build();
    const attribution att = attribute(data);

    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("worker loop"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("forward", "step")) << "what it had open before is set aside";
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("task", "forward", "step"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("worker loop"));
    EXPECT_THAT(att.adopted, ElementsAre(0, 1, 1, 0));
    const projection p = project(data, att);
    EXPECT_THAT(sums(p), ElementsAre("step 50 0", "step/forward 50 20", "step/forward/task 30 30", "worker loop 50 50",
                                     "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(row_at(p, "step/forward").adopted_ops, 2U);
    EXPECT_EQ(row_at(p, "step/forward").adopted_ns, 50);
    EXPECT_EQ(row_at(p, "step/forward/task").depth, 2U);
    EXPECT_EQ(p.adopted_ops, 2U);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
}

// The worker's own waits: 100 ns while it works for forward (7 of them in a range of its own), 10 after.
TEST(ExplicitParent, GetsNoWaitsOfItsWorker) {
    capture_builder capture;
    capture.thread("main").push(1, "forward").here(2, 71).pop(200);
    capture.thread("worker")
        .push(3, "worker loop")
        .adopt(4, 71)
        .wait(5, 98, 1)
        .push(99, "task")
        .wait(100, 107, 2)
        .pop(108)
        .leave(109)
        .wait(110, 120, 3)
        .pop(121)
        .adopt(122, 71)
        .wait(123, 127, 4)  // in no range of its own
        .leave(128);
    const projection p = project(capture.build());
    EXPECT_EQ(row_at(p, "worker loop").wait_ns, 110);
    EXPECT_EQ(row_at(p, "forward/task").wait_ns, 7);
    EXPECT_EQ(row_at(p, "forward").wait_ns, 0);
    EXPECT_EQ(row_at(p, "(no range)").wait_ns, 4);
    EXPECT_EQ(p.wait_ns, 114);
}

TEST(ExplicitParent, IsTheInnermostOpenRange) {
    capture_builder capture;
    capture.thread("main").push(1, "step").push(2, "forward").here(3, 71).pop(20).pop(40);
    capture.thread("worker")
        .adopt(10, 71)
        .launch(11, 1)
        .launch(30, 2)     // forward has ended
        .push(31, "late")  // so this hangs under step …
        .launch(45, 3)     // … which has ended, too
        .pop(46)
        .launch(47, 4)
        .push(48, "alone")
        .launch(49, 5)
        .pop(50)
        .leave(51);
    add_kernels(capture, 5);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("forward", "step"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("step"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("late"));
    EXPECT_THAT(ranges_of(data, att, 3), IsEmpty());
    EXPECT_EQ(att.owner[op_id(3)], owner_no_range);
    EXPECT_THAT(ranges_of(data, att, 4), ElementsAre("alone"));
    EXPECT_THAT(att.adopted, ElementsAre(1, 1, 1, 0, 0));
    EXPECT_THAT(sums(project(data, att)),
                ElementsAre("step 30 20", "step/forward 10 10", "step/late 30 30", "alone 50 50", "(no range) 40 40",
                            "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(ExplicitParent, MayBeNestedWithTheLatestInEffect) {
    capture_builder capture;
    capture.thread("one").push(1, "a").here(2, 71).pop(90);
    capture.thread("two").push(1, "b").here(2, 72).pop(90);
    capture.thread("worker")
        .adopt(10, 71)
        .push(11, "outer")
        .adopt(12, 72)
        .launch(13, 1)
        .push(14, "inner")
        .launch(15, 2)
        .pop(16)
        .leave(17)
        .launch(18, 3)
        .pop(19)
        .launch(20, 4)
        .leave(21)
        .launch(22, 5);
    add_kernels(capture, 5);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("b"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("inner", "b"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("outer", "a"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("a"));
    EXPECT_THAT(ranges_of(data, att, 4), IsEmpty());
}

TEST(ExplicitParent, IsCountedAndIgnoredWhenUnknown) {
    capture_builder capture;
    capture.thread("main").push(1, "forward").here(2, 71).pop(90);
    capture.thread("worker")
        .push(5, "worker loop")
        .adopt(10, 99)
        .launch(11, 1)
        .push(12, "task")
        .launch(13, 2)
        .pop(14)
        .leave(15)
        .adopt(20, 71)
        .adopt(21, 0)
        .launch(22, 3)
        .leave(23)
        .launch(24, 4)
        .leave(25)
        .pop(80);
    add_kernels(capture, 4);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("worker loop"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("task", "worker loop"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("forward")) << "as if the inner push were not there";
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("forward"));
    EXPECT_THAT(att.adopted, ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("unknown_parent", 2U)));
}

TEST(ExplicitParent, GivesWorkToNoRangeWhenNoneWasOpen) {
    capture_builder capture;
    capture.thread("main").here(1, 71).push(2, "forward").pop(90);
    capture.thread("worker").push(5, "worker loop").adopt(10, 71).launch(11, 1).leave(12).pop(20);
    add_kernels(capture, 1);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(att.owner[op_id(0)], owner_no_range);
    EXPECT_EQ(att.adopted[op_id(0)], 0);
}

// The pattern would give this autograd thread a trainer, but the thread names its parent itself.
TEST(ExplicitParent, TakesPrecedenceOverThePattern) {
    capture_builder capture;
    capture.thread("trainer").launch(1, 1).push(2, "backward").pop(90);
    capture.thread("other").push(3, "evaluate").here(4, 71).pop(90);
    capture.thread("pt_autograd_0")
        .launch(10, 2)
        .adopt(11, 71)
        .launch(12, 3)
        .push(13, "hook")
        .launch(14, 4)
        .pop(15)
        .leave(16)
        .launch(17, 5);
    add_kernels(capture, 5);
    const timeline data = capture.build();
    attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("backward"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("evaluate"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("hook", "evaluate"));
    EXPECT_THAT(ranges_of(data, att, 4), ElementsAre("backward"));
    att = attribute(data, {.adopt_pattern = ""});
    EXPECT_THAT(ranges_of(data, att, 1), IsEmpty());
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("evaluate"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("hook", "evaluate"));
    EXPECT_THAT(ranges_of(data, att, 4), IsEmpty());
}

TEST(ExplicitParent, MayBeAWorkerItself) {
    capture_builder capture;
    capture.thread("main").push(1, "step").here(2, 71).pop(95);
    capture.thread("first").adopt(10, 71).here(11, 72).push(12, "part").here(13, 73).launch(14, 1).pop(50).leave(60);
    capture.thread("second").adopt(20, 73).push(21, "piece").here(22, 74).launch(23, 2).pop(40).leave(41);
    capture.thread("third").adopt(30, 74).launch(31, 3).launch(45, 4).launch(55, 5).leave(56);
    capture.thread("fourth").adopt(30, 72).launch(31, 6).leave(56);
    add_kernels(capture, 6);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("part", "step"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("piece", "part", "step"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("piece", "part", "step"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("part", "step"));
    EXPECT_THAT(ranges_of(data, att, 4), ElementsAre("step"));
    EXPECT_THAT(ranges_of(data, att, 5), ElementsAre("step")) << "its place had no range of its own thread open";
    EXPECT_THAT(sums(project(data, att)), ElementsAre("step 210 110", "step/part 100 50", "step/part/piece 50 50",
                                                      "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_THAT(att.depth, ElementsAre(0, 1, 2));
}

TEST(ExplicitParent, FollowsAnAutogradThreadToItsTrainer) {
    capture_builder capture;
    capture.thread("python").launch(1, 1).push(2, "backward").pop(90);
    capture.thread("pt_autograd_0").push(10, "hook").launch(11, 2).here(12, 71).pop(60).here(61, 72);
    capture.thread("comm").adopt(20, 71).launch(21, 3).launch(70, 4).leave(71).adopt(72, 72).launch(73, 5).leave(74);
    add_kernels(capture, 5);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("hook", "backward"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("hook", "backward"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("backward"));
    EXPECT_THAT(ranges_of(data, att, 4), ElementsAre("backward")) << "the place was outside any range of autograd's";
}

TEST(ExplicitParent, HoldsForARangeThatOutlivesItsPush) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("main").push(1, "forward").here(2, 71).pop(90);
    capture.thread("worker")
        .push(5, "worker loop")
        .adopt(10, 71)
        .push(11, "task", other)
        .leave(12)
        .launch(13, 1)
        .push(14, "inside")
        .launch(15, 2)
        .pop(16, other)  // task, from under inside
        .launch(17, 3)
        .pop(18)
        .launch(19, 4)
        .pop(20);
    add_kernels(capture, 4);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("task", "forward"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("inside", "task", "forward"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("inside", "forward"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("worker loop"));
    const projection p = project(data, att);
    EXPECT_EQ(row_at(p, "forward/other:task/inside").gpu_sum_ns, 50);
    EXPECT_EQ(row_at(p, "worker loop").gpu_sum_ns, 40);
}

TEST(ExplicitParent, DoesNotMakeItsWorkerATrainer) {
    // The worker has launched on the trainer's stream and has a range open, but both for the trainer.
    capture_builder capture;
    capture.thread("trainer").launch(1, 1).push(2, "backward").here(3, 71).pop(90);
    capture.thread("worker").adopt(5, 71).push(6, "part").launch(7, 2).pop(80).leave(81);
    capture.thread("pt_autograd_0").launch(20, 3);
    add_kernels(capture, 3);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("backward"));
}

TEST(ExplicitParent, MayBeAnEarlierPlaceOfTheSameThread) {
    capture_builder capture;
    capture.thread("main").push(1, "a").here(2, 71).push(3, "b").adopt(4, 71).launch(5, 1).leave(6).pop(7).pop(8);
    add_kernels(capture, 1);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("a"));
    EXPECT_EQ(att.adopted[op_id(0)], 0) << "no other thread launched it";
}

TEST(ExplicitParent, IsForgottenWhenRecordsAreMissing) {
    capture_builder capture;
    capture.thread("main").push(1, "forward").here(2, 71).pop(90);
    capture.thread("worker")
        .adopt(10, 71)     // 0
        .push(11, "task")  // 1
        .mark(12, "lost")  // 2
        .mark(13, "lost")  // 3
        .launch(14, 1)     // 4, 5
        .pop(15)           // 6
        .leave(16)         // 7
        .adopt(20, 71)     // 8
        .launch(21, 2)     // 9, 10
        .leave(22);        // 11
    add_kernels(capture, 2);
    capture_contents contents = capture.contents(2);
    contents.runs.erase(contents.runs.begin() + 3);
    ASSERT_EQ(contents.runs[2].first_number, 0U);
    ASSERT_EQ(contents.runs[3].first_number, 4U);
    const timeline data = build_timeline(contents);
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), IsEmpty()) << "what was pushed before the gap is unknown after it";
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("forward"));
}

// Only a damaged capture can have this: each of two roots opened in the other's place.
TEST(ExplicitParent, SurvivesACycle) {
    capture_builder capture;
    capture.thread("one").adopt(5, 72).push(5, "a").here(5, 71).launch(6, 1).pop(9).leave(9);
    capture.thread("two").adopt(5, 71).push(5, "b").here(5, 72).launch(6, 2).pop(9).leave(9);
    add_kernels(capture, 2);
    const projection p = project(capture.build());
    EXPECT_EQ(self_total(p), p.total_gpu_ns);
    EXPECT_EQ(p.total_gpu_ns, 30);
}

TEST(ExplicitParent, SurvivesALongChain) {
    capture_builder capture;
    capture.thread("main").push(1, "step").here(2, 1).pop(9'000'000);
    thread_script& even = capture.thread("even");
    thread_script& odd = capture.thread("odd");
    constexpr std::uint64_t tasks = 200'000;
    for (std::uint64_t i = 1; i < tasks; ++i) {
        thread_script& worker = i % 2 == 0 ? even : odd;
        worker.adopt(4 * i, i).here(4 * i + 1, i + 1).leave(4 * i + 2);
    }
    even.adopt(4 * tasks, tasks).launch(4 * tasks + 1, 1).leave(4 * tasks + 2);
    add_kernels(capture, 1);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("step"));
}

}  // namespace
}  // namespace prof::explicit_parent_test
