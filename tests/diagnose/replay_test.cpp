// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "diagnose/anything.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/sanitized.hpp"

namespace prof::diagnose_test {
namespace {

// Steps as given, after one step that leaves the GPU free and shows the machine's usual times, and the beginning of
// one more.
struct recorded_steps {
    explicit recorded_steps(const code& of_step, std::size_t count = 1, const machine& on = {}) {
        code all{{action::step},
                 {action::launch, 100 * us},
                 {action::compute, 300 * us},
                 {action::launch, 100 * us},
                 {action::launch, 10 * us},
                 {action::compute, 300 * us},
                 {action::wait_all}};
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back({action::step});
            if (i == 0) first = all.size();
            all.insert(all.end(), of_step.begin(), of_step.end());
        }
        all.push_back({action::step});
        program = {all};
        run = std::make_unique<simulation>(program, on);
        graph = std::make_unique<graph_of>(run->capture, 1);
    }
    // The call that instruction `index` of the first step is.
    host_event_id event(std::size_t index) const {
        return graph->event_of(run->executions[0][first + index].correlation);
    }
    host_event_id last_boundary() const { return graph->boundary_at(run->steps_ns.back()); }
    std::int64_t length_ns() const { return length_of(*run, *run); }

    std::vector<code> program;
    std::size_t first = 0;
    std::unique_ptr<simulation> run;
    std::unique_ptr<graph_of> graph;
};

// The GPU works 1 ms; the host computes 300 µs before its last launch, and 100 µs at the end.
TEST(Replay, HostTimeThatTheGpuHidesGainsNothing) {
    const recorded_steps of({{action::launch, 1'000 * us},
                             {action::compute, 300 * us},
                             {action::launch, 10 * us},
                             {action::compute, 100 * us}});
    // Launched after 0 and 303 µs; the second begins at 5 + 1,000 + 1 and ends 10 later.
    EXPECT_EQ(of.length_ns(), 1'016 * us);
    EXPECT_EQ(of.graph->replayed(), 1'016 * us);
    EXPECT_EQ(of.graph->gain(without_gap(of.event(2), 300 * us)), 0);
    EXPECT_EQ(of.graph->gain(without_gap(of.last_boundary(), 100 * us)), 0);
}

// The same with a GPU that is done after 105 µs: it waits from there to 308 µs.
TEST(Replay, HostTimeThatStarvesTheGpuGainsWhatIsNotHidden) {
    const recorded_steps of({{action::launch, 100 * us}, {action::compute, 300 * us}, {action::launch, 10 * us}});
    EXPECT_EQ(of.graph->replayed(), (303 + 5 + 10) * us);
    // Without it the second kernel begins right after the first: 5 + 100 + 1 + 10.
    EXPECT_EQ(of.graph->gain(without_gap(of.event(2), 300 * us)), (318 - 116) * us);
    // Half of it: 153 + 5 + 10.
    EXPECT_EQ(of.graph->gain(without_gap(of.event(2), 150 * us)), 150 * us);
}

// The host waits for the end of the kernel at 505 µs, returns at 509, computes, and launches: 609 + 3.
TEST(Replay, WaitingGainsWhatTheGpuLacksAfterwards) {
    const recorded_steps of({{action::launch, 500 * us},
                             {action::wait},
                             {action::compute, 100 * us},
                             {action::launch, 200 * us},
                             {action::compute, 10 * us}});
    EXPECT_EQ(of.graph->replayed(), (609 + 5 + 200) * us);
    // Without waiting the kernels follow each other: 5 + 500 + 1 + 200.
    EXPECT_EQ(of.graph->gain(without_waiting(*of.graph, of.event(1))), (814 - 706) * us);
}

// The wait at the end of the step, with nothing behind it but the next step's launch.
TEST(Replay, WaitingWithNothingQueuedBehindGainsOnlyTheWayBack) {
    const recorded_steps of({{action::launch, 500 * us}, {action::wait_all}}, 3);
    // Each step: 5 + 500 + 4.
    EXPECT_EQ(of.graph->replayed(), 3 * 509 * us);
    replay_changes all;
    for (const std::size_t index : {1U, 4U, 7U}) all.add(without_waiting(*of.graph, of.event(index)));
    // 5 + 3 × 500 + 2 × 1: the last wait was what the run ended with.
    EXPECT_EQ(of.graph->gain(all), (3 * 509 - 1'507) * us);
}

// The host waits for the kernel of the step before, of which there is one before the counted steps, too. The gain of a
// step does not depend on how many are counted.
TEST(Replay, ShorterWorkGainsAsMuchInFewSteps) {
    constexpr std::size_t steps = 8;
    const auto program_of = [](std::int64_t kernel_ns, std::int64_t host_ns) {
        code out;
        for (std::uint64_t step = 0; step < steps; ++step) {
            out.push_back({action::step});
            out.push_back({action::launch, kernel_ns});
            out.push_back({.what = action::record_event, .event = step + 1});
            out.push_back({action::compute, host_ns});
            if (step > 0) out.push_back({.what = action::wait_event, .event = step});
        }
        out.push_back({action::step});
        return std::vector<code>{out};
    };
    const std::int64_t host_ns = 200 * us;
    // By so much, and then the GPU or the host is what takes longest.
    for (const std::int64_t less_ns : {600 * us, 990 * us}) {
        const simulation run(program_of(1'000 * us, host_ns), {});
        const simulation shorter(program_of(1'000 * us - less_ns, host_ns), {});
        const auto period_ns = [&](const simulation& of) { return of.steps_ns[steps - 1] - of.steps_ns[steps - 2]; };
        const std::int64_t gained_ns = period_ns(run) - period_ns(shorter);
        EXPECT_LE(std::abs(gained_ns - std::min(less_ns, 795 * us)), 5 * us);
        for (std::size_t counted = 1; counted < steps; ++counted) {
            const graph_of of(run.capture, steps - counted);
            replay_changes changes;
            for (const op_id op : of.data.ops.ids()) {
                changes.ops.push_back({.op = op, .less_ns = less_ns});
            }
            const std::int64_t each_ns = of.gain(changes) / static_cast<std::int64_t>(counted);
            EXPECT_LE(std::abs(each_ns - gained_ns), 10 * us) << counted << " steps, " << less_ns << " ns less";
        }
    }
}

TEST(Replay, OfAGpuThatIsAlwaysBusyIsItsTime) {
    const recorded_steps of({{action::launch, 400 * us}, {action::launch, 400 * us}, {action::compute, 50 * us}}, 5);
    const std::int64_t busy_ns = 5 * us + 10 * 400 * us + 9 * us;
    EXPECT_EQ(of.graph->replayed(), busy_ns);
    replay_changes host;
    for (std::size_t step = 0; step < 5; ++step) {
        host.add(without_gap(of.event(4 * step), 50 * us));
        host.add({.events = {{.event = of.event(4 * step + 1), .work_less_ns = 3 * us}}, .ops = {}});
    }
    host.add(without_gap(of.last_boundary(), 50 * us));
    EXPECT_EQ(of.graph->gain(host), 0);
    // Each kernel 100 µs shorter.
    replay_changes kernels;
    for (std::size_t step = 0; step < 5; ++step) {
        for (const std::size_t index : {4 * step, 4 * step + 1}) {
            const std::uint64_t correlation = of.run->executions[0][of.first + index].correlation;
            kernels.ops.push_back({.op = of.graph->op_of(correlation), .less_ns = 100 * us});
        }
    }
    EXPECT_EQ(of.graph->gain(kernels), 1'000 * us);
}

// 1,500 kernels of 50 µs: the queue is full after 1,024, and the host waits in its launches from then on.
TEST(Replay, HostTimeAheadOfAFullQueueGainsNothing) {
    code step;
    for (int i = 0; i < 1'500; ++i) step.push_back({action::launch, 50 * us});
    step.push_back({action::compute, 400 * us});
    step.push_back({action::launch, 50 * us});
    const recorded_steps of(step);
    EXPECT_EQ(of.graph->replayed(), of.length_ns());
    EXPECT_EQ(of.graph->gain(without_gap(of.event(1'501), 400 * us)), 0);
    // The 1,200th launch waited for the queue.
    const host_event_id blocked = of.event(1'200);
    EXPECT_NE(of.graph->graph->events()[blocked].waits_for, npos);
    // Kernels of half the length: the GPU works 25 µs each, and is still the slower one.
    replay_changes shorter;
    for (const op_id i : of.graph->data.ops.ids()) {
        if (of.graph->data.ops[i].end_ns - of.graph->data.ops[i].start_ns == 50 * us) {
            shorter.ops.push_back({.op = i, .less_ns = 25 * us});
        }
    }
    EXPECT_EQ(of.graph->gain(shorter), 1'501 * 25 * us);
}

// Two stretches of 200 µs, one on each side of the launch that the GPU waits for: the GPU hides 100 µs of them.
TEST(Replay, TwoFlawsTogetherGainLessThanTheirSumIfTheyOverlap) {
    const recorded_steps of({{action::launch, 300 * us},
                             {action::compute, 200 * us},
                             {action::launch, 10 * us},
                             {action::compute, 200 * us},
                             {action::launch, 10 * us}});
    const replay_changes first = without_gap(of.event(2), 200 * us);
    const replay_changes second = without_gap(of.event(4), 200 * us);
    replay_changes both = first;
    both.add(second);
    // The last kernel begins at 3 + 200 + 3 + 200 + 5, the GPU is free at 5 + 300 + 1 + 10 + 1 = 317.
    EXPECT_EQ(of.graph->replayed(), (411 + 10) * us);
    EXPECT_EQ(of.graph->gain(first), (411 - 317) * us);
    EXPECT_EQ(of.graph->gain(second), (411 - 317) * us);
    EXPECT_EQ(of.graph->gain(both), (411 - 317) * us);
}

// Autograd's thread works from 12 µs after the trainer's call to 12 µs before its next.
TEST(Replay, FollowsTheHandOverToAutogradsThread) {
    const recorded_steps of({{action::push, 0, 0, "backward"},
                             {action::launch, 10 * us},
                             {action::to_helper},
                             {action::compute, 100 * us},
                             {action::launch, 10 * us},
                             {action::from_helper},
                             {action::launch, 10 * us},
                             {action::pop}});
    EXPECT_EQ(of.graph->replayed(), (3 + 12 + 100 + 3 + 12 + 5 + 10) * us);
    EXPECT_EQ(of.graph->gain(without_gap(of.event(4), 100 * us)), 100 * us);
}

// --- nothing is changed ----------------------------------------------------------------------------------------------

// Of a call inside another one, that of the outermost.
std::int64_t start_of_call(const timeline& data, const timeline_api_call& call) {
    std::int64_t start_ns = call.start_ns;
    for (const timeline_api_call& other : data.api_calls) {
        if (other.thread == call.thread && other.start_ns <= call.start_ns && other.end_ns > call.start_ns) {
            start_ns = std::min(start_ns, other.start_ns);
        }
    }
    return start_ns;
}

// Of each run of steps the host's time, or the time from the last operation launched before it to the last one launched
// in it, if that is more.
std::int64_t recorded_ns(const graph_of& of) {
    std::int64_t total_ns = 0;
    for (const step_run& run : of.graph->runs()) {
        std::int64_t host_ns = run.end_ns;
        if (!of.graph->has_steps()) {
            host_ns = run.start_ns;
            for (const timeline_api_call& call : of.data.api_calls) {
                if (call.start_ns >= run.start_ns && call.start_ns <= run.end_ns) {
                    host_ns = std::max(host_ns, call.end_ns);
                }
            }
        }
        std::int64_t before_ns = run.start_ns;
        std::int64_t last_ns = run.start_ns;
        for (const gpu_op& op : of.data.ops) {
            const std::int64_t at_ns =
                op.launch == npos ? op.start_ns : start_of_call(of.data, of.data.api_calls[op.launch]);
            if (at_ns < run.start_ns) before_ns = std::max(before_ns, op.end_ns);
            if (at_ns >= run.start_ns && at_ns < run.end_ns) last_ns = std::max(last_ns, op.end_ns);
        }
        total_ns += std::max(host_ns - run.start_ns, last_ns - before_ns);
    }
    return total_ns;
}

TEST(ReplayOfAnything, WithoutChangesIsTheRecordedTime) {
    std::size_t with_steps = 0;
    for (std::uint32_t seed = 0; seed < test::random_cases(3'000); ++seed) {
        const anything program(seed);
        const graph_of of(program.capture, seed % 3);
        if (of.graph->runs().empty() || of.has_work_beside()) continue;
        with_steps += of.graph->has_steps() ? 1U : 0U;
        ASSERT_EQ(of.replayed(), recorded_ns(of)) << "seed " << seed;
    }
    EXPECT_GT(with_steps, test::random_cases(1'000));
}

// The recorded order is kept, so that less work never makes the steps longer.
TEST(ReplayOfAnything, LessWorkNeverTakesLonger) {
    for (std::uint32_t seed = 0; seed < test::random_cases(1'000); ++seed) {
        anything program(seed);
        const graph_of of(program.capture, seed % 3);
        replay_changes changes;
        for (int round = 0; round < 5; ++round) {
            const std::int64_t before_ns = of.replayed(changes);
            for (const host_event_id i : of.graph->events().ids()) {
                if (program.below(8) != 0) continue;
                changes.events.push_back({.event = i,
                                          .gap_less_ns = program.below(20'000),
                                          .work_less_ns = program.below(5'000),
                                          .waits = program.below(2) == 0});
            }
            for (const op_id i : of.data.ops.ids()) {
                if (program.below(8) != 0) continue;
                changes.ops.push_back({.op = i, .less_ns = program.below(20'000)});
            }
            ASSERT_LE(of.replayed(changes), before_ns) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace prof::diagnose_test
