// SPDX-License-Identifier: Apache-2.0
#include "timeline/graph_bodies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/capture_builder.hpp"

namespace prof::graph_bodies_test {
namespace {

using testing::ElementsAre;

// The launches' correlations, in order of the operations' start; 0: none is known.
std::vector<std::uint64_t> launches_of(const timeline& data) {
    std::vector<std::uint64_t> found;
    for (const gpu_op& op : data.ops) {
        found.push_back(op.launch == npos ? 0 : data.api_calls[op.launch].correlation);
        EXPECT_TRUE(op.launch == npos || op.correlation == found.back());
    }
    return found;
}

constexpr std::uint32_t graph = 9;
constexpr placement outside = {.graph_node = 1, .graph = graph};
constexpr placement body = {.stream = 16, .graph_node = 2, .graph = graph};

TEST(GraphBodies, BelongToTheLaunchThatBeganLast) {
    capture_builder capture;
    capture.thread("main").launch(1, 1, "").launch(3, 2, "");
    capture.kernel(1, 100, 110, outside).kernel(0, 115, 120, body).kernel(0, 121, 130, body);
    capture.kernel(2, 140, 150, outside).kernel(0, 160, 170, body);
    EXPECT_THAT(launches_of(capture.build()), ElementsAre(1, 1, 1, 2, 2));
}

// Both launches were called before: what the body's first run shows, before which there was nothing, holds for the
// second.
TEST(GraphBodies, MayComeBeforeTheRestOfTheirLaunch) {
    capture_builder capture;
    capture.thread("main").launch(1, 1, "").launch(3, 2, "").launch(5, 3, "");
    for (std::uint64_t i = 1; i <= 3; ++i) {
        capture.kernel(0, 100 * i, 100 * i + 10, body).kernel(i, 100 * i + 20, 100 * i + 30, outside);
    }
    EXPECT_THAT(launches_of(capture.build()), ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST(GraphBodies, BelongToTheLatestCallWhenTheirGraphHasNothingElse) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.launch_graph(10, 1, graph).launch_graph(10'000, 2, graph).launch_graph(20'000, 3, graph + 1);
    capture.kernel(0, 100, 110, body).kernel(0, 120, 130, body).kernel(0, 30'000, 30'010, body);
    EXPECT_THAT(launches_of(capture.build()), ElementsAre(1, 1, 2));
}

TEST(GraphBodies, HaveNoLaunchIfItWasNotRecorded) {
    capture_builder capture;
    capture.thread("main").launch_graph(50'000, 1, graph);
    capture.kernel(0, 100, 110, body).kernel(0, 120, 130, {.graph_node = 3, .graph = graph + 1});
    capture.kernel(1, 60'000, 60'010, outside).kernel(0, 60'020, 60'030, body);
    EXPECT_THAT(launches_of(capture.build()), ElementsAre(0, 0, 1, 1));
}

// Where a window warms up, what was launched before it is left out, bodies with the rest.
TEST(GraphBodies, StayInAWindowAfterItsWarmUp) {
    const auto key = [](std::uint32_t id) { return correlation_key(1, id); };
    capture_builder capture;
    capture.thread("main").launch_graph(50'000, key(8), graph);
    capture.parts().windows[1].warmup_calls = 7;
    capture.kernel(key(0), 100, 110, body).kernel(key(5), 120, 130, outside).kernel(key(0), 140, 150, body);
    capture.kernel(key(8), 60'000, 60'010, outside).kernel(key(0), 60'020, 60'030, body);
    EXPECT_THAT(launches_of(capture.build()), ElementsAre(key(8), key(8)));
}

// As in a flight recorder's capture: the launch of the first was trimmed.
TEST(GraphBodies, AreLeftOutWithTheirLaunch) {
    const auto key = [](std::uint32_t id) { return correlation_key(1, id); };
    capture_builder capture;
    capture.thread("main").launch_graph(50'000, key(8), graph);
    capture.parts().begins.emplace();
    capture.parts().begins->latest_call = key(7);
    capture.kernel(key(0), 100, 110, body).kernel(key(5), 120, 130, outside).kernel(key(0), 140, 150, body);
    capture.kernel(key(8), 60'000, 60'010, outside).kernel(key(0), 60'020, 60'030, body);
    const timeline data = capture.build();
    EXPECT_THAT(launches_of(data), ElementsAre(key(8), key(8)));
    EXPECT_EQ(data.quality.launched_before, 3U);
}

// Bodies before, among and after the other nodes, that run as often as it happens; launches far ahead of the GPU.
TEST(GraphBodies, AreFoundInRandomPrograms) {
    std::mt19937_64 random(20261123);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int program = 0; program < 2'000; ++program) {
        capture_builder capture;
        thread_script& main = capture.thread("main");
        const std::uint64_t shape = 1 + below(7);  // which bodies there are
        const std::uint64_t launches = 1 + below(8);
        std::uint64_t host_ns = 0;
        std::uint64_t gpu_ns = 0;
        std::vector<std::uint64_t> expected;
        for (std::uint64_t i = 1; i <= launches; ++i) {
            host_ns += 10 + below(2) * below(50'000);
            gpu_ns = std::max(gpu_ns, host_ns + 2'500) + 1 + below(100);
            main.launch_graph(host_ns, i, graph);
            const auto run = [&](std::uint64_t correlation, std::uint64_t node) {
                capture.kernel(correlation, gpu_ns, gpu_ns + 5, {.graph_node = node, .graph = graph});
                expected.push_back(i);
                gpu_ns += 6 + below(2'000);
            };
            // Where a body may run first it does in the first launch, and the last launch shows what comes last.
            const auto run_body = [&](std::uint64_t which, bool surely) {
                if ((shape >> which & 1) == 0) return;
                for (std::uint64_t n = below(3) + (surely ? 1 : 0); n-- > 0;) run(0, 10 + which);
            };
            run_body(0, i == 1);
            run(i, 1);
            run_body(1, false);
            run(i, 2);
            run_body(2, i == launches);
        }
        ASSERT_EQ(launches_of(capture.build()), expected) << program;
    }
}

}  // namespace
}  // namespace prof::graph_bodies_test
