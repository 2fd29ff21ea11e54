// SPDX-License-Identifier: Apache-2.0
// PyTorch programs without ranges, in which nothing is adopted: autograd's thread works for the one that launches on
// the same GPU all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test::outside_ranges {
namespace {

constexpr std::int64_t kernel_ns = 500 * us;

// The host waits for the three kernels of each step, two of which autograd's thread launches, and then computes.
code training() {
    code all;
    for (int i = 0; i <= 20; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::launch, .ns = kernel_ns});
        all.push_back({action::to_helper});
        all.push_back({.what = action::launch, .ns = kernel_ns});
        all.push_back({.what = action::launch, .ns = kernel_ns});
        all.push_back({action::from_helper});
        all.push_back({action::wait});
        all.push_back({action::compute, 300 * us});
    }
    all.push_back({action::step});
    return all;
}

std::vector<std::uint32_t> homes_of_autograd(const graph_of& of) {
    std::vector<std::uint32_t> out;
    for (const thread_id i : of.data.threads.ids()) {
        if (of.data.threads[i].system_name == "pt_autograd_0") out.push_back(of.graph->home_of(i));
    }
    return out;
}

TEST(AutogradOutsideRanges, WorksForTheThreadThatLaunchesOnItsGpu) {
    const simulation run({training()});
    const graph_of of(run.capture);
    ASSERT_EQ(of.data.threads[0].system_name, "python");
    EXPECT_THAT(homes_of_autograd(of), testing::ElementsAre(0U));
}

// Of two such threads it may be either.
TEST(AutogradOutsideRanges, WorksForItselfWhereSeveralLaunch) {
    const simulation run({training(), training()});
    const graph_of of(run.capture);
    for (const thread_id i : of.data.threads.ids()) EXPECT_EQ(of.graph->home_of(i), i);
}

// --adopt off, and --adopt with another pattern.
TEST(AutogradOutsideRanges, IsWhatTheAttributionTakesForIt) {
    const timeline data = simulation({training()}).capture.build();
    for (const auto& [pattern, home] : {std::pair{"", 1U}, std::pair{"mine_*", 1U}, std::pair{"*autograd_0", 0U}}) {
        const attribution att = attribute(data, {.adopt_pattern = pattern});
        const dependency_graph graph(data, att, find_whole_steps(data, att));
        EXPECT_EQ(data.threads[1].system_name, "pt_autograd_0");
        EXPECT_EQ(graph.home_of(thread_id(1)), home) << pattern;
    }
}

// Without the wait the GPU computes all the time: three kernels, and what is between two of them.
TEST(AutogradOutsideRanges, IsWaitedFor) {
    const simulation run({training()});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    const std::int64_t step_ns = run.steps_ns[2] - run.steps_ns[1];
    ASSERT_FALSE(of.findings.empty());
    EXPECT_EQ(of.findings.front().rule, "synchronization");
    EXPECT_NEAR(of.per_step(of.findings.front().gain_ns), static_cast<double>(step_ns - 3 * (kernel_ns + 1'000)),
                0.02 * static_cast<double>(step_ns));
}

}  // namespace
}  // namespace prof::diagnose_test::outside_ranges
