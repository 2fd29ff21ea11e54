// SPDX-License-Identifier: Apache-2.0
// Limits: how they are written, and that those which hold seldom fail.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "compare/limits.hpp"

namespace prof {
namespace {

std::vector<run_profile> runs(std::size_t count, double ns, double noise, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::vector<run_profile> out;
    for (std::size_t i = 0; i < count; ++i) {
        run_profile& run = out.emplace_back();
        run.step_ns = ns * (1 + noise * normal(random));
        run.gpu_sum_ns = run.step_ns / 2;
        run.ranges = {{"iteration #/forward", run.step_ns / 4, 1}, {"iteration #/backward", run.step_ns / 3, 1}};
    }
    return out;
}

TEST(Gate, LimitsAreWrittenSo) {
    EXPECT_EQ(parse_gate_limit("2%")->most, 0.02);
    EXPECT_EQ(parse_gate_limit("2%")->of, "step");
    EXPECT_EQ(parse_gate_limit("gpu=0.5")->most, 0.005);
    EXPECT_EQ(parse_gate_limit("range:a=b=3%")->name, "a=b");
    EXPECT_FALSE(parse_gate_limit("range=3%"));
    EXPECT_FALSE(parse_gate_limit("gpu:x=3%"));
    EXPECT_FALSE(parse_gate_limit("loss=3%"));
    EXPECT_FALSE(parse_gate_limit("3 percent"));
    EXPECT_FALSE(parse_gate_limit("-1%"));
}

TEST(Gate, ARangeIsNamedByTheEndOfItsPath) {
    std::mt19937_64 random(1);
    const auto base = runs(5, 1e6, 0.001, random);
    const auto slower = runs(5, 1.1e6, 0.001, random);
    const auto found = gate(base, slower, {*parse_gate_limit("range:backward=5%"), *parse_gate_limit("range:ward=5%")});
    EXPECT_EQ(found[0].found, gate_result::fails);
    EXPECT_NEAR(found[0].change.value(), 0.1, 0.005);
    EXPECT_EQ(found[1].found, gate_result::inconclusive) << "a part of a name is no name";
}

TEST(Gate, ANumberIsPartOfAName) {
    std::mt19937_64 random(7);
    auto base = runs(5, 1e6, 0.001, random);
    auto slower = runs(5, 1e6, 0.001, random);
    for (auto* const side : {&base, &slower}) {
        for (run_profile& run : *side) {
            run.ranges.push_back({"step #/layer #", run.step_ns / 2, 2});
            const double more = side == &slower ? 1.2 : 1;
            run.numbered_ranges = {{"step #/layer 1", run.step_ns / 4, 1},
                                   {"step #/layer 11", more * run.step_ns / 4, 1}};
        }
    }
    const auto found = gate(base, slower,
                            {*parse_gate_limit("range:layer 1=5%"), *parse_gate_limit("range:layer 11=5%"),
                             *parse_gate_limit("range:layer #=5%")});
    EXPECT_EQ(found[0].found, gate_result::holds);
    EXPECT_EQ(found[1].found, gate_result::fails);
    EXPECT_EQ(found[2].found, gate_result::holds);  // all of them together, as the tables have them
    EXPECT_EQ(unknown_figure(base, slower, *parse_gate_limit("range:layer 1=5%")), "");
}

// At the limit itself each of the answers is wrong in at most 1 of 20 cases, also of three limits together.
TEST(Gate, KeepsItsLevel) {
    std::mt19937_64 random(2);
    const std::vector<gate_limit> limits = {*parse_gate_limit("2%"), *parse_gate_limit("gpu=2%"),
                                            *parse_gate_limit("range:backward=2%")};
    std::size_t failed = 0;
    std::size_t held = 0;
    constexpr std::size_t count = 1'000;
    for (std::size_t i = 0; i < count; ++i) {
        const auto found = gate(runs(4, 1e6, 0.01, random), runs(4, 1.02e6, 0.01, random), limits);
        failed += worst_of(found) == gate_result::fails ? 1 : 0;
        held += found[0].found == gate_result::holds ? 1 : 0;
    }
    EXPECT_LE(failed, count * 65 / 1000);
    EXPECT_LE(held, count * 65 / 1000);
}

}  // namespace
}  // namespace prof
