// SPDX-License-Identifier: Apache-2.0
// Where replayed work goes, on programs worked by hand. Each captures kernels a, b … as nodes 1, 2 … and launches them
// as nodes 101, 102 … of the instantiated graph.
#include "analysis/attribution/graph_ranges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/rows.hpp"
#include "report/tables/kernels.hpp"
#include "support/capture_builder.hpp"

namespace prof::graph_ranges_test {
namespace {

using testing::ElementsAre;

// "path sum self instances", "*" before the captured ones, of all rows with GPU work.
std::vector<std::string> rows_of(const projection& p) {
    std::vector<std::string> lines;
    for (const projection_row& r : p.rows) {
        if (r.gpu_sum_ns == 0) continue;
        lines.push_back((r.is_captured ? "*" : "") + r.path + ' ' + std::to_string(r.gpu_sum_ns) + ' ' +
                        std::to_string(r.gpu_self_ns) + ' ' + std::to_string(r.instances));
        EXPECT_TRUE(!r.is_captured || r.host_ns == 0) << r.path;
    }
    EXPECT_EQ(self_total(p), p.total_gpu_ns);
    return lines;
}

thread_script& instantiate(thread_script& thread, std::uint64_t ns, std::uint64_t nodes) {
    for (std::uint64_t i = 1; i <= nodes; ++i) thread.copy(ns, 100 + i, i);
    return thread;
}

TEST(CapturedRanges, SplitEachReplayLikeTheStep) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "prepare").begin_capture(1, 90).push(2, "forward").node(3, 1).node(4, 2).pop(5);
    main.push(6, "backward").node(7, 3).pop(8).node(9, 4);
    instantiate(main, 10, 4).pop(11);
    for (std::uint64_t step = 1; step <= 2; ++step) {
        const std::uint64_t t = step * 1000;
        main.push(t, "iteration " + std::to_string(step)).push(t + 1, "replay").launch(t + 2, step, "").pop(t + 4);
        main.pop(t + 5);
        capture.kernel(step, t + 10, t + 20, {.graph_node = 101}).kernel(step, t + 20, t + 25, {.graph_node = 102});
        capture.kernel(step, t + 25, t + 65, {.graph_node = 103}).kernel(step, t + 65, t + 68, {.graph_node = 104});
    }
    const projection p = project(capture.build());
    EXPECT_THAT(rows_of(p), ElementsAre("iteration # 116 0 2", "iteration #/replay 116 6 2",
                                        "*iteration #/replay/forward 30 30 2", "*iteration #/replay/backward 80 80 2"));
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    const auto forward = std::find_if(p.rows.begin(), p.rows.end(),
                                      [](const projection_row& r) { return r.is_captured && r.name == "forward"; });
    EXPECT_EQ(forward->gpu_span_ns, 2 * 15);
    EXPECT_EQ(forward->gpu_busy_ns, 2 * 15);
    EXPECT_EQ(forward->instance_min_ns, 15);
    EXPECT_EQ(forward->instance_max_ns, 15);
    EXPECT_EQ(forward->ops, 4U);
}

TEST(CapturedRanges, IncludeRangesAroundTheCaptureForALaunchOutsideRanges) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "prepare").begin_capture(1, 90).push(2, "forward").node(3, 1).pop(5).node(6, 2);
    instantiate(main, 10, 2).pop(11).launch(20, 1, "").push(30, "step").launch(31, 2, "").pop(33);
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(1, 110, 113, {.graph_node = 102});
    capture.kernel(2, 200, 210, {.graph_node = 101}).kernel(2, 210, 213, {.graph_node = 102});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("*prepare 13 3 1", "*prepare/forward 10 10 1", "step 13 3 1", "*step/forward 10 10 1"));
}

TEST(CapturedRanges, CountOnceIfStillOpenAtTheLaunch) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "all").push(3, "forward").node(4, 1).pop(5);
    instantiate(main, 10, 1).push(11, "replay").launch(12, 1, "").pop(14).pop(15);
    capture.kernel(1, 100, 110, {.graph_node = 101});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("all 10 0 1", "all/replay 10 0 1", "*all/replay/forward 10 10 1"));
}

TEST(CapturedRanges, AllCountForAGraphBuiltNodeByNode) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "build").push(1, "forward").node(2, 1).pop(3).pop(4);
    instantiate(main, 10, 1).push(11, "step").launch(12, 1, "").pop(14);
    capture.kernel(1, 100, 110, {.graph_node = 101});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step 10 0 1", "*step/build 10 0 1", "*step/build/forward 10 10 1"));
}

