// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/rows.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::adoption_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> ranges_of(const timeline& data, const attribution& att, std::size_t op) {
    std::vector<std::string> names;
    for_each_open_range(data, att, op_id(op),
                        [&](range_id range) { names.emplace_back(data.name(data.ranges[range].name)); });
    return names;
}

// A trainer that has launched on the stream and is inside iteration 1/backward from 20 to 50.
thread_script& add_trainer(capture_builder& capture, const std::string& name, std::uint64_t correlation,
                           placement on = {}) {
    thread_script& trainer = capture.thread(name);
    trainer.push(1, "iteration 1")
        .push(2, "forward")
        .launch(3, correlation)
        .pop(10)
        .push(20, "backward")
        .pop(50)
        .pop(60);
    capture.kernel(correlation, 100, 101, on);
    return trainer;
}

TEST(Adoption, GivesAutogradsWorkToTheTrainersOpenRange) {
    capture_builder capture;
    add_trainer(capture, "python", 1);
    capture.thread("pt_autograd_0").launch(30, 2).launch(55, 3).launch(70, 4);
    capture.kernel(2, 200, 210).kernel(3, 210, 220).kernel(4, 220, 230);
    const timeline data = capture.build();
    const attribution att = attribute(data);

    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("iteration 1"));
    EXPECT_EQ(att.owner[op_id(1)], 2U);
    EXPECT_EQ(att.owner[op_id(2)], 0U);
    EXPECT_EQ(att.owner[op_id(3)], owner_no_range) << "nothing was open any more";
    EXPECT_THAT(att.adopted, ElementsAre(0, 1, 1, 0));
}

// A loop's own range, with work of the step before in it, is inside a step that begins later. It is under the trainer's
// range as the step is, and not under whichever range was the capture's first.
TEST(Adoption, OfARangeInsideAStepThatBeganLaterIsThatOfTheStep) {
    capture_builder capture;
    add_trainer(capture, "python", 1);
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    capture.thread("pt_autograd_0")
        .push(21, "step", phases)
        .push(22, "loop")
        .push(23, "forward", phases)
        .pop(24, phases)
        .pop(25, phases)
        .push(26, "step", phases)
        .launch(27, 2)
        .pop(28)
        .pop(29, phases);
    capture.kernel(2, 200, 210);
    const timeline data = capture.build();
    const auto loop = std::find_if(data.ranges.begin(), data.ranges.end(),
                                   [&](const timeline_range& range) { return data.name(range.name) == "loop"; });
    ASSERT_NE(loop, data.ranges.end());
    ASSERT_GT(loop->parent, static_cast<std::size_t>(loop - data.ranges.begin())) << "its parent comes after it";
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("loop", "step", "backward", "iteration 1"));
    EXPECT_THAT(att.adopted, ElementsAre(0, 1));
}

