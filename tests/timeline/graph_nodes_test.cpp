// SPDX-License-Identifier: Apache-2.0
#include "timeline/captured_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::graph_nodes_test {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t node(std::uint64_t graph, std::uint64_t number) { return graph << 32 | number; }

// When the node of each operation was captured, in order of start; -1: not of a graph, -2: not seen.
std::vector<std::int64_t> captured_at(const timeline& data) {
    std::vector<std::int64_t> times;
    for (const gpu_op& op : data.ops) {
        times.push_back(op.graph_node == npos                   ? -1
                        : op.graph_node == graph_capture_unseen ? -2
                                                                : data.graph_nodes[op.graph_node].created_ns);
    }
    return times;
}

TEST(GraphNodes, AreFoundThroughLaunchedCopies) {
    capture_builder capture;
    capture.thread("main")
        .node(10, node(1, 0))
        .node(20, node(1, 1))
        .copy(30, node(2, 0), node(1, 0))
        .copy(31, node(2, 1), node(1, 1))
        .launch(40, 1, "");
    capture.kernel(1, 50, 60, {.graph_node = node(2, 0)}).kernel(1, 60, 70, {.graph_node = node(2, 1)});
    capture.kernel(9, 80, 90);
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(10, 20, -1));
}

TEST(GraphNodes, AreFoundThroughCopiesOfCopiesMadeByOtherThreads) {
    // A graph, its clone, the clone as a child of another graph, and that instantiated.
    capture_builder capture;
    thread_script& main = capture.thread("main");
    thread_script& other = capture.thread("other");
    main.node(10, node(1, 0));
    other.copy(20, node(2, 0), node(1, 0));
    main.copy(30, node(3, 5), node(2, 0));
    other.copy(40, node(4, 7), node(3, 5));
    main.launch(50, 1, "");
    capture.kernel(1, 60, 70, {.graph_node = node(4, 7)});
    capture.transfer(
        {.start_ns = 70, .end_ns = 80, .correlation = 1, .graph_node_id = node(2, 0), .kind = transfer_kind::memset});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(10, 10));
}

TEST(GraphNodes, AreUnknownWithoutTheirCapture) {
    // Only the instantiation was seen, and of another graph nothing.
    capture_builder capture;
    capture.thread("main").push(1, "setup").copy(30, node(2, 0), node(1, 0)).pop(31).launch(40, 1, "");
    capture.kernel(1, 50, 60, {.graph_node = node(2, 0)}).kernel(1, 60, 70, {.graph_node = node(7, 7)});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(-2, -2));
}

TEST(GraphNodes, AreThoseWithTheIdAtTheLaunch) {
    capture_builder capture;
    capture.thread("main").node(10, node(1, 0)).launch(20, 1, "").node(30, node(1, 0)).launch(40, 2, "");
    capture.kernel(1, 100, 110, {.graph_node = node(1, 0)}).kernel(2, 110, 120, {.graph_node = node(1, 0)});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(10, 30));
}

// Another thread updates it, as it does the graph that the update came from, and that is gone afterwards.
TEST(GraphNodes, StandForTheirUpdateFromThenOn) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    thread_script& other = capture.thread("other");
    main.node(10, node(1, 0)).copy(20, node(2, 0), node(1, 0)).launch(30, 1, "");
    other.node(40, node(3, 0)).update(50, node(2, 0), node(3, 0));
    other.add({.ticks = 60, .value = node(3, 0), .kind = record_kind::graph_node_gone}).node(61, node(3, 0));
    main.launch(70, 2, "");
    other.node(80, node(4, 0)).update(90, node(2, 0), node(4, 0));
    main.launch(100, 3, "");
    // The GPU is late.
    for (std::uint64_t c = 1; c <= 3; ++c) capture.kernel(c, 1000 * c, 1001 * c, {.graph_node = node(2, 0)});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(10, 40, 80));
}

TEST(GraphNodes, AreUnknownWithoutTheUpdatingGraph) {
    capture_builder capture;
    capture.thread("main")
        .node(10, node(1, 0))
        .copy(20, node(2, 0), node(1, 0))
        .update(50, node(2, 0), node(3, 0))
        .launch(70, 2, "");
    capture.kernel(2, 100, 110, {.graph_node = node(2, 0)});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(-2));
}

TEST(GraphNodes, SurviveCyclesOfADamagedCapture) {
    capture_builder capture;
    capture.thread("main").copy(10, 5, 6).copy(10, 6, 5).copy(11, 7, 7).launch(20, 1, "");
    capture.kernel(1, 30, 40, {.graph_node = 5}).kernel(1, 40, 50, {.graph_node = 7});
    EXPECT_THAT(captured_at(capture.build()), ElementsAre(-2, -2));
}

TEST(GraphNodes, HaveTheRangesOpenAtTheirCapture) {
    capture_builder capture;
    capture.thread("main").push(1, "a").push(2, "b").node(3, 1).pop(4).node(5, 2).launch(6, 1, "");
    capture.kernel(1, 10, 20, {.graph_node = 1}).kernel(1, 20, 30, {.graph_node = 2});
    const timeline data = capture.build();
    const auto innermost = [&](std::size_t op) {
        const std::uint32_t open = data.graph_nodes[data.ops[op].graph_node].open;
        return data.name(data.ranges[data.open_nodes[open].range].name);
    };
    EXPECT_EQ(innermost(0), "b");
    EXPECT_EQ(innermost(1), "a");
}

TEST(GraphNodes, ExplainALaunchWithoutItsOwnRecord) {
    capture_builder capture;
    capture.thread("main").begin_capture(1, 10).enter(2, 11, "kernel").node(3, 1).exit(4, 11).launch(5, 12);
    const timeline data = capture.build();
    EXPECT_EQ(data.api_calls[0].kind, api_class::begins_graph_capture);
    EXPECT_TRUE(data.api_calls[1].is_captured);
    EXPECT_FALSE(data.api_calls[2].is_captured);
    EXPECT_EQ(data.quality.launches_without_completion, 1U) << "the one that was captured into nothing";
}

TEST(GraphNodes, MayBeRecordedAsOneGraph) {
    capture_builder capture;
    capture.thread("main").push(0, "step").launch(1, 1, "").pop(2);
    capture.graph(1, 10, 35, 4);
    const timeline data = capture.build();
    ASSERT_EQ(data.ops.size(), 1U);
    EXPECT_EQ(data.ops[0].kind, op_kind::graph);
    EXPECT_EQ(data.ops[0].launch, 0U);
    EXPECT_EQ(data.ops[0].end_ns, 35);
    EXPECT_EQ(data.ops[0].graph_node, npos);
    EXPECT_EQ(data.graphs[data.ops[0].detail].graph_id, 4U);
}

}  // namespace
}  // namespace prof::graph_nodes_test
