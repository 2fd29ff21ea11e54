// SPDX-License-Identifier: Apache-2.0
// Numbers in text: what is accepted, and what of the text is taken.
#include "base/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace prof::number_test {
namespace {

TEST(Number, ParsesOnlyTheWholeText) {
    EXPECT_EQ(parse_number<std::uint64_t>("0"), 0U);
    EXPECT_EQ(parse_number<std::uint64_t>("007"), 7U);
    EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
    EXPECT_EQ(parse_number<std::int32_t>("-12"), -12);
    EXPECT_EQ(parse_number("1.5", 1.1, 2.0), 1.5);
    for (const char* const text : {"", " 1", "1 ", "+1", "-1", "1x", "x1", "1.0", "0x10", "18446744073709551616"}) {
        EXPECT_EQ(parse_number<std::uint64_t>(text), std::nullopt) << '"' << text << '"';
    }
}

TEST(Number, RefusesValuesOutOfBounds) {
    EXPECT_EQ(parse_number(std::string_view{"3"}, 3, 5), 3);
    EXPECT_EQ(parse_number(std::string_view{"5"}, 3, 5), 5);
    for (const char* const text : {"2", "6", "-4", "4294967300"}) {  // 2^32 + 4
        EXPECT_EQ(parse_number(std::string_view{text}, 3, 5), std::nullopt) << text;
    }
    for (const char* const text : {"nan", "inf", "1.09", "2.01"}) {
        EXPECT_EQ(parse_number(std::string_view{text}, 1.1, 2.0), std::nullopt) << text;
    }
}

TEST(Number, TakesANumberOffTheFront) {
    std::string_view text = "60s,500";
    EXPECT_EQ(take_number<std::uint32_t>(text), 60U);
    EXPECT_EQ(text, "s,500");
    EXPECT_EQ(take_number<std::uint32_t>(text), std::nullopt);
    EXPECT_EQ(text, "s,500");
    text = "4294967296:";
    EXPECT_EQ(take_number<std::uint32_t>(text), std::nullopt);
    EXPECT_EQ(text, "4294967296:");
}

}  // namespace
}  // namespace prof::number_test
