// SPDX-License-Identifier: Apache-2.0
#include "base/near_search.hpp"

#include <gtest/gtest.h>

namespace prof::near_search_test {
namespace {

// Every place of the answer, from every hint, in arrays of every small length.
TEST(NearSearch, FindsTheFirstPlaceFromEveryHint) {
    for (std::size_t count = 0; count < 40; ++count) {
        for (std::size_t first = 0; first <= count; ++first) {
            for (std::size_t hint = 0; hint < count + 3; ++hint) {
                const std::size_t found = partition_point_near(count, hint, [&](std::size_t place) {
                    EXPECT_LT(place, count);
                    return place < first;
                });
                ASSERT_EQ(found, first) << count << " places, hint " << hint;
            }
        }
    }
}

TEST(NearSearch, AsksFewPlacesNearTheHint) {
    std::size_t asked = 0;
    EXPECT_EQ(partition_point_near(1'000'000, 500'000, [&](std::size_t place) { return ++asked, place < 500'003; }),
              500'003U);
    EXPECT_LE(asked, 6U);
}

}  // namespace
}  // namespace prof::near_search_test
