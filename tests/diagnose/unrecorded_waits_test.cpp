// SPDX-License-Identifier: Apache-2.0
// What calls wait for where that was not recorded, as in traces of torch.profiler: by what they did, and by their
// names. Prices are compared with the simulated program without the flaw.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

constexpr std::uint64_t steps = 12;

// Each step waits for the event of `behind` steps before, loads `load_ns`, computes, and launches at its end.
std::vector<code> pipelined(std::uint64_t behind, std::int64_t load_ns, std::int64_t compute_ns) {
    code out;
    for (std::uint64_t step = 0; step < steps; ++step) {
        out.push_back({action::step});
        out.push_back({action::compute, load_ns});
        if (step >= behind) out.push_back({.what = action::wait_event, .event = step + 1 - behind});
        out.push_back({action::launch, 20 * us});
        out.push_back({action::compute, compute_ns});
        for (int i = 0; i < 5; ++i) out.push_back({action::launch, 50 * us});
        out.push_back({.what = action::record_event, .event = step + 1});
    }
    out.push_back({action::step});
    return {out};
}

std::int64_t length_of_steps(const simulation& of) { return of.steps_ns.back() - of.steps_ns[1]; }

// Without the time before the waits, events of the step before would hold the host up.
TEST(UnrecordedWaits, AnEventThatWasCompleteWouldHaveBeenWaitedFor) {
    const machine unrecorded{.records_syncs = false};
    for (const std::int64_t load_ns : {300 * us, 450 * us}) {
        const simulation run(pipelined(1, load_ns, 1'500 * us), unrecorded);
        const simulation without(pipelined(1, 0, 1'500 * us), unrecorded);
        const graph_of of(run.capture, 1);
        replay_changes all;
        for (const host_event_id i : of.graph->events().ids()) {
            const host_event& event = of.graph->events()[i];
            const bool is_wait = event.call != npos && of.data.api_calls[event.call].kind == api_class::wait;
            if (is_wait) all.add(without_gap(i, load_ns));
        }
        const std::int64_t gained = length_of_steps(run) - length_of_steps(without);
        EXPECT_LT(gained, 11 * load_ns / 2);
        EXPECT_NEAR(static_cast<double>(of.gain(all)), static_cast<double>(gained), static_cast<double>(30 * us));
    }
}

// How the replay sees an allocation that lasts until after `kernel_ns` of work have ended.
host_event allocation(action what, std::int64_t call_ns, std::int64_t kernel_ns) {
    code all;
    for (int step = 0; step < 6; ++step) {
        all.push_back({action::step});
        all.push_back({action::launch, kernel_ns});
        all.push_back({what, call_ns});
        all.push_back({action::compute, 50 * us});
        all.push_back({action::wait_all});
    }
    all.push_back({action::step});
    const simulation run({all});
    const graph_of of(run.capture, 1);
    for (const host_event& event : of.graph->events()) {
        const bool is_meant =
            event.call != npos && of.data.api_calls[event.call].kind == api_class::blocking_allocation;
        if (is_meant) return event;
    }
    return {};
}

TEST(UnrecordedWaits, AnAllocationInWhichWorkEndsDoesNotWaitForIt) {
    const host_event longer = allocation(action::allocate, 375 * us, 140 * us);
    EXPECT_FALSE(longer.has_waited);
    EXPECT_EQ(longer.work_ns, 375 * us);
    const host_event shorter = allocation(action::allocate, 100 * us, 140 * us);  // work goes on after it
    EXPECT_FALSE(shorter.has_waited);
}

TEST(UnrecordedWaits, MemoryIsFreedWhenWorkIsDone) {
    EXPECT_TRUE(allocation(action::free, 10 * us, 140 * us).has_waited);
}

// All work is done when it is called. Without the wait at the step's end it would wait, and then do its own work.
TEST(UnrecordedWaits, AFreeThatHadNothingToWaitForWouldWait) {
    const auto program = [](bool waits) {
        code out;
        for (std::uint64_t step = 0; step < steps; ++step) {
            out.push_back({action::step});
            out.push_back({action::free, 180 * us});
            for (int i = 0; i < 5; ++i) out.push_back({action::launch, 100 * us});
            if (waits) out.push_back({action::wait_all});
            out.push_back({action::compute, 300 * us});
        }
        out.push_back({action::step});
        return simulation({out});
    };
    const simulation run = program(true);
    const graph_of of(run.capture, 1);
    replay_changes all;
    for (const host_event_id i : of.graph->events().ids()) {
        const host_event& event = of.graph->events()[i];
        const bool is_wait = event.call != npos && of.data.api_calls[event.call].kind == api_class::wait;
        if (is_wait) all.add(without_waiting(of, i));
    }
    const std::int64_t gained = length_of_steps(run) - length_of_steps(program(false));
    EXPECT_GT(gained, 11 * 250 * us);
    EXPECT_LT(gained, 11 * 350 * us);  // 480 of each step, if the memory's work were done beside the wait
    EXPECT_NEAR(static_cast<double>(of.gain(all)), static_cast<double>(gained), static_cast<double>(350 * us));
}

}  // namespace
}  // namespace prof::diagnose_test
