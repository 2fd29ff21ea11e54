// SPDX-License-Identifier: Apache-2.0
// Where steps begin and end, and what belongs to them: gaps between steps, hosts that run ahead, work that is late.
// Worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::step_edges {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::uint64_t at(std::uint64_t time_us) { return 1'000'000 + 1'000 * time_us; }

const finding* found_in(const diagnosis& of, const std::string& place) {
    const auto found = std::find_if(of.findings.begin(), of.findings.end(),
                                    [&](const finding& each) { return each.title.find(place) != std::string::npos; });
    return found == of.findings.end() ? nullptr : &*found;
}

// 13 whole steps of 1,000 us, the first of them warm-up, with `between` after each: a kernel of 400 us for which the
// host waits until 430, and "log" from 440 to the step's end. "evaluate" is between the steps.
diagnosis of_steps(std::uint64_t between) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
    for (std::uint64_t step = 0; step < 14; ++step) {
        const std::uint64_t begin = step * (1'000 + between);
        main.push(at(begin), "ProfilerStep#" + std::to_string(step));
        main.call(at(begin + 10), at(begin + 15), ++correlation, launch_kernel, "kernel");
        capture.kernel(correlation, at(begin + 20), at(begin + 420));
        main.wait(at(begin + 25), at(begin + 430), ++correlation);
        main.push(at(begin + 440), "log").pop(at(begin + 1'000)).pop(at(begin + 1'000));
        if (between > 0) main.push(at(begin + 1'000), "evaluate").pop(at(begin + 1'000 + between));
    }
    const timeline data = capture.build();
    return diagnose(data, attribute(data));
}

