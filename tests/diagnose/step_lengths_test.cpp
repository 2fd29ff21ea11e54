// SPDX-License-Identifier: Apache-2.0
// A diagnosis has the steps of all other reports, as long as they have them; its gains are shares of that length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/steps/step_figures.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "export/report/finding_lines.hpp"
#include "report/capture_diagnosis.hpp"

namespace prof::diagnose_test::step_lengths {
namespace {

using testing::Contains;
using testing::HasSubstr;

// The host is ahead by nothing, a part of a step, or several steps; in some steps it waits.
TEST(StepLengths, AreTheSameInAllReports) {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
        const std::int64_t usual_us = 50 + below(400);
        code all;
        for (int step = 0; step < 12; ++step) {
            all.push_back({action::step});
            for (std::int64_t i = 1 + below(6); i > 0; --i) {
                all.push_back({action::launch, (1 + below(usual_us)) * us});
                all.push_back({action::compute, (1 + below(100)) * us});
            }
            if (below(3) == 0) all.push_back({action::wait});
        }
        all.push_back({action::step});
        const simulation run({all});
        const timeline data = run.capture.build();
        const attribution att = attribute(data);
        const diagnosis of = diagnose(data, att);
        const auto measured = measure_steps(data, att);
        const auto broken_down = break_down(data, att);
        ASSERT_TRUE(measured && broken_down) << seed;
        ASSERT_EQ(of.steps, measured->steps) << seed;
        ASSERT_EQ(of.wall_ns, measured->total_ns) << seed;
        ASSERT_EQ(of.step_ns, measured->mean_ns()) << seed;
        ASSERT_EQ(broken_down->wall_ns, measured->total_ns) << seed;
        ASSERT_LE(of.together_ns, of.wall_ns) << seed;
        for (const finding& each : of.findings) ASSERT_LE(of.share_of(each.gain_ns), 1) << seed << each.title;
    }
}

// A step takes 100 launches, each 10 us after the one before, of kernels of 1 us.
TEST(StepLengths, PlacesCountALaunchOnceAndTellItOfAStep) {
    code all;
    for (int step = 0; step < 21; ++step) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = "forward"});
        for (int i = 0; i < 100; ++i) {
            all.push_back({action::launch, us});
            all.push_back({action::compute, 10 * us});
        }
        all.push_back({action::pop});
    }
    all.push_back({action::step});
    const simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    const auto launches = std::find_if(of.findings.begin(), of.findings.end(),
                                       [](const finding& each) { return each.rule == "launch_bound"; });
    ASSERT_NE(launches, of.findings.end());
    EXPECT_EQ(launches->parts.front().count, 100 * of.steps);
    EXPECT_THAT(finding_lines({of, 0, priced_changes_of(of)}),
                Contains(HasSubstr(" ms a step, 100 times a step; the longest ")));
}

}  // namespace
}  // namespace prof::diagnose_test::step_lengths
