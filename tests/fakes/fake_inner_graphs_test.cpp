// SPDX-License-Identifier: Apache-2.0
// Graphs inside graphs: the simulated CUPTI reports of them what the real one was measured to
// (docs/lab/cupti-graphs.md).
#include <gmock/gmock.h>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_inner_graphs_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> events;

std::string id_of(CUgraphNode node) {
    std::uint64_t id = 0;
    EXPECT_EQ(cuptiGetGraphNodeId(node, &id), CUPTI_SUCCESS);
    return std::to_string(id >> 32) + '.' + std::to_string(id & UINT32_MAX);
}

void CUPTIAPI on_event(void*, CUpti_CallbackDomain, CUpti_CallbackId what, const void* data) {
    const auto& graph =
        *static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    std::uint32_t id = 0;
    switch (what) {
        case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
            events.push_back("created " + id_of(graph.node));
            break;
        case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
            events.push_back("cloned " + id_of(graph.node) + " of " + id_of(graph.originalNode));
            break;
        case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
            events.push_back("destroyed " + id_of(graph.node));
            break;
        case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
            EXPECT_EQ(cuptiGetGraphId(graph.graph, &id), CUPTI_SUCCESS);
            events.push_back("graph destroyed " + std::to_string(id));
            break;
        case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
            events.emplace_back("starting");
            break;
        case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
            EXPECT_EQ(cuptiGetGraphExecId(graph.graphExec, &id), CUPTI_SUCCESS);
            events.push_back("exec " + std::to_string(id));
            break;
        case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
            events.push_back("updated " + id_of(graph.originalNode) + " by " + id_of(graph.node));
            break;
        case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
            events.push_back("set " + id_of(graph.node));
            break;
        default:
            break;
    }
}

class FakeInnerGraphs : public cupti_client {
protected:
    void SetUp() override {
        cupti_client::SetUp();
        events.clear();
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        ASSERT_EQ(cuptiSubscribe(&subscriber, on_event, nullptr), CUPTI_SUCCESS);
        ASSERT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), CUPTI_SUCCESS);
        ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    }
    void TearDown() override {
        EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
        cupti_client::TearDown();
    }

    void capture_into(cudaGraph_t graph, const std::vector<const char*>& kernels) const {
        EXPECT_EQ(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
                  cudaSuccess);
        for (const char* kernel : kernels) EXPECT_EQ(fake_cuda_launch(kernel, 1000, stream), 0);
        EXPECT_EQ(cudaStreamEndCapture(stream, nullptr), cudaSuccess);
    }
    cudaGraph_t capture(const std::vector<const char*>& kernels) const {
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
        capture_into(graph, kernels);
        return graph;
    }
    // `before`, and then a condition of so many bodies, each of one kernel.
    cudaGraph_t conditional(cudaGraphConditionalNodeType type, const std::vector<const char*>& bodies) {
        const cudaGraph_t graph = capture({"before"});
        EXPECT_EQ(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault), cudaSuccess);
        cudaGraphNodeParams what{};
        what.type = cudaGraphNodeTypeConditional;
        what.conditional.handle = condition;
        what.conditional.type = type;
        what.conditional.size = static_cast<unsigned int>(bodies.size());
        cudaGraphNode_t node = nullptr;
        EXPECT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &what), cudaSuccess);
        for (std::size_t i = 0; i < bodies.size(); ++i) capture_into(what.conditional.phGraph_out[i], {bodies[i]});
        return graph;
    }
    cudaGraphExec_t instantiate(cudaGraph_t graph) {
        events.clear();
        cudaGraphExec_t exec = nullptr;
        EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
        // Without the node of the temporary graph: the latest before `starting` that is no copy.
        const auto starting = std::find(events.begin(), events.end(), "starting");
        if (starting != events.begin() && starting[-1].starts_with("created ")) events.erase(starting - 1);
        return exec;
    }
    // "name node correlated?" of each kernel.
    std::vector<std::string> launch(cudaGraphExec_t exec) {
        kernel_records.clear();
        EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
        std::vector<std::string> lines;
        for (const auto& record : kernels()) {
            lines.push_back(std::string(record.name) + ' ' + std::to_string(record.graphNodeId >> 32) + '.' +
                            std::to_string(record.graphNodeId & UINT32_MAX) +
                            (record.correlationId == 0 ? " alone" : ""));
            EXPECT_EQ(record.graphId, record.graphNodeId >> 32);
        }
        return lines;
    }

    cudaStream_t stream = nullptr;
    cudaGraphConditionalHandle condition = 0;
    CUpti_SubscriberHandle subscriber = nullptr;
};