TEST(CapturedRanges, FollowAutogradsTrainerInTheCapture) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    thread_script& autograd = capture.thread("pt_autograd_0");
    main.push(0, "prepare").begin_capture(1, 90).push(2, "forward").node(3, 1).pop(5).push(6, "backward");
    autograd.node(7, 2).push(8, "recompute").node(9, 3).pop(10);
    main.pop(12);
    instantiate(main, 13, 3).pop(14).push(20, "step").launch(21, 1, "").pop(23);
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(1, 110, 130, {.graph_node = 102});
    capture.kernel(1, 130, 137, {.graph_node = 103});
    const projection p = project(capture.build());
    EXPECT_THAT(rows_of(p), ElementsAre("step 37 0 1", "*step/forward 10 10 1", "*step/backward 27 20 1",
                                        "*step/backward/recompute 7 7 1"));
    EXPECT_EQ(p.adopted_ops, 0U) << "the launch was the trainer's own";

    // Without adoption autograd's thread stands for itself; it began no capture, so all it had open counts.
    projection_options off;
    off.attribution.adopt_pattern = "";
    EXPECT_THAT(rows_of(project(capture.build(), off)),
                ElementsAre("step 37 20 1", "*step/forward 10 10 1", "*step/recompute 7 7 1"));
}

TEST(CapturedRanges, StartAtTheCaptureOnAutogradsThread) {
    // A compiled model: forward is captured by the trainer, backward's graph by autograd's thread; both enclose theirs.
    capture_builder capture;
    thread_script& main = capture.thread("main");
    thread_script& autograd = capture.thread("pt_autograd_0");
    main.push(0, "forward").begin_capture(1, 90).node(3, 1).pop(5).push(6, "backward");
    autograd.begin_capture(7, 91).node(9, 2);
    main.pop(12);
    instantiate(main, 13, 2).push(20, "step").push(21, "forward").launch(22, 1, "").pop(24).push(25, "backward");
    autograd.launch(26, 2, "");
    main.pop(28).pop(29);
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(2, 110, 130, {.graph_node = 102});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step 30 0 1", "step/forward 10 10 1", "step/backward 20 20 1"));
}

TEST(CapturedRanges, AreNotGuessedBetweenSeveralTrainers) {
    capture_builder capture;
    thread_script& a = capture.thread("train_a");
    thread_script& b = capture.thread("train_b");
    thread_script& autograd = capture.thread("pt_autograd_0");
    a.begin_capture(1, 90).push(2, "step a");
    b.push(3, "step b").launch(4, 5);
    autograd.node(7, 1);
    b.pop(8);
    instantiate(a, 10, 1).launch(21, 1, "").pop(23);
    capture.kernel(5, 90, 91).kernel(1, 100, 110, {.graph_node = 101});
    const projection p = project(capture.build());
    EXPECT_EQ(p.ops_of_ambiguous_captures, 1U);
    EXPECT_THAT(rows_of(p), ElementsAre("step a 10 10 1", "step b 1 1 1"));
}

// A range of the capturing thread itself is known, whichever trainer the thread worked for.
TEST(CapturedRanges, AreTheCapturingThreadsOwnWithSeveralTrainers) {
    capture_builder capture;
    thread_script& a = capture.thread("train_a");
    thread_script& b = capture.thread("train_b");
    thread_script& autograd = capture.thread("pt_autograd_0");
    a.push(1, "step a").launch(2, 5);
    b.push(3, "step b").launch(4, 6);
    a.begin_capture(5, 90);
    autograd.push(6, "layer 3").node(7, 1).pop(8).node(9, 2);
    b.pop(11);
    instantiate(a, 12, 2).pop(15).push(20, "replay").launch(21, 1, "").pop(23);
    b.push(24, "later").pop(25);
    capture.kernel(5, 90, 91).kernel(6, 91, 92).kernel(1, 100, 110, {.graph_node = 101});
    capture.kernel(1, 110, 130, {.graph_node = 102});
    const projection p = project(capture.build());
    EXPECT_EQ(p.ops_of_ambiguous_captures, 2U);
    EXPECT_THAT(rows_of(p), ElementsAre("step a 1 1 1", "step b 1 1 1", "replay 30 20 1", "*replay/layer # 10 10 1"));
}

