// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "options/domain_list.hpp"
#include "options/row_limit.hpp"

namespace prof::option_values_test {
namespace {

using testing::ElementsAre;

TEST(DomainList, ParsesEscapedCommas) {
    std::vector<std::string> patterns;
    EXPECT_TRUE(parse_domain_list("NCCL,cu*,a\\,b", patterns));
    EXPECT_THAT(patterns, ElementsAre("NCCL", "cu*", "a\\,b"));
    for (const char* bad : {"", ",", "a,", ",a", "a,,b"}) EXPECT_FALSE(parse_domain_list(bad, patterns)) << bad;
    EXPECT_EQ(patterns.size(), 3U) << "a bad list changes nothing";
}

TEST(RowLimit, IsANumberOrAll) {
    EXPECT_EQ(parse_row_limit("all"), SIZE_MAX);
    EXPECT_EQ(parse_row_limit("17"), 17U);
    for (const char* const bad : {"", "0", "-1", "ALL", "1.5", "1000001", "5 "})
        EXPECT_FALSE(parse_row_limit(bad)) << bad;
}

}  // namespace
}  // namespace prof::option_values_test
