// SPDX-License-Identifier: Apache-2.0
#include "export/report/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "export/lines_of.hpp"

namespace prof::text_table_test {
namespace {

using testing::HasSubstr;

TEST(TextTable, SharesTheRoomAmongNames) {
    text_table table({{"one", 0, true}, {"n", 0}, {"two", 0, true}, {"three", 0, true}});
    table.add_row({std::string(100, 'a'), "1", "short", std::string(100, 'b')});
    // 5 for the short one, 1 for the number, 6 between: 68 are left for two.
    for (const std::string& line : lines_of(table.render(80))) EXPECT_LE(line.size(), 80U + 4U);
    EXPECT_EQ(display_width(lines_of(table.render(80))[1]), 80U);
    EXPECT_THAT(lines_of(table.render(80))[2], HasSubstr("  1  short  "));
}

TEST(TextTable, DropsTheLeastImportantColumnsFirst) {
    text_table table({{"name", 0, true}, {"must", 0}, {"may", 1}, {"might", 2}});
    table.add_row({"a long name that takes room", "1", "2", "3"});
    EXPECT_EQ(lines_of(table.render(100))[0], "name                         must  may  might");
    EXPECT_EQ(lines_of(table.render(40))[0], "name                         must  may");
    EXPECT_EQ(lines_of(table.render(36))[2], "a long name that takes room     1");
    EXPECT_EQ(lines_of(table.render(30))[2], "a long name that…es room     1");
}

TEST(TextTable, AlignsWideCharacters) {
    text_table table({{"range", 0, true}, {"n", 0}});
    table.add_row({"前向传播", "1"});
    table.add_row({"backward", "22"});
    table.add_row({"e\u0301te\u0301", "3"});
    EXPECT_EQ(lines_of(table.render(80)), (std::vector<std::string>{"range      n", "--------  --", "前向传播   1",
                                                                    "backward  22", "e\u0301te\u0301        3"}));
}

TEST(TextTable, CutsNamesInTheMiddleBetweenLetters) {
    EXPECT_EQ(shortened("abcdefghij", 7), "abcd…ij");
    EXPECT_EQ(shortened("äöüßäöüß", 5), "äöü…ß");
    EXPECT_EQ(shortened("short", 5), "short");
}

TEST(TextTable, FormatsNumbersForReading) {
    EXPECT_EQ(with_thousands(999), "999");
    EXPECT_EQ(with_thousands(1'234'567), "1,234,567");
    EXPECT_EQ(time_unit::for_largest(9'999'999).format(1'234'567), "1,234.567");
    EXPECT_EQ(time_unit::for_largest(10'000'000).format(1'234'567'891.0), "1,234.568");
    EXPECT_EQ(time_unit::for_largest(1'000'000'000'000).format(1e12), "1,000.000");
}

}  // namespace
}  // namespace prof::text_table_test
