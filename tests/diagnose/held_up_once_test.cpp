// SPDX-License-Identifier: Apache-2.0
// A program that is held up once: the diagnosis has the findings that it has without that, and uneven_steps, whose
// price is by how much longer the simulated program takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "diagnose/step_gains.hpp"
#include "diagnose/uneven_steps.hpp"

namespace prof::diagnose_test::held_up_once {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

enum class waiting : std::uint8_t { for_this_step, for_the_step_before };
// Where the host is held up: in a step; at the boundary of two steps; at the end of one and at the beginning of the
// next, with calls between.
enum class moment : std::uint8_t { never, in_a_step, at_a_boundary, around_a_boundary };

struct kind_of_program {
    std::uint32_t kernels;
    std::int64_t kernel_us;
    std::int64_t host_us;  // before each launch
    waiting waits;
    bool has_ranges;
};

constexpr std::int64_t held_ns = 10'000 * us;

class program_maker {
public:
    program_maker(const kind_of_program& of, moment when, std::uint32_t steps) : of_(of), when_(when), steps_(steps) {}

    code make() {
        for (std::uint32_t step = 0; step < steps_; ++step) add_step(step);
        code_.push_back({action::step});
        return std::move(code_);
    }

private:
    void hold_up(std::int64_t ns) { code_.push_back({action::compute, ns}); }

    void add_step(std::uint32_t step) {
        const std::uint32_t held = steps_ / 2;
        const bool is_held = step == held && when_ != moment::never;
        if (is_held && when_ == moment::at_a_boundary) hold_up(held_ns / 2);
        code_.push_back({action::step});
        if (is_held && when_ == moment::at_a_boundary) hold_up(held_ns / 2);
        const std::uint64_t event = 1 + step % 2;
        if (of_.waits == waiting::for_the_step_before && step >= 2) {
            code_.push_back({.what = action::wait_event, .event = event});
        }
        for (std::uint32_t i = 0; i < of_.kernels; ++i) {
            if (of_.has_ranges) code_.push_back({.what = action::push, .name = i % 2 == 0 ? "forward" : "backward"});
            code_.push_back({action::compute, of_.host_us * us});
            if (is_held && when_ == moment::in_a_step && i == of_.kernels / 2) hold_up(held_ns);
            if (is_held && when_ == moment::around_a_boundary && i + 1 == of_.kernels) hold_up(held_ns / 2);
            if (step == held + 1 && when_ == moment::around_a_boundary && i == 0) hold_up(held_ns / 2);
            code_.push_back({action::launch, of_.kernel_us * us});
            if (of_.has_ranges) code_.push_back({action::pop});
        }
        if (of_.waits == waiting::for_the_step_before) {
            code_.push_back({.what = action::record_event, .event = event});
        } else {
            code_.push_back({action::wait});
        }
    }

