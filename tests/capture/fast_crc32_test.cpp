// SPDX-License-Identifier: Apache-2.0
#include "capture/fast_crc32.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "capture/capture_files.hpp"

namespace prof::fast_crc32_test {
namespace {

// Bit by bit, over every length up to some blocks of the folding, from every place in a word.
TEST(FastCrc32, EqualsTheDefinitionForEveryLengthAndPlace) {
    if (!has_fast_crc32()) GTEST_SKIP() << "this processor has no carry-less multiplication";
    std::mt19937 random(7);
    std::vector<unsigned char> bytes(700);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<unsigned char>(random()); });
    for (std::size_t from = 0; from < 17; ++from) {
        for (std::size_t count = 0; count < 300; ++count) {
            const auto part = std::as_bytes(std::span{bytes}).subspan(from, count);
            ASSERT_EQ(fast_crc32(part), test::crc32_by_hand(bytes.data() + from, count)) << from << ", " << count;
        }
    }
    EXPECT_EQ(fast_crc32(std::as_bytes(std::span{bytes})), test::crc32_by_hand(bytes.data(), bytes.size()));
}

// The check value that every list of CRCs gives; and a message of zeros, which only the inversion keeps from being 0.
TEST(FastCrc32, HasThePublishedCheckValue) {
    if (!has_fast_crc32()) GTEST_SKIP() << "this processor has no carry-less multiplication";
    EXPECT_EQ(fast_crc32(std::as_bytes(std::span{"123456789", 9})), 0xCBF43926U);
    const std::vector<std::byte> zeros(128);
    EXPECT_EQ(fast_crc32(zeros), 0xC2A8FA9DU);
}

}  // namespace
}  // namespace prof::fast_crc32_test
