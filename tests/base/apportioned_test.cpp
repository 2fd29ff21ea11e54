// SPDX-License-Identifier: Apache-2.0
#include "base/apportioned.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace prof {
namespace {

using testing::ElementsAre;

TEST(Apportioned, NumbersThatAddUpAreRounded) {
    EXPECT_THAT(apportioned(std::vector<double>{99.62, 0.38}, 100), ElementsAre(100, 0));
    EXPECT_THAT(apportioned(std::vector<double>{50.4, 48.2, 1.4}, 100), ElementsAre(51, 48, 1));
}

TEST(Apportioned, WhatIsOverGoesToThoseToWhichItIsLeast) {
    // Rounded they are 63, 36 and five times 0: one is missing.
    EXPECT_THAT(apportioned(std::vector<double>{63.1, 36.1, 0.4, 0.1, 0.1, 0.1, 0.1}, 100),
                ElementsAre(64, 36, 0, 0, 0, 0, 0));
    // Rounded they are 34, 34 and 33.
    EXPECT_THAT(apportioned(std::vector<double>{33.6, 33.55, 32.85}, 100), ElementsAre(34, 33, 33));
}

TEST(Apportioned, NothingIsDividedAmongNone) {
    EXPECT_THAT(apportioned(std::vector<double>{}, 100), ElementsAre());
    EXPECT_THAT(apportioned(std::vector<double>{0, 0}, 100), ElementsAre(0, 0));
    EXPECT_THAT(apportioned(std::vector<double>{1, 2}, 0), ElementsAre(0, 0));
}

TEST(Apportioned, EachNumberLiesBesideTheExactOne) {
    std::mt19937 random(4);
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<double> shares(1 + random() % 12);
        for (double& share : shares) share = random() % 4 == 0 ? 0 : std::exp(static_cast<double>(random() % 20));
        const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
        if (sum == 0) continue;
        const auto total = static_cast<std::int64_t>(random() % 30'000);
        const std::vector<std::int64_t> out = apportioned(shares, total);
        EXPECT_EQ(std::accumulate(out.begin(), out.end(), std::int64_t{0}), total);
        for (std::size_t i = 0; i < out.size(); ++i) {
            const double exact = shares[i] / sum * static_cast<double>(total);
            EXPECT_LT(std::abs(static_cast<double>(out[i]) - exact), 1.0) << exact;
        }
    }
}

}  // namespace
}  // namespace prof
