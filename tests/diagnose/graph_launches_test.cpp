// SPDX-License-Identifier: Apache-2.0
// CUDA graphs in the diagnosis: what a graph would save is no price of kernels that are in one. Times are microseconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::graph_launches {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kernel_count = 200;
constexpr std::uint64_t counted_steps = 12;  // the first of 13 is warm-up

std::uint64_t at(std::uint64_t time_us) { return 1'000'000 + 1'000 * time_us; }

// Each step has 200 kernels of 3 us, each 2 us after the one before it. They are a graph, which
// one call launches at 1; or one call launches each. The step ends with a wait.
diagnosis of_small_kernels(bool is_graph) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    std::uint64_t now = 0;
    std::uint64_t correlation = 0;
    for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
        main.step(at(now), step, own);
        if (step > counted_steps) break;
        const std::uint64_t first = now + 6;
        if (is_graph) main.call(at(now + 1), at(now + 4), ++correlation, launch_kernel, "");
        for (std::uint64_t i = 0; i < kernel_count; ++i) {
            const std::uint64_t begin = first + 5 * i;
            if (!is_graph) main.call(at(begin - 5), at(begin - 2), ++correlation, launch_kernel, "kernel");
            placement on{};
            if (is_graph) on.graph_node = 100 + i;
            capture.kernel(correlation, at(begin), at(begin + 3), on);
        }
        const std::uint64_t end = first + 5 * kernel_count - 2;
        main.call(at(is_graph ? now + 14 : end - 2), at(end + 4), ++correlation, stream_synchronize);
        now = end + 6;
    }
    const timeline data = capture.build();
    return diagnose(data, attribute(data));
}

TEST(GraphLaunches, WouldSaveTheTimeBetweenSmallKernels) {
    const diagnosis of = of_small_kernels(false);
    ASSERT_FALSE(of.findings.empty());
    EXPECT_EQ(of.findings.front().rule, "launch_bound");
    // 1.9 of 2 us between two kernels.
    const double gain_us = of.per_step(of.findings.front().gain_ns) / 1'000;
    EXPECT_NEAR(gain_us, 1.9 * kernel_count, 20);
}

TEST(GraphLaunches, SaveNothingMoreWithinAGraph) {
    const diagnosis of = of_small_kernels(true);
    EXPECT_EQ(of.steps, counted_steps);
    for (const finding& each : of.findings) EXPECT_NE(each.rule, "launch_bound") << each.title << each.gain_ns;
    EXPECT_THAT(of.looked, Contains("launch_bound"));
}

// Recorded with cuda_graphs=graphs.
TEST(GraphLaunches, HideTheirKernelsIfTheyAreOneOperation) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
        const std::uint64_t begin = 1'000 * step;
        main.step(at(begin), step, own);
        if (step > counted_steps) break;
        main.launch_graph(at(begin + 1), step + 1, 3);
        capture.graph(step + 1, at(begin + 10), at(begin + 900), 3);
    }
    const timeline data = capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    for (const char* rule : {"communication", "precision"}) {
        EXPECT_THAT(of.looked, Not(Contains(rule)));
        EXPECT_THAT(of.not_looked, Contains(HasSubstr(std::string(rule) + ": the kernels in CUDA graphs were not")));
    }
    EXPECT_THAT(of.looked, Contains("synchronization"));
}

}  // namespace
}  // namespace prof::diagnose_test::graph_launches
