// SPDX-License-Identifier: Apache-2.0
// What recording costs a step: against a program that is executed again with launches that are as much faster, and
// against steps that were not recorded, worked by hand.
#include "diagnose/recording_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::recording_costs {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr int step_count = 22;
constexpr int launches = 50;  // a step

// Kernels of `kernel_ns`, and a wait for them.
std::vector<code> program_of(std::int64_t kernel_ns) {
    code all;
    for (int step = 0; step < step_count; ++step) {
        all.push_back({action::step});
        for (int i = 0; i < launches; ++i) all.push_back({action::launch, kernel_ns});
        all.push_back({action::wait});
        all.push_back({action::compute, 40 * us});
    }
    all.push_back({action::step});
    return {all};
}

std::int64_t length_of(const simulation& run) { return run.steps_ns.back() - run.steps_ns[1]; }

struct comparison {
    explicit comparison(std::int64_t kernel_ns)
        : recorded(program_of(kernel_ns), {.launch_ns = 3'000 + recorded_launch_ns}),
          unrecorded(program_of(kernel_ns), {.launch_ns = 3'000}),
          graph(recorded.capture, 1) {}

    recording_cost cost() const { return cost_of_recording(*graph.graph, graph.replayed()); }
    diagnosis diagnosed() const { return diagnose(graph.data, graph.att); }

    simulation recorded, unrecorded;
    graph_of graph;
};

TEST(RecordingCost, IsByHowMuchSlowerLaunchesMakeTheSteps) {
    const comparison of(1 * us);
    EXPECT_EQ(of.cost().launches, launches * (step_count - 1));
    EXPECT_EQ(of.cost().longer_ns, length_of(of.recorded) - length_of(of.unrecorded));
    EXPECT_GE(of.cost().longer_ns, (launches - 1) * (step_count - 1) * recorded_launch_ns);
    EXPECT_THAT(of.diagnosed().remarks, Contains(HasSubstr("recording makes these steps 0.025 ms")));
    EXPECT_THAT(of.diagnosed().remarks, Contains(HasSubstr("of which a step has 50;")));
}

TEST(RecordingCost, IsNothingWhereTheGpuHidesTheLaunches) {
    const comparison of(20 * us);
    EXPECT_EQ(of.cost().launches, launches * (step_count - 1));
    EXPECT_EQ(of.cost().longer_ns, length_of(of.recorded) - length_of(of.unrecorded));
    EXPECT_LE(of.cost().longer_ns, (step_count - 1) * recorded_launch_ns);
    EXPECT_THAT(of.diagnosed().remarks, Each(Not(HasSubstr("recording makes"))));
}

// Windows of 4 steps of 1,200 us; the steps between them take 1,000, and to end a window 2,000 once.
timeline with_windows(std::uint64_t between, std::uint64_t window_count = 4) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    std::uint64_t now = 1'000'000;
    std::uint64_t number = 0;
    std::uint64_t correlation = 0;
    for (std::uint32_t i = 0; i < window_count; ++i) {
        const std::uint64_t begin = now;
        const std::uint64_t first = number;
        for (int step = 0; step < 4; ++step) {
            main.step(now, number++, own);
            main.call(now + 1'000, now + 4'000, ++correlation, launch_kernel, "kernel");
            capture.kernel(correlation, now + 6'000, now + 1'100'000);
            main.call(now + 10'000, now + 1'150'000, ++correlation, stream_synchronize);
            now += 1'200'000;
        }
        main.step(now, number, own);
        capture.parts().windows[i + 1] = {
            .epoch = i + 1, .begin_ticks = begin, .end_ticks = now + 5'000, .first_step = first, .last_step = number};
        number += between;
        now += 2'000'000 + between * 1'000'000;
    }
    return capture.build();
}

TEST(RecordingCost, IsMeasuredByTheStepsBetweenWindows) {
    for (const std::uint64_t between : {10U, 40U, 1'000U}) {
        const double mean_ns = 1e6 + 2e6 / static_cast<double>(between);
        EXPECT_NEAR(unrecorded_step_ns(with_windows(between)), mean_ns, 1) << between;
    }
    EXPECT_EQ(unrecorded_step_ns(with_windows(9)), 0);
    EXPECT_EQ(unrecorded_step_ns(with_windows(0, 1)), 0);

    const timeline data = with_windows(40);
    EXPECT_THAT(diagnose(data, attribute(data)).remarks,
                Contains(HasSubstr("recording makes these steps 0.15 ms (12 %) longer, or more: those between the "
                                   "windows take 1.05 ms;")));
    const timeline few = with_windows(10);  // 1,200 us, too
    EXPECT_THAT(diagnose(few, attribute(few)).remarks, Each(Not(HasSubstr("recording makes"))));
}

}  // namespace
}  // namespace prof::diagnose_test::recording_costs
