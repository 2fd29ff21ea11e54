// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/line_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "hooks/lines/python_layout.hpp"
#include "support/sanitized.hpp"

namespace prof::test {
namespace {

using table = std::vector<std::uint8_t>;

std::uint32_t in_pairs(const table& of, std::int32_t unit, std::int32_t first = 10) {
    return line_of_instruction(line_table_format::pairs, of, first, unit);
}
std::uint32_t in_locations(const table& of, std::int32_t unit, std::int32_t first = 10) {
    return line_of_instruction(line_table_format::locations, of, first, unit);
}

TEST(LineTable, PairsAddLengthsAndDifferences) {
    const table of = {4, 1, 2, 0x80, 6, 2, 2, 0xFF};  // 11 for 4 bytes, none for 2, 13 for 6, 12 for 2
    EXPECT_EQ(in_pairs(of, 0), 11U);
    EXPECT_EQ(in_pairs(of, 1), 11U);
    EXPECT_EQ(in_pairs(of, 2), 0U);
    EXPECT_EQ(in_pairs(of, 3), 13U);
    EXPECT_EQ(in_pairs(of, 5), 13U);
    EXPECT_EQ(in_pairs(of, 6), 12U);
    EXPECT_EQ(in_pairs(of, 7), 0U) << "behind the code";
    EXPECT_EQ(in_pairs(of, -1), 10U) << "not begun: the function's own line";
}

TEST(LineTable, LocationsHaveFiveForms) {
    const table of = {
        0x80 | 2 << 3 | 1,  0x12,                 // short form: the same line, for 2 units
        0x80 | 11 << 3 | 0, 3,    4,              // one line further, for 1
        0x80 | 13 << 3 | 0, 0x05,                 // no columns: 2 lines back
        0x80 | 15 << 3 | 2,                       // none, for 3
        0x80 | 14 << 3 | 0, 0x4A, 0x02, 1, 2, 3,  // long form: number 10 + 2 * 64 = 138, so 69 further
        0x80 | 12 << 3 | 7, 3,    4,              // two lines further, for 8
    };
    EXPECT_EQ(in_locations(of, 0), 10U);
    EXPECT_EQ(in_locations(of, 1), 10U);
    EXPECT_EQ(in_locations(of, 2), 11U);
    EXPECT_EQ(in_locations(of, 3), 9U);
    EXPECT_EQ(in_locations(of, 4), 0U);
    EXPECT_EQ(in_locations(of, 6), 0U);
    EXPECT_EQ(in_locations(of, 7), 78U);
    EXPECT_EQ(in_locations(of, 8), 80U);
    EXPECT_EQ(in_locations(of, 15), 80U);
    EXPECT_EQ(in_locations(of, 16), 0U);
}

TEST(LineTable, ReadsNothingBeyondRandomBytes) {
    std::mt19937 random(42);
    for (std::uint32_t i = 0; i < random_cases(20'000); ++i) {
        table of(random() % 24);
        for (std::uint8_t& each : of) each = static_cast<std::uint8_t>(random());
        of.shrink_to_fit();
        for (const std::int32_t unit : {-1, 0, 1, 7, 100, 1 << 24}) {
            (void)in_pairs(of, unit);
            (void)in_locations(of, unit);
        }
    }
}

TEST(PythonLayout, KnowsFinalVersionsWithTheLock) {
    for (const char* const version : {"3.10.13 (main, Nov", "3.11.7+ (main", "3.12.1", "3.13.0 (main"}) {
        EXPECT_NE(python_layout_of(version), nullptr) << version;
    }
    for (const char* const version :
         {"3.9.18 (main", "3.14.0 (main", "3.13.0rc1 (main", "3.13.0 experimental free-threading build (main", "3.11",
          "3.", "", "2.7.18 (default", "4.12.1 (main", "3.1112.1"}) {
        EXPECT_EQ(python_layout_of(version), nullptr) << version;
    }
}

}  // namespace
}  // namespace prof::test