// A little time between two steps belongs to the first; much belongs to none.
TEST(StepEdges, CodeAtTheEndOfAStepIsFoundWhateverFollows) {
    for (const std::uint64_t between : {0U, 1U, 20U, 700U}) {
        const diagnosis of = of_steps(between);
        ASSERT_EQ(of.steps, 12U);
        const finding* const log = found_in(of, "log");
        ASSERT_NE(log, nullptr) << between;
        EXPECT_EQ(log->steps, 12U) << between;
        EXPECT_NEAR(of.per_step(log->cost_ns), 560'000, 2'000) << between;
        EXPECT_NEAR(of.per_step(log->gain_ns), 560'000, 2'000) << between;
        if (between > 100) {
            EXPECT_EQ(found_in(of, "evaluate"), nullptr);
        }
        const std::uint64_t belongs = between < 100 ? between : 0;
        EXPECT_NEAR(of.step_ns, 1e3 * static_cast<double>(1'000 + belongs), 1'000) << between;
    }
}

// The host takes 100 us, the GPU 1,000 and 1 between.
TEST(StepEdges, AHostThatRunsAheadHasTheGpusSteps) {
    code all;
    for (int i = 0; i < 21; ++i) {
        all.push_back({action::step});
        all.push_back({action::launch, 1'000 * us});
        all.push_back({action::compute, 97 * us});
    }
    all.push_back({action::step});
    const simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    EXPECT_NEAR(of.step_ns, 1'001 * us, us);
    EXPECT_NEAR(of.per_step(of.path_ns), of.step_ns, us);
    EXPECT_LT(of.steps, 21U);
    EXPECT_EQ(of.per_step(of.wall_ns), of.step_ns);
    for (const finding& each : of.findings) EXPECT_LE(of.share_of(each.gain_ns), 1) << each.title;
}

// 16 steps of 1,163 us: kernels of 1,000 us for which the host waits, and 150 us of code. A kernel of 100 ms in another
// stream, launched before step `at`, is waited for by nobody: it changes no price and nothing on the path.
TEST(StepEdges, WorkThatNobodyWaitsForChangesNoPrice) {
    const auto of_program = [](int at) {
        code all;
        for (int i = 0; i < 17; ++i) {
            if (i == at) all.push_back({.what = action::launch, .ns = 100'000 * us, .stream = 5});
            all.push_back({action::step});
            all.push_back({action::launch, 1'000 * us});
            all.push_back({.what = action::wait, .stream = 0});
            all.push_back({action::compute, 150 * us});
        }
        all.push_back({action::step});
        const simulation run({all});
        const timeline data = run.capture.build();
        return diagnose(data, attribute(data));
    };
    const diagnosis without = of_program(-1);
    ASSERT_EQ(without.findings.size(), 2U);
    for (const int at : {0, 1, 8, 16}) {
        const diagnosis of = of_program(at);
        EXPECT_EQ(of.steps, 16U) << at;
        EXPECT_EQ(of.path_ns, of.wall_ns) << at;
        EXPECT_EQ(of.bound_by, without.bound_by) << at;
        ASSERT_EQ(of.findings.size(), without.findings.size()) << at;
        for (std::size_t i = 0; i < of.findings.size(); ++i) {
            EXPECT_EQ(of.findings[i].title, without.findings[i].title) << at;
            // The launch itself takes 3 us, once.
            EXPECT_NEAR(static_cast<double>(of.findings[i].gain_ns), static_cast<double>(without.findings[i].gain_ns),
                        5 * us)
                << at << ' ' << of.findings[i].title;
        }
    }
}

// Kernels of 18 us in two streams in turn, one each 20 us. If what waits for a stream is not recorded, nothing says
// that they may run beside each other.
TEST(StepEdges, KernelsOfTwoStreamsAreNotTakenForIndependent) {
    for (const bool records_syncs : {false, true}) {
        code all;
        for (int i = 0; i < 13; ++i) {
            all.push_back({action::step});
            for (std::uint32_t kernel = 0; kernel < 100; ++kernel) {
                all.push_back({.what = action::launch, .ns = 18 * us, .stream = kernel % 2});
                all.push_back({action::compute, 17 * us});
            }
            all.push_back({.what = action::wait, .stream = 0});
        }
        all.push_back({action::step});
        const simulation run({all}, {.records_syncs = records_syncs});
        const timeline data = run.capture.build();
        const diagnosis of = diagnose(data, attribute(data));
        ASSERT_FALSE(of.findings.empty());
        const double gain_us = of.per_step(of.findings.front().gain_ns) / 1e3;
        const double idle_us = of.step_ns / 1e3 - 1'800;
        if (records_syncs) {
            EXPECT_GT(gain_us, 900);
        } else {
            EXPECT_LE(gain_us, idle_us + 5);
        }
    }
}

// An operation of the first steps begins after operations of later ones, which are in another window.
TEST(StepEdges, OperationsBeforeALateOneArePlayed) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    main.push(at(0), "ProfilerStep#1");
    main.call(at(10), at(13), 1, launch_kernel, "late");
    main.pop(at(1'000));
    for (std::uint64_t step = 0; step < 4; ++step) {  // the last is not whole
        const std::uint64_t begin = 2'000 + 1'000 * step;
        main.push(at(begin), "ProfilerStep#" + std::to_string(2 + step));
        main.call(at(begin + 10), at(begin + 13), 2 + step, launch_kernel, "kernel");
        main.wait(at(begin + 20), at(begin + 904), 10 + step);
        main.pop(at(begin + 1'000));
        capture.kernel(2 + step, at(begin + 15), at(begin + 900));
    }
    capture.kernel(1, at(2'500), at(2'600), {.stream = 9});
    const graph_of of(capture);
    ASSERT_EQ(of.graph->runs().size(), 2U);
    // Each kernel 500 us shorter: the host waits so much less in each of the three steps.
    replay_changes changes;
    for (std::uint64_t correlation = 2; correlation < 5; ++correlation) {
        changes.ops.push_back({.op = of.op_of(correlation), .less_ns = 500 * us});
    }
    EXPECT_EQ(of.gain(changes), 3 * 500 * us);
}

// Of 300 us on the host and 2,000 on the GPU, with 600 between them: each step is a run of its own.
TEST(StepEdges, WorkLeftAtAGapCountsOnce) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    std::uint64_t free = 0;
    for (std::uint64_t step = 0; step < 14; ++step) {
        const std::uint64_t begin = 900 * step;
        main.push(at(begin), "ProfilerStep#" + std::to_string(step));
        main.call(at(begin + 200), at(begin + 203), step + 1, launch_kernel, "kernel").pop(at(begin + 300));
        const std::uint64_t kernel = std::max(begin + 205, free + 1);
        free = kernel + 1'999;
        capture.kernel(step + 1, at(kernel), at(free));
    }
    const timeline data = capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    EXPECT_EQ(of.steps, 12U);
    EXPECT_NEAR(of.step_ns, 2'000 * us, us);
}

// Of 830 us, 800 of them in "log", with 600 between them, and kernels of 1,000 us, for which nothing waits. Without
// "log" a step is as long as its kernel.
TEST(StepEdges, GainBesideAGapIsWhatTheGpuWaitedFor) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    for (std::uint64_t step = 0; step < 14; ++step) {
        const std::uint64_t begin = 1'430 * step;
        main.push(at(begin), "ProfilerStep#" + std::to_string(step));
        main.push(at(begin + 10), "log").pop(at(begin + 810));
        main.call(at(begin + 820), at(begin + 823), step + 1, launch_kernel, "kernel").pop(at(begin + 830));
        capture.kernel(step + 1, at(begin + 825), at(begin + 1'825));
    }
    const timeline data = capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    const finding* const log = found_in(of, "log");
    ASSERT_NE(log, nullptr);
    EXPECT_NEAR(of.per_step(log->gain_ns), 429 * us, 2 * us);
}

TEST(StepEdges, CallsMayTakeSeconds) {
    code all;
    for (int i = 0; i < 3; ++i) {
        for (const instruction& each :
             code{{action::step}, {action::launch, 10 * us}, {action::wait}, {action::allocate, 5'000'000 * us}}) {
            all.push_back(each);
        }
    }
    all.push_back({action::step});
    const simulation run({all});
    const graph_of of(run.capture);
    EXPECT_EQ(of.replayed(), run.steps_ns.back() - run.steps_ns.front());
}

// It waits for its kernel, and works for 500 us then.
TEST(StepEdges, CallsThatAlwaysWaitMayTakeTimeOfTheirOwn) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    for (std::uint64_t step = 0; step < 5; ++step) {
        const std::uint64_t begin = 1'000 * step;
        main.step(at(begin), step, own);
        main.call(at(begin + 5), at(begin + 8), 1 + step, launch_kernel, "kernel");
        main.wait_for(at(begin + 10), at(begin + 900), 10 + step, free_blocking, sync_kind::host_stream, 0,
                      {.stream = 7});
        capture.kernel(1 + step, at(begin + 12), at(begin + 400));
    }
    const graph_of of(capture);
    ASSERT_EQ(of.steps.steps.size(), 4U);
    replay_changes changes;
    for (std::uint64_t step = 1; step < 4; ++step)
        changes.ops.push_back({.op = of.op_of(1 + step), .fate = op_fate::is_gone});
    EXPECT_EQ(of.gain(changes), 3 * 390 * us);
}

// Time and memory are linear in the steps: so many would take minutes otherwise.
TEST(StepEdges, ManyStepsWithoutACallCostLittleEach) {
    constexpr std::uint64_t steps = 200'000;
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    thread_script& other = capture.thread("worker");
    for (std::uint64_t step = 0; step <= steps; ++step) main.step(at(100 * step), step, own);
    for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t begin = 100 * (1 + i * (steps / 20));
        other.call(at(begin + 10), at(begin + 15), 1 + i, launch_kernel, "kernel");
        capture.kernel(1 + i, at(begin + 20), at(begin + 70));
    }
    const timeline data = capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    EXPECT_EQ(of.steps, steps - 1);
    EXPECT_NEAR(of.step_ns, 100 * us, us);
}

}  // namespace
}  // namespace prof::diagnose_test::step_edges
