// SPDX-License-Identifier: Apache-2.0
// How many steps a tally is of, against a set of their numbers; and that of several places in turn, in a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <string>

#include "diagnose/diagnosis.hpp"
#include "diagnose/host_time.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

TEST(StepTally, CountsEachStepOnceInAnyOrder) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        step_tally all;
        std::set<std::size_t> in_all;
        for (int part = 0; part < 3; ++part) {
            step_tally of;
            std::set<std::size_t> in_one;
            const std::size_t steps = 1 + random() % 60;
            for (std::size_t i = random() % 80; i > 0; --i) {
                const std::size_t step = random() % steps;
                of.add(step, 0, 1);
                in_one.insert(step);
                ASSERT_EQ(of.steps, in_one.size());
            }
            all.add(of);
            in_all.insert(in_one.begin(), in_one.end());
            ASSERT_EQ(all.steps, in_all.size());
        }
    }
}

TEST(StepTally, OfPlacesThatTakeTurnsIsOfAllTheirSteps) {
    code all;
    for (int i = 0; i <= 30; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = std::string("enumerate(DataLoader)") + "abc"[i % 3]});
        all.push_back({.what = action::compute, .ns = 900 * us});
        all.push_back({action::pop});
        all.push_back({.what = action::launch, .ns = 500 * us});
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    ASSERT_FALSE(of.findings.empty());
    const finding& first = of.findings.front();
    EXPECT_EQ(first.rule, "data_loader");
    EXPECT_EQ(first.parts.size(), 3U);
    EXPECT_EQ(first.steps, of.steps);
}

}  // namespace
}  // namespace prof::diagnose_test
