// SPDX-License-Identifier: Apache-2.0
// What is a finding beside others: beside one very long step, and of many places of one rule. Worked by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test::several_findings {
namespace {

struct stretch {
    std::string name{};
    std::int64_t ns = 0;
};

// 41 steps with a kernel of 1 ms for which the host waits, and then the stretches. The tenth also saves for `saves_ns`.
diagnosis of_steps(const std::vector<stretch>& stretches, std::int64_t saves_ns) {
    code all;
    const auto add = [&](const stretch& each) {
        all.push_back({.what = action::push, .name = each.name});
        all.push_back({action::compute, each.ns});
        all.push_back({action::pop});
    };
    for (int i = 0; i < 41; ++i) {
        all.push_back({action::step});
        all.push_back({action::launch, 1'000 * us});
        all.push_back({action::wait});
        for (const stretch& each : stretches) add(each);
        if (i == 10 && saves_ns > 0) add({"save", saves_ns});
    }
    all.push_back({action::step});
    const simulation run({all});
    const timeline data = run.capture.build();
    return diagnose(data, attribute(data));
}

const finding* found_in(const diagnosis& of, const std::string& text) {
    const auto found = std::find_if(of.findings.begin(), of.findings.end(), [&](const finding& each) {
        return (each.rule + ": " + each.title).find(text) != std::string::npos;
    });
    return found == of.findings.end() ? nullptr : &*found;
}

// 0.5 ms in each step of 1.5 are not hidden by one step of 10 s, beside which they are 0.2 % of the mean.
TEST(SeveralFindings, OneLongStepHidesNothingThatAllHave) {
    const diagnosis usual = of_steps({{"prepare", 500 * us}}, 0);
    const diagnosis once = of_steps({{"prepare", 500 * us}}, 10'000'000 * us);
    for (const diagnosis* const of : {&usual, &once}) {
        const finding* const found = found_in(*of, "prepare");
        ASSERT_NE(found, nullptr);
        EXPECT_NEAR(of->per_step(found->gain_ns), 500 * us, 20 * us);
    }
    EXPECT_EQ(found_in(usual, "uneven_steps"), nullptr);
    const finding* const uneven = found_in(once, "uneven_steps");
    ASSERT_NE(uneven, nullptr);
    EXPECT_NEAR(static_cast<double>(uneven->gain_ns), 1e4 * 1e6, 1e6);
    // All at once: both, since the rest of the long step is as long as the others then.
    EXPECT_NEAR(static_cast<double>(once.together_ns), static_cast<double>(uneven->gain_ns + usual.together_ns), 3e5);
}

// More places than are priced one by one: the others are one finding, and each of the first is one of its own.
TEST(SeveralFindings, ManyPlacesAreNotOneCause) {
    std::vector<stretch> stretches;
    for (char letter = 'a'; letter < 'm'; ++letter) stretches.push_back({std::string("part_") + letter, 300 * us});
    const diagnosis of = of_steps(stretches, 0);
    std::size_t alone = 0;
    for (const finding& each : of.findings) {
        if (each.rule != "host_code" || each.title.find(" more") != std::string::npos) continue;
        ++alone;
        EXPECT_NEAR(of.per_step(each.gain_ns), 300 * us, 20 * us) << each.title;
    }
    EXPECT_EQ(alone, 6U);
    const finding* const others = found_in(of, "and 5 more");
    ASSERT_NE(others, nullptr);
    EXPECT_NEAR(of.per_step(others->gain_ns), 6 * 300 * us, 20 * us);
}

}  // namespace
}  // namespace prof::diagnose_test::several_findings