    kind_of_program of_;
    moment when_;
    std::uint32_t steps_;
    code code_;
};

diagnosis diagnosis_of(const kind_of_program& of, moment when, std::uint32_t steps) {
    const simulation run({program_maker(of, when, steps).make()});
    const timeline data = run.capture.build();
    return diagnose(data, attribute(data));
}

std::vector<std::string> rules_of(const diagnosis& of) {
    std::vector<std::string> out;
    for (const finding& each : of.findings) out.push_back(each.rule);
    return out;
}

std::vector<kind_of_program> kinds() {
    std::vector<kind_of_program> out;
    for (const waiting waits : {waiting::for_this_step, waiting::for_the_step_before}) {
        for (const bool has_ranges : {false, true}) {
            // Bound by the GPU: kernels of 2.4 ms a step or more.
            out.push_back({8, 300, 2, waits, has_ranges});
            out.push_back({40, 60, 5, waits, has_ranges});
            out.push_back({40, 60, 12, waits, has_ranges});
            out.push_back({24, 100, 5, waits, has_ranges});
            // What the host does before the first kernel is a finding, if it waits for each step.
            out.push_back({8, 300, 150, waits, has_ranges});
        }
    }
    return out;
}

TEST(HeldUpOnce, IsUnevenAndNothingElse) {
    for (const std::uint32_t steps : {41U, 21U, 12U}) {
        std::size_t number = 0;
        for (const kind_of_program& kind : kinds()) {
            const diagnosis clean = diagnosis_of(kind, moment::never, steps);
            for (const moment when : {moment::in_a_step, moment::at_a_boundary, moment::around_a_boundary}) {
                const std::string where = testing::PrintToString(steps) + " steps, kind " +
                                          testing::PrintToString(number) + ", moment " +
                                          testing::PrintToString(static_cast<int>(when));
                const diagnosis held = diagnosis_of(kind, when, steps);
                std::vector<std::string> expected = rules_of(clean);
                expected.emplace_back(uneven_steps_name);
                EXPECT_THAT(rules_of(held), UnorderedElementsAreArray(expected)) << where;
                const auto found = std::find_if(held.findings.begin(), held.findings.end(),
                                                [](const finding& each) { return each.rule == uneven_steps_name; });
                ASSERT_NE(found, held.findings.end()) << where;
                const finding& uneven = *found;
                // The program takes so much longer.
                const auto longer_ns = static_cast<double>(held.wall_ns - clean.wall_ns);
                EXPECT_NEAR(static_cast<double>(uneven.gain_ns), longer_ns, 0.03 * held_ns) << where;
                EXPECT_LE(uneven.steps, 2U) << where;
                ASSERT_FALSE(uneven.parts.empty()) << where;
                EXPECT_THAT(uneven.parts.front().what, testing::HasSubstr("most of it: CPU code")) << where;
            }
            ++number;
        }
    }
}

// What the GPU hides costs nothing, although its step takes longer on the host.
TEST(HeldUpOnce, BehindWorkOfTheGpuIsNotUneven) {
    const kind_of_program kind{8, 300, 2, waiting::for_the_step_before, false};
    code all = program_maker(kind, moment::never, 41).make();
    std::size_t steps = 0;
    const auto held = std::find_if(all.begin(), all.end(),
                                   [&](const instruction& each) { return each.what == action::step && ++steps == 20; });
    all.insert(held + 1, {action::compute, 1'500 * us});
    const simulation run({all});
    const timeline data = run.capture.build();
    EXPECT_THAT(rules_of(diagnose(data, attribute(data))), ElementsAre());
}

std::vector<std::int64_t> gains(std::size_t steps, std::int64_t each_ns) {
    return std::vector<std::int64_t>(steps, each_ns);
}

TEST(RareGains, AreWhatFewStepsGainMoreThanTheOthers) {
    EXPECT_EQ(find_rare_gains({}).excess_ns, 0);
    EXPECT_EQ(find_rare_gains(gains(40, 100)).excess_ns, 0);
    // Four of 40 are few.
    std::vector<std::int64_t> some = gains(40, 90);
    for (const std::size_t step : {3U, 4U, 20U, 30U}) some[step] = 1'000;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 4 * 910);
    EXPECT_EQ(find_rare_gains(some).largest_ns, 2'000);
    // Five are not.
    some[35] = 1'000;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 0);
    // Twice as much as the others may be chance.
    some = gains(40, 100);
    some[7] = 201;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 0);
    some[7] = 202;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 102);
}

TEST(RareGains, OfFewStepsTwoThatAdjoinAreOne) {
    std::vector<std::int64_t> some = gains(12, 0);
    some[5] = 600;
    some[6] = 500;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 1'100);
    EXPECT_EQ(find_rare_gains(some).largest_ns, 1'100);
    std::swap(some[6], some[8]);
    EXPECT_EQ(find_rare_gains(some).excess_ns, 0);
    EXPECT_EQ(find_rare_gains(some).largest_ns, 600);
}

// A step that is complete later lets the next one gain less than nothing: of the 500 the ten steps after it lose 100.
TEST(RareGains, MayBeBesideLosses) {
    std::vector<std::int64_t> some = gains(20, -10);
    some[9] = 500;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 400);
    EXPECT_EQ(find_rare_gains(gains(20, -10)).excess_ns, 0);
    EXPECT_EQ(find_rare_gains(gains(20, -10)).largest_ns, 0);
}

// A step ends sooner, and the two after it begin so much sooner, and end when they did: all three gain as the others.
TEST(RareGains, AreNotWhatTheNextStepsLoseAgain) {
    std::vector<std::int64_t> some = gains(30, 110);
    some[9] += 1'500;
    some[10] -= 1'000;
    some[11] -= 500;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 0);
    // What is left of it is rare.
    some[9] += 900;
    EXPECT_EQ(find_rare_gains(some).excess_ns, 900);
}

}  // namespace
}  // namespace prof::diagnose_test::held_up_once
