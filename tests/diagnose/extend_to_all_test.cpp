// SPDX-License-Identifier: Apache-2.0
// A diagnosis of some steps that becomes one of all of them, with values worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/uneven_steps.hpp"

namespace prof::diagnose_test::extended {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<whole_step> steps_of(const std::vector<std::int64_t>& lengths_ns) {
    std::vector<whole_step> out;
    std::int64_t now_ns = 1'000;
    for (const std::int64_t ns : lengths_ns) {
        out.push_back({.start_ns = now_ns, .end_ns = now_ns + ns, .number = out.size()});
        now_ns += ns;
    }
    return out;
}

finding found(const std::string& rule, std::int64_t gain_ns, std::uint64_t steps) {
    return {.rule = rule,
            .title = rule,
            .cost_ns = 150,
            .gain_ns = gain_ns,
            .steps = steps,
            .parts = {{.what = "forward", .cost_ns = 150, .count = 10, .longest_ns = 40, .longest_at_ns = 7'000}}};
}

// Five steps of 100, of which each would gain 12.
diagnosis of_five_steps() {
    diagnosis out;
    out.has_steps = true;
    out.steps = 5;
    out.step_ns = 100;
    out.wall_ns = 500;
    out.replayed_ns = 510;
    out.together_ns = 100;
    out.least_share = 0.01;
    out.least_ns = 1;
    out.findings = {found("host_code", 60, 5)};
    out.path_ns = 490;
    out.path = {{.kind = "kernels", .total_ns = 300}, {.kind = "CPU code", .total_ns = 190}};
    return out;
}

TEST(ExtendToAll, KeepsWhatAStepCostsAndWouldGain) {
    diagnosis of = of_five_steps();
    extend_to_all(of, steps_of(std::vector<std::int64_t>(20, 100)));
    EXPECT_EQ(of.steps, 20U);
    EXPECT_EQ(of.wall_ns, 2'000);
    EXPECT_EQ(of.replayed_ns, 2'040);
    EXPECT_EQ(of.together_ns, 400);
    EXPECT_EQ(of.path_ns, 1'960);
    EXPECT_EQ(of.path[0].total_ns, 1'200);
    EXPECT_EQ(of.path[1].total_ns, 760);
    EXPECT_DOUBLE_EQ(of.step_ns, 100);
    ASSERT_THAT(of.findings, SizeIs(1));
    const finding& code = of.findings.front();
    EXPECT_EQ(code.gain_ns, 240);
    EXPECT_DOUBLE_EQ(of.per_step(code.gain_ns), 12);
    EXPECT_DOUBLE_EQ(of.share_of(code.gain_ns), 0.12);
    EXPECT_EQ(code.cost_ns, 600);
    EXPECT_EQ(code.steps, 20U);
    EXPECT_EQ(code.parts.front().cost_ns, 600);
    EXPECT_EQ(code.parts.front().count, 40U);
    // Of one occurrence.
    EXPECT_EQ(code.parts.front().longest_ns, 40);
    EXPECT_EQ(code.parts.front().longest_at_ns, 7'000);
    EXPECT_THAT(of.looked, ElementsAre("uneven_steps"));
}

// Two of 20 steps take 400: 300 more than the median each, 600 in all. The mean step takes 130. A rough price stands
// behind a sure one.
TEST(ExtendToAll, PricesUnevenStepsByTheLengthsOfAll) {
    std::vector<std::int64_t> lengths_ns(20, 100);
    lengths_ns[4] = lengths_ns[15] = 400;
    diagnosis of = of_five_steps();
    extend_to_all(of, steps_of(lengths_ns));
    ASSERT_THAT(of.findings, SizeIs(2));
    const finding& uneven = of.findings.back();
    EXPECT_EQ(uneven.rule, uneven_steps_name);
    EXPECT_EQ(uneven.title, "2 of 20 steps are longer than the others");
    EXPECT_EQ(uneven.steps, 2U);
    EXPECT_EQ(uneven.gain_ns, 600);
    EXPECT_EQ(uneven.cost_ns, 800);
    EXPECT_EQ(of.wall_ns, 2'600);
    EXPECT_DOUBLE_EQ(of.step_ns, 130);
    EXPECT_DOUBLE_EQ(of.share_of(uneven.gain_ns), 30.0 / 130);
    EXPECT_EQ(of.findings[0].rule, "host_code");
    EXPECT_DOUBLE_EQ(of.share_of(of.findings[0].gain_ns), 12.0 / 130);
    EXPECT_THAT(of.looked, IsEmpty());
}

// What gains enough of the usual step is found beside a very long one.
TEST(ExtendToAll, KeepsWhatGainsLittleOfTheMeanStep) {
    std::vector<std::int64_t> lengths_ns(20, 100);
    lengths_ns[4] = 40'100;  // the mean step takes 2100, of which 12 are 0.57 %
    diagnosis of = of_five_steps();
    extend_to_all(of, steps_of(lengths_ns));
    EXPECT_DOUBLE_EQ(of.step_ns, 2'100);
    ASSERT_THAT(of.findings, SizeIs(2));
    EXPECT_EQ(of.findings.back().rule, uneven_steps_name);
    EXPECT_EQ(of.together_ns, 400 + 40'000);
}

// A finding in as few steps that gains half as much is the reason.
TEST(ExtendToAll, DoesNotPriceUnevenStepsThatAreExplained) {
    std::vector<std::int64_t> lengths_ns(20, 100);
    lengths_ns[4] = 400;
    diagnosis of = of_five_steps();
    of.findings = {found("compilation", 37, 0)};  // 148 in all, of 300
    extend_to_all(of, steps_of(lengths_ns));
    EXPECT_THAT(of.findings, SizeIs(2));
    of = of_five_steps();
    of.findings = {found("compilation", 38, 0)};  // 152
    extend_to_all(of, steps_of(lengths_ns));
    EXPECT_THAT(of.findings, SizeIs(1));
}

TEST(ExtendToAll, OfNothingIsNothing) {
    diagnosis of;
    extend_to_all(of, steps_of({100, 100, 100, 100, 400}));
    EXPECT_EQ(of.steps, 0U);
    EXPECT_THAT(of.findings, IsEmpty());
}

}  // namespace
}  // namespace prof::diagnose_test::extended
