// SPDX-License-Identifier: Apache-2.0
// The records of graphs: from a kernel's node id alone they give the captured node.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "hooks/cupti/inner_nodes.hpp"
#include "hooks/cupti/tracer.hpp"
#include "hooks/one_ring.hpp"
#include "ring/registry.hpp"

namespace prof::graph_events_test {
namespace {

region_options two_rings() {
    region_options options = test::one_ring();
    options.large_rings = 3;
    options.large_ring_bytes = 1U << 20;
    return options;
}
region rings{two_rings()};

struct GraphEvents : testing::Test {
    GraphEvents() {
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        install_region(&rings, nullptr);
        EXPECT_EQ(tracer.attach(++epoch).message(), "");
        set_gate(recording_epoch, epoch);
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    }
    ~GraphEvents() override {
        set_gate(recording_epoch, 0);
        tracer.detach(true);
        while (tracer.read_completed(batch)) tracer.give_back(batch);
        drain();
    }

    void drain() {
        for (ring_header& ring : rings.rings()) {
            ring_consumer<record> consumer(&ring.counters, rings.slots(ring), ring.capacity);
            const auto view = consumer.peek();
            for (const auto part : {view.first, view.second}) {
                for (const record& r : part) {
                    if (r.kind == record_kind::graph_node) origin[r.value] = latest_node = r.value;
                    if (r.kind == record_kind::graph_clone) origin[r.value] = origin[original_node(r)];
                    if (r.kind == record_kind::graph_node_gone) origin.erase(r.value);
                    if (r.kind == record_kind::api_enter && r.color != 0) launched.push_back(r.color);
                }
            }
            consumer.release(view.end);
        }
    }

    void capture_into(cudaGraph_t graph, const std::vector<std::string>& kernels) {
        EXPECT_EQ(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
                  cudaSuccess);
        for (const std::string& kernel : kernels) {
            EXPECT_EQ(fake_cuda_launch(kernel.c_str(), 1000, stream), 0);
            drain();
            name_of[latest_node] = kernel;
        }
        EXPECT_EQ(cudaStreamEndCapture(stream, nullptr), cudaSuccess);
    }
    cudaGraph_t capture(const std::vector<std::string>& kernels) {
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
        capture_into(graph, kernels);
        return graph;
    }
    static cudaGraph_t as_child(cudaGraph_t inner) {
        cudaGraph_t outer = nullptr;
        cudaGraphNode_t node = nullptr;
        EXPECT_EQ(cudaGraphCreate(&outer, 0), cudaSuccess);
        EXPECT_EQ(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, inner), cudaSuccess);
        EXPECT_EQ(cudaGraphDestroy(inner), cudaSuccess);
        return outer;
    }
    static cudaGraph_t add_body(cudaGraph_t graph) {
        cudaGraphNode_t node = nullptr;
        cudaGraphNodeParams what{};
        what.type = cudaGraphNodeTypeConditional;
        what.conditional.type = cudaGraphCondTypeIf;
        what.conditional.size = 1;
        EXPECT_EQ(cudaGraphConditionalHandleCreate(&what.conditional.handle, graph, 1, cudaGraphCondAssignDefault),
                  cudaSuccess);
        EXPECT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &what), cudaSuccess);
        return what.conditional.phGraph_out[0];
    }
    static cudaGraphExec_t instantiate(cudaGraph_t graph) {
        cudaGraphExec_t exec = nullptr;
        EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
        return exec;
    }

    // Each kernel that has run leads back to the one of its name that was captured. Returns how many did.
    std::size_t check_launch(cudaGraphExec_t exec) {
        EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        tracer.flush(true);
        drain();
        std::size_t found = 0;
        for (; tracer.read_completed(batch); tracer.give_back(batch), batch.clear()) {
            for (const kernel_record& kernel : batch.kernels) {
                const auto node = origin.find(kernel.graph_node_id);
                EXPECT_TRUE(node != origin.end());
                if (node == origin.end()) continue;
                EXPECT_EQ(name_of[node->second], rings.names().text(kernel.name));
                EXPECT_EQ(launched.back(), kernel.graph_id);
                ++found;
            }
        }
        return found;
    }
    static std::uint64_t drops() {
        std::uint64_t all = 0;
        for (const std::uint64_t each : rings.drops()) all += each;
        return all;
    }

    static inline std::uint32_t epoch = 0;
    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 1U << 18, .buffer_count = 8}};
    activity_batch batch;
    cudaStream_t stream = nullptr;
    std::map<std::uint64_t, std::uint64_t> origin;  // node → the one that was captured
    std::map<std::uint64_t, std::string> name_of;
    std::vector<std::uint32_t> launched;
    std::uint64_t latest_node = 0;
};

TEST_F(GraphEvents, LinkAnInstantiatedGraphToItsCapture) {
    EXPECT_EQ(check_launch(instantiate(capture({"a", "b"}))), 2U);
    EXPECT_EQ(drops(), 0U);
}

