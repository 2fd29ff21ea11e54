// SPDX-License-Identifier: Apache-2.0
// Ranges in a process without a tool.
#include <gtest/gtest.h>

#include <prof/range.hpp>

namespace prof::range_without_tool_test {
namespace {

TEST(RangeWithoutTool, ChecksOnlyItsOwnGate) {
    const range_site site("at its place");
    EXPECT_FALSE(site.tool().is_active());
    const scoped_range no_tool_is_called(site);
    // A tool that accepts texts need not know domains and registered names.
    EXPECT_TRUE(detail::tool_of<detail::ranges>().is_active());
}

}  // namespace
}  // namespace prof::range_without_tool_test
