// SPDX-License-Identifier: Apache-2.0
// What holds up a few of the steps: uneven steps say so, and no finding that is about all steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::ElementsAre;

constexpr int twenty_steps = 20;  // after one of warm-up

// Each step waits for its kernels, and has 0.15 ms of the host in "prepare", which the GPU hides.
std::vector<code> rare_program(const std::function<code(int step)>& more) {
    code all;
    for (int i = 0; i <= twenty_steps; ++i) {
        all.push_back({action::step});
        for (int kernel = 0; kernel < 4; ++kernel) all.push_back({.what = action::launch, .ns = 500 * us});
        all.push_back({.what = action::push, .name = "prepare"});
        all.push_back({.what = action::compute, .ns = 150 * us});
        for (const instruction& each : more(i)) all.push_back(each);
        all.push_back({action::pop});
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    return {all};
}

std::vector<std::string> rules_found(const std::function<code(int step)>& more) {
    simulation run(rare_program(more));
    const timeline data = run.capture.build();
    std::vector<std::string> out;
    for (const finding& each : diagnose(data, attribute(data)).findings) out.push_back(each.rule);
    return out;
}

const code held_up = {{.what = action::compute, .ns = 9'000 * us}};
const code log_it = {{.what = action::push, .name = "log"}, {.what = action::compute, .ns = 9'000 * us}, {action::pop}};

TEST(RareFindings, OneStepThatIsHeldUpIsUneven) {
    EXPECT_THAT(rules_found([](int step) { return step == 7 ? held_up : code{}; }), ElementsAre("uneven_steps"));
    EXPECT_THAT(rules_found([](int step) { return step == 7 || step == 15 ? held_up : code{}; }),
                ElementsAre("uneven_steps"));
}

TEST(RareFindings, AllStepsThatAreHeldUpHaveAFinding) {
    EXPECT_THAT(rules_found([](int) { return held_up; }).front(), "host_code");
    EXPECT_THAT(rules_found([](int step) { return step % 4 == 0 ? held_up : code{}; }).front(), "host_code");
}

// A place of its own is the reason why these steps are longer.
TEST(RareFindings, WhatComesEveryTenStepsHasAFinding) {
    EXPECT_THAT(rules_found([](int step) { return step % 10 == 5 ? log_it : code{}; }), ElementsAre("host_code"));
}

TEST(RareFindings, CompilingOnceIsTheReasonForItsStep) {
    const code compile = {
        {.what = action::push, .name = "compilation"}, {.what = action::compute, .ns = 90'000 * us}, {action::pop}};
    EXPECT_THAT(rules_found([&](int step) { return step == 7 ? compile : code{}; }), ElementsAre("compilation"));
}

TEST(RareFindings, StepsOfTheReplayAddUpToItsLength) {
    for (const bool is_changed : {false, true}) {
        simulation run(rare_program([](int step) { return step % 3 == 0 ? held_up : code{}; }));
        const graph_of made(run.capture);
        replay_changes changes;
        if (is_changed) {
            for (const host_event_id i : (*made.graph).events().ids()) {
                changes.events.push_back({.event = i, .gap_less_ns = 9'000 * us});
            }
        }
        std::vector<std::int64_t> steps_ns;
        const std::int64_t total_ns = replayed_ns((*made.graph), changes, &steps_ns);
        ASSERT_EQ(steps_ns.size(), (*made.graph).step_count());
        EXPECT_EQ(std::accumulate(steps_ns.begin(), steps_ns.end(), std::int64_t{0}), total_ns);
    }
}

}  // namespace
}  // namespace prof::diagnose_test
