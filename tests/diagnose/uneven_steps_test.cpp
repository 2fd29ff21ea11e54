// SPDX-License-Identifier: Apache-2.0
// Steps that are longer than the others, with prices worked by hand. Times are microseconds.
#include "diagnose/uneven_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test::uneven_steps {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::size_t all_steps = 21;  // the first is warm-up

// A kernel in each step, for which the host waits: from the launch at 0 it begins at 5, and the host returns 4 after
// its end. `slow_kernel_us`: in step 8 and 13. `saves_us`: so long the host saves something in these steps.
timeline recorded(std::int64_t slow_kernel_us, std::int64_t saves_us = 0) {
    code all;
    for (std::size_t i = 0; i < all_steps; ++i) {
        const bool is_slow = i == 8 || i == 13;
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = "forward"});
        all.push_back({action::launch, (is_slow ? slow_kernel_us : 400) * us});
        all.push_back({action::wait});
        all.push_back({action::pop});
        if (is_slow && saves_us != 0) {
            all.push_back({.what = action::push, .name = "save"});
            all.push_back({action::compute, saves_us * us});
            all.push_back({action::pop});
        }
    }
    all.push_back({action::step});
    const simulation run({all});
    return run.capture.build();
}

diagnosis of_steps(std::int64_t slow_kernel_us, std::int64_t saves_us = 0) {
    const timeline data = recorded(slow_kernel_us, saves_us);
    return diagnose(data, attribute(data));
}

const finding* found_by(const diagnosis& of, std::string_view rule) {
    const auto found =
        std::find_if(of.findings.begin(), of.findings.end(), [&](const finding& each) { return each.rule == rule; });
    return found == of.findings.end() ? nullptr : &*found;
}

// 409 is the usual step; two take 2009 and gain 1600 each.
TEST(UnevenSteps, HaveThePriceOfWhatExceedsTheMedian) {
    const diagnosis of = of_steps(2'000);
    const finding* const found = found_by(of, uneven_steps_name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->gain_ns, 2 * 1'600 * us);
    EXPECT_EQ(found->cost_ns, 2 * 2'009 * us);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->title, "2 of 20 steps are longer than the others");
    ASSERT_THAT(found->parts, SizeIs(2));
    for (const finding_part& part : found->parts) {
        EXPECT_THAT(part.what, HasSubstr("most of it: compute, forward"));
        EXPECT_EQ(part.longest_ns, 2'009 * us);
    }
    // The first step begins at 1000; in each before it one of 409.
    const std::int64_t eighth_ns = (1'000 + 8 * 409) * us;
    const auto [first, second] = std::minmax(found->parts[0].longest_at_ns, found->parts[1].longest_at_ns);
    EXPECT_EQ(first, eighth_ns);
    EXPECT_EQ(second, eighth_ns + (2'009 + 4 * 409) * us);
}

// The host is two steps ahead: the GPU waits for the kernel of step 12 after the one of step 11.
TEST(UnevenSteps, AreTheHostsWhereItIsAhead) {
    code all;
    for (std::uint64_t i = 0; i < all_steps; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = i == 12 ? "save" : "prepare"});
        all.push_back({action::compute, (i == 12 ? 20'000 : 100) * us});
        all.push_back({action::pop});
        all.push_back({action::launch, 2'000 * us});
        all.push_back({.what = action::record_event, .event = i + 1});
        if (i >= 2) all.push_back({.what = action::wait_event, .event = i - 1});
    }
    all.push_back({action::step});
    const simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    const finding* const found = found_by(of, uneven_steps_name);
    ASSERT_NE(found, nullptr);
    ASSERT_THAT(found->parts, SizeIs(1));
    EXPECT_EQ(found->parts.front().what, "step 12, most of it: CPU code, save");
    // When the GPU is done with the kernel of step 11.
    EXPECT_GT(found->parts.front().longest_at_ns, run.steps_ns[12]);
}

TEST(UnevenSteps, AreNotThoseThatAreHardlyLonger) {
    for (const std::int64_t slow_us : {400, 430}) {
        const diagnosis of = of_steps(slow_us);
        EXPECT_EQ(found_by(of, uneven_steps_name), nullptr) << slow_us;
        EXPECT_THAT(of.looked, Contains(uneven_steps_name)) << slow_us;
    }
}

// What a rule has found in as few steps is not found again.
TEST(UnevenSteps, AreExplainedByOtherFindings) {
    const diagnosis of = of_steps(400, 2'000);
    EXPECT_EQ(found_by(of, uneven_steps_name), nullptr);
    const finding* const saving = found_by(of, "host_code");
    ASSERT_NE(saving, nullptr);
    EXPECT_EQ(saving->steps, 2U);
}

}  // namespace
}  // namespace prof::diagnose_test::uneven_steps
