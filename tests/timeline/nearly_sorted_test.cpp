// SPDX-License-Identifier: Apache-2.0
#include "timeline/nearly_sorted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace prof::nearly_sorted_test {
namespace {

// A key, and where the element stood: stability shows in the order of equal keys.
using element = std::pair<int, std::size_t>;

std::vector<element> numbered(const std::vector<int>& keys) {
    std::vector<element> out;
    for (std::size_t i = 0; i < keys.size(); ++i) out.emplace_back(keys[i], i);
    return out;
}

// The whole pairs in order are what a stable sort by key gives.
void expect_sorted_like_the_standard(const std::vector<int>& keys) {
    std::vector<element> sorted = numbered(keys);
    std::vector<element> expected = sorted;
    std::sort(expected.begin(), expected.end());
    sort_nearly_sorted(sorted, [](const element& a, const element& b) { return a.first < b.first; });
    EXPECT_EQ(sorted, expected);
}

TEST(NearlySorted, SortsZeroAndOneElements) {
    expect_sorted_like_the_standard({});
    expect_sorted_like_the_standard({3});
}

TEST(NearlySorted, MergesSequencesLaidEndToEnd) {
    for (const int sequences : {2, 3, 7}) {
        std::vector<int> keys;
        for (int s = 0; s < sequences; ++s) {
            for (int i = 0; i < 1000; ++i) keys.push_back(i / 3 * (s + 1));
        }
        expect_sorted_like_the_standard(keys);
    }
}

TEST(NearlySorted, MovesLateElementsBack) {
    for (const int late_by : {1, 31, 32, 33, 200}) {
        std::vector<int> keys;
        for (int i = 0; i < 5000; ++i) keys.push_back(i % 50 == 49 ? i - late_by : i);
        expect_sorted_like_the_standard(keys);
    }
}

TEST(NearlySorted, SortsRandomOrder) {
    std::mt19937 random(1);
    for (const int largest : {3, 100, 1'000'000}) {
        std::vector<int> keys(20'000);
        for (int& key : keys) key = std::uniform_int_distribution{0, largest}(random);
        expect_sorted_like_the_standard(keys);
    }
    std::vector<int> falling;
    for (int i = 0; i < 20'000; ++i) falling.push_back(-i);
    expect_sorted_like_the_standard(falling);
}

// What makes it worth having: comparisons grow with the elements, not with their logarithm.
TEST(NearlySorted, ComparesSortedElementsOnceOrTwice) {
    std::vector<element> elements;
    for (int i = 0; i < 100'000; ++i) elements.emplace_back(i % 100 == 99 ? i - 20 : i, 0);
    std::size_t comparisons = 0;
    sort_nearly_sorted(elements, [&](const element& a, const element& b) {
        ++comparisons;
        return a.first < b.first;
    });
    EXPECT_LT(comparisons, 2 * elements.size());
}

}  // namespace
}  // namespace prof::nearly_sorted_test
