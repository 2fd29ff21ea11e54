// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_graph_test {
namespace {

class FakeGraph : public cupti_client {
protected:
    void SetUp() override {
        cupti_client::SetUp();
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    }

    // a, then b.
    cudaGraphExec_t capture_two_kernels() {
        EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        EXPECT_EQ(fake_cuda_launch("a", 5000, stream), cudaSuccess);
        EXPECT_EQ(fake_cuda_launch("b", 3000, stream), cudaSuccess);
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        cudaGraphExec_t exec = nullptr;
        EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
        return exec;
    }

    cudaStream_t stream = nullptr;
};

TEST_F(FakeGraph, RunsNothingAtCapture) {
    capture_two_kernels();
    EXPECT_EQ(fake_gpu_journal_size(), 0U);
}

TEST_F(FakeGraph, ReplaysItsNodesUnderTheLaunchsCorrelationId) {
    const cudaGraphExec_t exec = capture_two_kernels();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    const auto records = kernels();
    ASSERT_EQ(records.size(), 4U);
    EXPECT_EQ(records[0].correlationId, records[1].correlationId);
    EXPECT_EQ(records[2].correlationId, records[3].correlationId);
    EXPECT_NE(records[0].correlationId, records[2].correlationId);
    EXPECT_EQ(records[1].start, records[0].end);
    EXPECT_EQ(records[2].start, records[1].end);
    EXPECT_NE(records[0].graphNodeId, 0U);
    EXPECT_NE(records[0].graphNodeId, records[1].graphNodeId);
    EXPECT_EQ(records[0].graphNodeId, records[2].graphNodeId);
}

TEST_F(FakeGraph, JoinsASecondStreamByEvents) {
    cudaStream_t second = nullptr;
    cudaEvent_t fork = nullptr;
    cudaEvent_t join = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&join), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    fake_cuda_launch("root", 1000, stream);
    ASSERT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(second, fork, 0), cudaSuccess);
    fake_cuda_launch("left", 5000, stream);
    fake_cuda_launch("right", 9000, second);
    ASSERT_EQ(cudaEventRecord(join, second), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(stream, join, 0), cudaSuccess);
    fake_cuda_launch("leaf", 1000, stream);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);

    // journal: the graph, root, left, right, leaf
    ASSERT_EQ(fake_gpu_journal_size(), 5U);
    EXPECT_EQ(journal(2).start_ns, journal(1).end_ns);
    EXPECT_EQ(journal(3).start_ns, journal(1).end_ns);
    EXPECT_EQ(journal(4).start_ns, journal(3).end_ns);
    EXPECT_EQ(journal(0).end_ns - journal(0).start_ns, 11'000U);
}

TEST_F(FakeGraph, TracesAGraphAsAWholeWithGraphTrace) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    const cudaGraphExec_t exec = capture_two_kernels();
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    EXPECT_THAT(kinds, testing::ElementsAre(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
}

TEST_F(FakeGraph, AbortsAtTheReplayOfAGraphOlderThanGraphTrace) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const cudaGraphExec_t exec = capture_two_kernels();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    EXPECT_DEATH((void)cudaGraphLaunch(exec, stream), "instantiated before CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
}

TEST_F(FakeGraph, AnnouncesEachClonedNodeAtInstantiation) {
    subscribe();
    for (const CUpti_CallbackId cbid : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
        ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid), CUPTI_SUCCESS);
    }
    capture_two_kernels();
    std::vector<CUpti_CallbackId> seen;
    for (const seen_callback& each : callbacks) {
        seen.push_back(each.cbid);
    }
    EXPECT_THAT(seen,
                testing::ElementsAre(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                     CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                     CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
    ASSERT_EQ(clones.size(), 2U);
    EXPECT_NE(clones[0].first, clones[0].second);
    EXPECT_NE(clones[0].second, clones[1].second);
}

}  // namespace
}  // namespace fake::fake_graph_test
