// SPDX-License-Identifier: Apache-2.0
// CUDA graphs in the diagnosis: what a graph would save is no price of kernels that are in one. Times are microseconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps/step_figures.hpp"
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

// Their work was to be recorded, and no record is there: nothing is said of the GPU.
TEST(GraphLaunches, OfLostWorkHaveNoPrice) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
    capture.kernel(1'000'000, 10, 20);  // before the steps
    for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
        main.step(at(1'000 * step), step, own);
        if (step > counted_steps) break;
        main.call(at(1'000 * step + 1), at(1'000 * step + 400), ++correlation, launch_kernel, "kernel");
        main.call(at(1'000 * step + 401), at(1'000 * step + 450), ++correlation, launch_kernel, "kernel");
        main.call(at(1'000 * step + 500), at(1'000 * step + 900), 1'000 + correlation, stream_synchronize);
    }
    timeline data = capture.build();
    for (timeline_api_call& call : data.api_calls) call.is_unfinished = call.kernel_name != 0;
    const attribution att = attribute(data);
    const diagnosis of = diagnose(data, att);
    EXPECT_EQ(of.steps, 0U);
    EXPECT_THAT(of.findings, testing::IsEmpty());
    EXPECT_THAT(of.not_looked,
                testing::ElementsAre(HasSubstr("none of the 24 launches in the steps has a GPU record")));
    const std::optional<step_figures> steps = measure_steps(data, att);
    ASSERT_TRUE(steps);
    EXPECT_FALSE(steps->has_gpu);
}

TEST(GraphLaunches, SaveNothingMoreWithinAGraph) {
    const diagnosis of = of_small_kernels(true);
    EXPECT_EQ(of.steps, counted_steps);
    for (const finding& each : of.findings) EXPECT_NE(each.rule, "launch_bound") << each.title << each.gain_ns;
    EXPECT_THAT(of.looked, Contains("launch_bound"));
}

// What the program uses already is not what the diagnosis advises, in its lines as on the first screen.
TEST(GraphLaunches, AreNotAdvisedWhereSomeAreInUse) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
    for (std::uint64_t step = 0; step <= counted_steps + 1; ++step) {
        const std::uint64_t begin = 1'000 * step;
        main.step(at(begin), step, own);
        if (step > counted_steps) break;
        for (std::uint64_t i = 0; i < 40; ++i) {
            main.call(at(begin + 20 * i + 1), at(begin + 20 * i + 18), ++correlation, launch_kernel, "at::native::a");
            placement on{};
            if (i == 0) on.graph_node = 7;
            capture.kernel(correlation, at(begin + 20 * i + 19), at(begin + 20 * i + 20), on, "at::native::a");
        }
        main.call(at(begin + 810), at(begin + 830), ++correlation, stream_synchronize);
    }
    const timeline data = capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    ASSERT_FALSE(of.findings.empty());
    const finding& first = of.findings.front();
    EXPECT_EQ(first.rule, "launch_bound");
    EXPECT_EQ(first.brief_advice, "fewer and larger CUDA graphs: some are in use");
    ASSERT_FALSE(first.advice.empty());
    EXPECT_THAT(first.advice.front(), HasSubstr("fewer and larger CUDA graphs, as some are in use"));
    EXPECT_THAT(first.advice, testing::Each(Not(HasSubstr("reduce-overhead"))));
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
