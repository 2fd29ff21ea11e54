// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gmock/gmock.h>

#include <string_view>
#include <vector>

namespace prof::text_test {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> all_of(const text_parts& parts) {
    std::vector<std::string_view> out;
    for (const std::string_view part : parts) out.push_back(part);
    return out;
}

TEST(Text, IsSplitAtEachSeparator) {
    EXPECT_THAT(all_of(split("a,bc,d", ',')), ElementsAre("a", "bc", "d"));
    EXPECT_THAT(all_of(split("a", ',')), ElementsAre("a"));
    EXPECT_THAT(all_of(split("", ',')), ElementsAre(""));
    EXPECT_THAT(all_of(split(",a,,", ',')), ElementsAre("", "a", "", ""));
    EXPECT_THAT(all_of(split("a\\,b", ',')), ElementsAre("a\\", "b"));
}

TEST(Text, IsNotSplitAtAnEscapedSeparator) {
    EXPECT_THAT(all_of(split("a\\,b,c", ',', '\\')), ElementsAre("a\\,b", "c"));
    EXPECT_THAT(all_of(split("a\\\\,b", ',', '\\')), ElementsAre("a\\\\", "b"));
    EXPECT_THAT(all_of(split("a,b\\", ',', '\\')), ElementsAre("a", "b\\"));
    EXPECT_THAT(all_of(split("\\,", ',', '\\')), ElementsAre("\\,"));
}

}  // namespace
}  // namespace prof::text_test
