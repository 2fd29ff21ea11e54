// SPDX-License-Identifier: Apache-2.0
#include "record/range_name.hpp"

#include <gtest/gtest.h>

namespace prof::range_name_test {
namespace {

TEST(RangeName, HasADomainAfterTheLastAt) {
    EXPECT_EQ(parse_range_name("step"), range_name("step"));
    EXPECT_EQ(parse_range_name("step@app"), range_name("step", "app"));
    EXPECT_EQ(parse_range_name("a@b@*"), range_name("a@b", "*"));
    for (const char* const bad : {"", "@", "@app", "step@", "a@b@"}) EXPECT_FALSE(parse_range_name(bad)) << bad;
}

TEST(RangeName, KeepsItsText) {
    for (const char* const text : {"step", "step@app", "a@b@*", "step #@default"}) {
        EXPECT_EQ(parse_range_name(text)->text(), text);
    }
    EXPECT_TRUE(range_name().empty());
    EXPECT_EQ(range_name().text(), "");
}

}  // namespace
}  // namespace prof::range_name_test