TEST_F(GraphEvents, LinkChildGraphsToTheirCapture) {
    const cudaGraph_t child = as_child(capture({"a", "b"}));
    capture_into(child, {"c"});
    EXPECT_EQ(check_launch(instantiate(child)), 3U);
    const cudaGraph_t nested = as_child(as_child(capture({"d"})));
    const cudaGraphExec_t exec = instantiate(nested);
    EXPECT_EQ(cudaGraphDestroy(nested), cudaSuccess);
    EXPECT_EQ(check_launch(exec), 1U);
    EXPECT_EQ(check_launch(exec), 1U);
    EXPECT_EQ(drops(), 0U);
}

TEST_F(GraphEvents, LinkConditionalBodiesToTheirCapture) {
    const cudaGraph_t graph = capture({"before"});
    const cudaGraph_t body = add_body(graph);
    capture_into(body, {"a", "b"});
    capture_into(add_body(body), {"c"});
    capture_into(add_body(graph), std::vector<std::string>(600, "many"));
    EXPECT_EQ(check_launch(instantiate(graph)), 604U);
    EXPECT_EQ(check_launch(instantiate(as_child(graph))), 604U);
    EXPECT_EQ(drops(), 0U);
}

TEST_F(GraphEvents, LinkAnUpdatedGraphToTheLatestCapture) {
    const cudaGraphExec_t exec = instantiate(capture({"a", "b"}));
    EXPECT_EQ(check_launch(exec), 2U);
    for (const char* name : {"c", "d"}) {
        const cudaGraph_t graph = capture({name, "e"});
        cudaGraphExecUpdateResultInfo result{};
        EXPECT_EQ(cudaGraphExecUpdate(exec, graph, &result), cudaSuccess);
        EXPECT_EQ(check_launch(exec), 2U);
    }
}

TEST_F(GraphEvents, ReportTheEndOfEveryReportedNode) {
    const cudaGraph_t inner = capture({"a"});
    capture_into(add_body(inner), {"b", "c"});
    const cudaGraph_t graph = as_child(inner);
    const cudaGraphExec_t exec = instantiate(graph);
    EXPECT_EQ(check_launch(exec), 3U);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(check_launch(exec), 3U);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    drain();
    EXPECT_TRUE(origin.empty());
}

// A copy that no executable is made of is not asked for its id later.
TEST_F(GraphEvents, IgnoreNodesOutsideAnInstantiation) {
    const cudaGraph_t child = as_child(capture({"a"}));
    EXPECT_EQ(first_inner_block(), 0U);
    const std::size_t before = fake_cupti_calls("cuptiGetGraphNodeId");
    EXPECT_EQ(check_launch(instantiate(capture({"b"}))), 1U);
    EXPECT_EQ(fake_cupti_calls("cuptiGetGraphNodeId") - before, 1U + 1U + 2U) << "captured, copied, the copy's two";
    EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
    EXPECT_EQ(first_inner_block(), 0U);
}

CUgraphNode node_at(std::uintptr_t address) { return reinterpret_cast<CUgraphNode>(address); }

TEST(InnerNodes, UseTheirOwnPool) {
    constexpr std::uint64_t in_another_graph = std::uint64_t{2} << 32;
    for (int again = 0; again < 3; ++again) {
        begin_instantiation(7);
        note_graph_id(1);
        note_graph_id(2);
        EXPECT_TRUE(remember_inner_node(node_at(8), std::uint64_t{1} << 32)) << "the executable's own";
        EXPECT_EQ(first_inner_block(), 0U);
        const std::uint64_t room = std::uint64_t{inner_nodes_a_block} * inner_node_blocks;
        for (std::uint64_t i = 0; i < room; ++i) {
            ASSERT_TRUE(remember_inner_node(node_at(16 + 8 * i), in_another_graph + i)) << i;
        }
        EXPECT_FALSE(remember_inner_node(node_at(8), in_another_graph));
        forget_inner_node(node_at(16 + 8 * 300));
        std::uint64_t seen = 0;
        take_inner_nodes([&](const inner_node& inner) { seen += inner.id == in_another_graph + 300 ? 1000'000 : 1; });
        EXPECT_EQ(seen, room - 1);
        EXPECT_FALSE(is_instantiating(7));
    }
}

TEST(InnerNodes, AreForgottenWhenTheCallsEndMayBeUnrecorded) {
    begin_instantiation(7);
    EXPECT_TRUE(remember_inner_node(node_at(8), std::uint64_t{2} << 32));
    EXPECT_TRUE(is_instantiating(7));
    EXPECT_FALSE(is_instantiating(8));
    EXPECT_EQ(first_inner_block(), 0U);
}

TEST(InnerNodes, KeepThreadsApart) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= 4; ++t) {
        threads.emplace_back([t] {
            for (int round = 0; round < 300; ++round) {
                begin_instantiation(1);
                for (std::uint64_t i = 0; i < 600; ++i) {
                    ASSERT_TRUE(remember_inner_node(node_at(8 * t), t << 32 | i));
                }
                std::uint64_t next = 0;
                take_inner_nodes([&](const inner_node& inner) { ASSERT_EQ(inner.id, t << 32 | next++); });
                ASSERT_EQ(next, 600U);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace prof::graph_events_test