TEST(Adoption, PutsAutogradsRangesUnderTheTrainers) {
    // Checkpointing runs forward once more, with its ranges, on the autograd thread.
    capture_builder capture;
    add_trainer(capture, "python", 1);
    capture.thread("pt_autograd_0")
        .push(30, "layer 3")
        .push(31, "attention")
        .launch(32, 2)
        .pop(33)
        .launch(34, 3)
        .pop(35);
    capture.kernel(2, 200, 210).kernel(3, 210, 230);
    const timeline data = capture.build();
    const attribution att = attribute(data);

    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("attention", "layer 3", "backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("layer 3", "backward", "iteration 1"));
    EXPECT_THAT(sums(project(data, att)),
                ElementsAre("iteration # 31 0", "iteration #/forward 1 1", "iteration #/backward 30 0",
                            "iteration #/backward/layer # 30 20", "iteration #/backward/layer #/attention 10 10",
                            "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_THAT(att.depth, ElementsAre(0, 1, 1, 2, 3));
    EXPECT_EQ(row_at(project(data, att), "iteration #/backward").adopted_ops, 2U);
    EXPECT_EQ(row_at(project(data, att), "iteration #").adopted_ns, 30);
    EXPECT_EQ(project(data, att).adopted_ops, 2U);
}

TEST(Adoption, IsDecidedWhereARangeOpens) {
    // The trainer leaves backward while the range is open: work that is launched later counts for what is still open
    // of backward's path, and not for optimizer_step, under which the range does not hang.
    capture_builder capture;
    capture.thread("python")
        .push(1, "iteration 1")
        .launch(2, 1)
        .push(20, "backward")
        .pop(50)
        .push(51, "optimizer_step")
        .pop(90)
        .pop(95);
    capture.kernel(1, 100, 101);
    capture.thread("pt_autograd_0").push(30, "hook").launch(40, 2).launch(60, 3).launch(96, 4).pop(97);
    capture.kernel(2, 200, 210).kernel(3, 210, 220).kernel(4, 220, 230);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("hook", "backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("hook", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("hook"));
    EXPECT_THAT(att.adopted, ElementsAre(0, 1, 1, 1));
}

TEST(Adoption, KeepsOpenRangesWhenTheTrainersDomainsInterleave) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("python").push(1, "a").push(2, "b", other).push(3, "c").launch(4, 1).pop(50).pop(55, other).pop(95);
    capture.kernel(1, 100, 101);
    // c (50) goes before b (55): still the tail. Then a range of the middle goes first.
    capture.thread("pt_autograd_0").push(10, "x").launch(52, 2).launch(60, 3).pop(97);
    capture.kernel(2, 200, 210).kernel(3, 210, 220);
    timeline data = capture.build();
    attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("x", "b", "a"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("x", "a"));

    std::swap(data.ranges[1].end_ns, data.ranges[2].end_ns);  // b ends at 50, c at 55
    att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("x", "c", "a"));
}

TEST(Adoption, WorksWhenBothRangesOpenInTheSameNanosecond) {
    // Threads stand in the order in which they were first seen: here the adopted range stands before its adopter.
    capture_builder capture;
    capture.thread("pt_autograd_0").push(20, "hook").launch(30, 2).pop(40);
    capture.thread("python").launch(1, 1).push(20, "backward").pop(50);
    capture.kernel(1, 100, 101).kernel(2, 200, 210);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(att.parent, ElementsAre(1U, npos));
    EXPECT_THAT(att.depth, ElementsAre(1U, 0U));
    EXPECT_THAT(sums(project(data, att)), ElementsAre("backward 10 0", "backward/hook 10 10", "(no range) 1 1",
                                                      "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(Adoption, IsAmbiguousBetweenTwoTrainersOnOneStream) {
    capture_builder capture;
    add_trainer(capture, "trainer a", 1);
    add_trainer(capture, "trainer b", 2);
    capture.thread("pt_autograd_0").launch(30, 3).push(31, "layer 3").launch(32, 4).pop(33);
    capture.kernel(3, 200, 210).kernel(4, 210, 230);
    const timeline data = capture.build();
    const attribution att = attribute(data);

    EXPECT_EQ(att.owner[op_id(2)], owner_ambiguous);
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("layer 3"));
    const projection p = project(data, att);
    EXPECT_THAT(sums(p),
                ElementsAre("iteration # 2 0", "iteration #/forward 2 2", "iteration #/backward 0 0", "(no range) 0 0",
                            "(ambiguous) 30 10", "(ambiguous)/layer # 20 20", "(unmatched) 0 0"));
    EXPECT_EQ(self_total(p), p.total_gpu_ns);
    EXPECT_EQ(row_at(p, "(ambiguous)").kind, row_kind::ambiguous);
    EXPECT_EQ(row_at(p, "(ambiguous)").ops, 2U);
    EXPECT_EQ(row_at(p, "(ambiguous)/layer #").kind, row_kind::range);
    EXPECT_EQ(p.adopted_ops, 0U);
}

TEST(Adoption, DistinguishesTrainersByTheirStreams) {
    capture_builder capture;
    add_trainer(capture, "trainer a", 1, {.stream = 7});
    add_trainer(capture, "trainer b", 2, {.stream = 20});
    capture.thread("pt_autograd_0").launch(30, 3).launch(31, 4);
    capture.kernel(3, 200, 210, {.stream = 20}).kernel(4, 210, 230, {.stream = 7});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(data.ranges[att.owner[op_id(2)]].thread, 1U);
    EXPECT_EQ(data.ranges[att.owner[op_id(3)]].thread, 0U);
}

TEST(Adoption, DistinguishesTrainersByTheirDevicesOnANewStream) {
    capture_builder capture;
    add_trainer(capture, "trainer a", 1, {.device = 0});
    add_trainer(capture, "trainer b", 2, {.device = 1});
    capture.thread("pt_autograd_0").launch(30, 3);
    capture.thread("pt_autograd_1").launch(30, 4).push(35, "empty").pop(36);
    capture.kernel(3, 200, 210, {.stream = 99, .device = 0}).kernel(4, 210, 230, {.stream = 99, .device = 1});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(data.ranges[att.owner[op_id(2)]].thread, 0U);
    EXPECT_EQ(data.ranges[att.owner[op_id(3)]].thread, 1U);
    EXPECT_EQ(att.parent.back(), owner_ambiguous) << "no launch inside tells for whom it was opened";
    EXPECT_EQ(row_at(project(data, att), "(ambiguous)/empty").instances, 1U);
}

TEST(Adoption, PrefersTheSameStreamToTheSameDevice) {
    capture_builder capture;
    add_trainer(capture, "trainer", 1, {.stream = 7});
    add_trainer(capture, "evaluator", 2, {.stream = 20});
    capture.thread("pt_autograd_0").launch(30, 3).launch(31, 4);
    capture.kernel(3, 200, 210, {.stream = 7}).kernel(4, 300, 310, {.stream = 33});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(data.ranges[att.owner[op_id(2)]].thread, 0U);
    EXPECT_EQ(att.owner[op_id(3)], owner_ambiguous) << "on a stream of its own either could be meant";
}

// Trainer b is between two of its steps: it may wait for autograd there as well as inside a range.
TEST(Adoption, IsAmbiguousWhileATrainerIsBetweenItsRanges) {
    capture_builder capture;
    capture.thread("trainer a").push(1, "step").launch(2, 1).pop(90);
    capture.thread("trainer b").push(20, "step").launch(21, 2).pop(30).push(50, "step").pop(60);
    capture.kernel(1, 100, 101).kernel(2, 101, 102);
    capture.thread("pt_autograd_0").launch(10, 3).launch(25, 4).launch(40, 5).launch(70, 6);
    for (std::uint64_t i = 3; i <= 6; ++i) capture.kernel(i, 100 * i, 100 * i + 10);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(att.owner[op_id(2)], 0U) << "b has not begun";
    EXPECT_EQ(att.owner[op_id(3)], owner_ambiguous);
    EXPECT_EQ(att.owner[op_id(4)], owner_ambiguous);
    EXPECT_EQ(att.owner[op_id(5)], 0U) << "b has ended";
}

// Autograd's stream is that of trainer a, who is between two ranges: b's on another stream is no better guess.
TEST(Adoption, DoesNotGiveWorkToATrainerOnAnotherStream) {
    capture_builder capture;
    capture.thread("trainer a").push(1, "step").launch(2, 1).pop(10).push(50, "step").pop(60);
    capture.thread("trainer b").push(1, "step").launch(2, 2).pop(90);
    capture.kernel(1, 100, 101, {.stream = 7}).kernel(2, 101, 102, {.stream = 20});
    capture.thread("pt_autograd_0").launch(30, 3);
    capture.kernel(3, 200, 210, {.stream = 7});
    const timeline data = capture.build();
    EXPECT_EQ(attribute(data).owner[op_id(2)], owner_no_range);
}

// DDP's hooks reduce gradients in NCCL's own domain, on a stream that only they use.
TEST(Adoption, PutsNcclsRangesOnAutogradsThreadUnderBackward) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    add_trainer(capture, "python", 1);
    capture.thread("pt_autograd_0")
        .launch(25, 2)
        .push(30, "ncclAllReduce", nccl)
        .launch(31, 3)
        .pop(32, nccl)
        .launch(33, 4);
    capture.kernel(2, 200, 210).kernel(3, 210, 230, {.stream = 33}, "ncclDevKernel_AllReduce").kernel(4, 230, 270);
    const timeline data = capture.build();
    const projection p = project(data);
    EXPECT_THAT(sums(p), ElementsAre("iteration # 71 0", "iteration #/forward 1 1", "iteration #/backward 70 50",
                                     "iteration #/backward/NCCL:ncclAllReduce 20 20", "(no range) 0 0",
                                     "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(row_at(p, "iteration #/backward").communication_ns, 20);
    EXPECT_EQ(row_at(p, "iteration #/backward").adopted_ops, 3U);
}

// forward's ranges again, with NCCL's begun inside one and ended after it.
TEST(Adoption, FollowsInterleavedPopsOfTwoDomainsOnAutogradsThread) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    add_trainer(capture, "python", 1);
    capture.thread("pt_autograd_0")
        .push(30, "forward")
        .launch(31, 2)
        .push(32, "ncclReduce", nccl)
        .launch(33, 3)
        .pop(34)  // forward
        .launch(35, 4)
        .pop(36, nccl)
        .launch(37, 5);
    for (std::uint64_t i = 2; i <= 5; ++i) capture.kernel(i, 100 * i, 101 * i);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("forward", "backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 2), ElementsAre("ncclReduce", "forward", "backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 3), ElementsAre("ncclReduce", "backward", "iteration 1"));
    EXPECT_THAT(ranges_of(data, att, 4), ElementsAre("backward", "iteration 1"));
    EXPECT_THAT(sums(project(data, att)),
                ElementsAre("iteration # 15 0", "iteration #/forward 1 1", "iteration #/backward 14 5",
                            "iteration #/backward/forward 5 2", "iteration #/backward/forward/NCCL:ncclReduce 7 7",
                            "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(Adoption, ConsidersThreadsBetweenTheirFirstAndLastRange) {
    capture_builder capture;
    add_trainer(capture, "trainer", 1);
    capture.thread("evaluator").launch(5, 2).push(100, "evaluate").pop(200);
    capture.kernel(2, 110, 111);
    capture.thread("pt_autograd_0").launch(30, 3).launch(150, 4);
    capture.kernel(3, 200, 210).kernel(4, 300, 310);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(data.name(data.ranges[att.owner[op_id(2)]].name), "backward");
    EXPECT_EQ(data.name(data.ranges[att.owner[op_id(3)]].name), "evaluate");
}

TEST(Adoption, LeavesAutogradsRangesAloneWithoutATrainer) {
    capture_builder capture;
    capture.thread("python").launch(1, 1);
    capture.kernel(1, 100, 101);
    capture.thread("pt_autograd_0").push(30, "hook").launch(31, 2).pop(32);
    capture.kernel(2, 200, 210);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(att.parent[range_id(0)], npos);
    EXPECT_EQ(att.owner[op_id(1)], 0U);
    EXPECT_EQ(att.adopted[op_id(1)], 0);
    EXPECT_THAT(sums(project(data, att)),
                ElementsAre("hook 10 10", "(no range) 1 1", "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(Adoption, TreatsAllNodesOfAGraphAlike) {
    // The graph's first kernel runs on trainer a's stream, a later one on trainer b's.
    capture_builder capture;
    add_trainer(capture, "trainer a", 1, {.stream = 7});
    add_trainer(capture, "trainer b", 2, {.stream = 20});
    capture.thread("pt_autograd_0").enter(30, 3).exit(31, 3);
    capture.kernel(3, 210, 220, {.stream = 20}).kernel(3, 200, 210, {.stream = 7});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_EQ(data.ranges[att.owner[op_id(2)]].thread, 0U);
    EXPECT_EQ(att.owner[op_id(3)], att.owner[op_id(2)]);
}

TEST(Adoption, FollowsThePatternAndCanBeSwitchedOff) {
    capture_builder capture;
    add_trainer(capture, "python", 1);
    capture.thread("pt_autograd_0").launch(30, 2);
    capture.thread("MyEngine-12").launch(31, 3);
    capture.kernel(2, 200, 210).kernel(3, 210, 220);
    const timeline data = capture.build();

    attribution att = attribute(data, {.adopt_pattern = ""});
    EXPECT_EQ(att.owner[op_id(1)], owner_no_range);
    EXPECT_EQ(att.owner[op_id(2)], owner_no_range);
    att = attribute(data, {.adopt_pattern = "MyEngine-*"});
    EXPECT_EQ(att.owner[op_id(1)], owner_no_range);
    EXPECT_EQ(att.owner[op_id(2)], 2U);
}

}  // namespace
}  // namespace prof::adoption_test