TEST(CapturedRanges, HaveRowsApartFromRangesOfTheSamePath) {
    // The warm-up ran the step eagerly in the same range that replays it later.
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.push(0, "step").push(1, "forward").launch(2, 1).pop(4).pop(5);
    main.begin_capture(10, 90).push(12, "forward").node(13, 1).pop(14);
    instantiate(main, 15, 1).push(20, "step").launch(21, 2, "").pop(23);
    capture.kernel(1, 100, 108).kernel(2, 200, 210, {.graph_node = 101});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step 18 0 2", "step/forward 8 8 1", "*step/forward 10 10 1"));
}

TEST(CapturedRanges, CountReplaysOfUnseenCaptures) {
    capture_builder capture;
    capture.thread("main").push(0, "replay").launch(1, 1, "").pop(3);
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(1, 110, 115, {.graph_node = 102}).kernel(1, 115, 116);
    const projection p = project(capture.build());
    EXPECT_EQ(p.ops_of_unseen_captures, 2U);
    EXPECT_THAT(rows_of(p), ElementsAre("replay 16 16 1"));
}

// Node 1 before the condition, node 2 in its body, which becomes node 102 of the instantiated graph.
TEST(CapturedRanges, IncludeBodiesOfConditionalNodes) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "decide").node(3, 1).pop(4).push(5, "body").node(6, 2).pop(7);
    main.copy(10, 101, 1).copy(11, 202, 2).copy(12, 102, 202);
    for (std::uint64_t step = 1; step <= 2; ++step) {
        main.push(20 * step, "step " + std::to_string(step)).launch_graph(20 * step + 1, step, 9).pop(20 * step + 3);
        capture.kernel(step, 1000 * step, 1000 * step + 10, {.graph_node = 101, .graph = 9});
        for (std::uint64_t run = 1; run <= step; ++run) {
            const std::uint64_t start = 1000 * step + 20 * run;
            capture.kernel(0, start, start + 7, {.stream = 16, .graph_node = 102, .graph = 9});
        }
    }
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step # 41 0 2", "*step #/decide 20 20 2", "*step #/body 21 21 2"));
}

// The body of a conditional node is captured in the midst of the graph that it stands in, and on its own.
TEST(CapturedRanges, StartAtTheCaptureOfTheNodesOwnGraph) {
    constexpr std::uint64_t outer = std::uint64_t{1} << 32;
    constexpr std::uint64_t inner = std::uint64_t{2} << 32;
    constexpr std::uint64_t made = std::uint64_t{3} << 32;
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "forward").copy(3, std::uint64_t{9} << 32, 77).node(3, outer);
    main.begin_capture(4, 91).push(5, "body").node(6, inner).pop(7).node(8, outer + 1).pop(9);
    main.copy(10, made, outer).copy(11, made + 1, outer + 1).copy(12, made + 2, inner);
    main.push(20, "step").launch_graph(21, 1, 3).pop(23);
    capture.kernel(1, 100, 110, {.graph_node = made, .graph = 3});
    capture.kernel(0, 110, 120, {.stream = 16, .graph_node = made + 2, .graph = 3});
    capture.kernel(1, 120, 130, {.graph_node = made + 1, .graph = 3});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step 30 0 1", "*step/forward 20 20 1", "*step/body 10 10 1"));
}

TEST(CapturedRanges, FollowTheUpdateOfAnExecutable) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "old").node(3, 1).pop(4).copy(5, 101, 1).push(20, "step 1").launch(21, 1, "");
    main.pop(23).begin_capture(30, 91).push(31, "new").node(32, 2).pop(33).update(34, 101, 2);
    main.push(40, "step 2").launch(41, 2, "").pop(43);
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(2, 110, 113, {.graph_node = 101});
    EXPECT_THAT(rows_of(project(capture.build())),
                ElementsAre("step # 13 0 2", "*step #/old 10 10 1", "*step #/new 3 3 1"));
}

TEST(CapturedRanges, AreAbsentForAGraphRecordedAsAWhole) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "forward").node(3, 1).pop(4);
    instantiate(main, 5, 1).push(10, "replay").launch(11, 1, "").pop(13).push(20, "replay").launch(21, 2, "").pop(23);
    capture.graph(1, 100, 130, 6).graph(2, 130, 170, 6);
    const timeline data = capture.build();
    const projection p = project(data);
    EXPECT_THAT(rows_of(p), ElementsAre("replay 70 70 2"));
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    const std::vector<kernel_row> kernels = kernel_table(data);
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].name, "CUDA graph 6");
    EXPECT_EQ(kernels[0].time.instances, 2U);
    EXPECT_EQ(kernels[0].time.total_ns, 70);
    EXPECT_TRUE(transfer_table(data).empty());
}

}  // namespace
}  // namespace prof::graph_ranges_test
