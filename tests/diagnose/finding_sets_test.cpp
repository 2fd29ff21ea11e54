// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prof::finding_sets_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Each gains less than the one before it, so that people read them in this order.
std::vector<std::uint32_t> sets_of(std::size_t count) {
    std::vector<finding> findings;
    for (std::size_t i = 0; i < count; ++i) {
        findings.push_back({.gain_ns = static_cast<std::int64_t>(1'000'000 - i), .trust = confidence::high});
    }
    return sets_to_price(findings, {.steps = 1, .step_ns = 1e7});
}

TEST(FindingSets, AreAllOfFewFindings) {
    EXPECT_THAT(sets_of(0), IsEmpty());
    EXPECT_THAT(sets_of(1), ElementsAre(1));
    EXPECT_THAT(sets_of(3), ElementsAre(1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(sets_of(6).size(), 63U);
}

// By hand: 7 alone, 21 pairs, and the first three up to all seven.
TEST(FindingSets, OfMoreArePairsAndTheFirstOnes) {
    const std::vector<std::uint32_t> made = sets_of(7);
    EXPECT_EQ(made.size(), 7U + 21U + 5U);
    EXPECT_THAT(made, testing::Contains(0b0000111U));
    EXPECT_THAT(made, testing::Contains(0b1111111U));
    EXPECT_THAT(made, testing::Not(testing::Contains(0b0001011U)));
}

// A set is a number of 32 bits, of which uneven_steps has one of its own.
TEST(FindingSets, LeaveOutWhatHasNoBit) {
    EXPECT_EQ(set_bit_of(29), 1U << 29);
    EXPECT_EQ(set_bit_of(30), 0U);
    EXPECT_EQ(sets_of(40).back(), (1U << 30) - 1);
}

}  // namespace
}  // namespace prof::finding_sets_test