TEST_F(FakeInnerGraphs, MovesChildNodesBehindTheGraphsNodes) {
    const cudaGraph_t child = capture({"a"});
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    events.clear();
    ASSERT_EQ(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child), cudaSuccess);
    EXPECT_THAT(events, ElementsAre("created 3.0", "cloned 3.0 of 1.0", "created 2.0"));
    const cudaGraphExec_t exec = instantiate(graph);
    EXPECT_THAT(events, ElementsAre("created 5.0", "cloned 5.0 of 3.0", "created 4.0", "cloned 4.0 of 2.0", "starting",
                                    "destroyed 4.0", "graph destroyed 5", "exec 4"));
    EXPECT_THAT(launch(exec), ElementsAre("a 4.1"));
}

TEST_F(FakeInnerGraphs, MovesNodesOfANestedChildTwice) {
    const cudaGraph_t a = capture({"a"});
    cudaGraph_t b = nullptr;
    cudaGraph_t c = nullptr;
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(cudaGraphCreate(&b, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphAddChildGraphNode(&node, b, nullptr, 0, a), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&c, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphAddChildGraphNode(&node, c, nullptr, 0, b), cudaSuccess);
    events.clear();
    ASSERT_EQ(cudaGraphDestroy(a), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(b), cudaSuccess);
    EXPECT_THAT(events, ElementsAre("graph destroyed 1", "destroyed 1.0", "graph destroyed 2", "destroyed 2.0",
                                    "graph destroyed 3", "destroyed 3.0"));
    const cudaGraphExec_t exec = instantiate(c);
    EXPECT_THAT(events, ElementsAre("created 9.0", "cloned 9.0 of 6.0", "created 8.0", "cloned 8.0 of 5.0",
                                    "created 7.0", "cloned 7.0 of 4.0", "starting", "destroyed 7.0",
                                    "graph destroyed 8", "destroyed 7.1", "graph destroyed 9", "exec 7"));
    EXPECT_THAT(launch(exec), ElementsAre("a 7.2"));
}

TEST_F(FakeInnerGraphs, RunsABodyWithoutTheLaunchsCorrelation) {
    const cudaGraphExec_t exec = instantiate(conditional(cudaGraphCondTypeIf, {"body"}));
    EXPECT_THAT(events, ElementsAre("created 3.0", "cloned 3.0 of 1.0", "created 4.0", "cloned 4.0 of 2.0",
                                    "created 3.1", "cloned 3.1 of 1.1", "starting", "graph destroyed 4", "created 3.3",
                                    "created 3.4", "exec 3"));
    EXPECT_THAT(launch(exec), ElementsAre("before 3.0", "body 3.2 alone"));
    fake_gpu_set_condition(condition, 0);
    EXPECT_THAT(launch(exec), ElementsAre("before 3.0"));
}

TEST_F(FakeInnerGraphs, RunsAWhileBodyTheGivenNumberOfTimes) {
    const cudaGraphExec_t exec = instantiate(conditional(cudaGraphCondTypeWhile, {"body"}));
    fake_gpu_set_condition(condition, 3);
    EXPECT_THAT(launch(exec), ElementsAre("before 3.0", "body 3.2 alone", "body 3.2 alone", "body 3.2 alone"));
}

TEST_F(FakeInnerGraphs, RunsOneBodyOfASwitch) {
    const cudaGraphExec_t exec = instantiate(conditional(cudaGraphCondTypeSwitch, {"first", "second"}));
    EXPECT_THAT(launch(exec), ElementsAre("before 4.0", "second 4.3 alone"));
    fake_gpu_set_condition(condition, 0);
    EXPECT_THAT(launch(exec), ElementsAre("before 4.0", "first 4.2 alone"));
    fake_gpu_set_condition(condition, 2);
    EXPECT_THAT(launch(exec), ElementsAre("before 4.0"));
}

TEST_F(FakeInnerGraphs, KeepsTheExecutablesIdsOnUpdate) {
    const cudaGraphExec_t exec = instantiate(capture({"a", "b"}));
    EXPECT_THAT(launch(exec), ElementsAre("a 2.0", "b 2.1"));
    const cudaGraph_t other = capture({"c", "d"});
    events.clear();
    cudaGraphExecUpdateResultInfo result{};
    ASSERT_EQ(cudaGraphExecUpdate(exec, other, &result), cudaSuccess);
    EXPECT_EQ(events.size(), 4U);
    EXPECT_TRUE(events[0].starts_with("updated 2.1 by ") && events[0].ends_with(".1")) << events[0];
    EXPECT_EQ(events[1], "set 2.1");
    EXPECT_TRUE(events[2].starts_with("updated 2.0 by ") && events[2].ends_with(".0")) << events[2];
    ASSERT_EQ(cudaGraphDestroy(other), cudaSuccess);
    EXPECT_THAT(launch(exec), ElementsAre("c 2.0", "d 2.1"));
    EXPECT_NE(cudaGraphExecUpdate(exec, capture({"a"}), &result), cudaSuccess);
}

}  // namespace
}  // namespace fake::fake_inner_graphs_test
