// Ranges in a process without a tool.
#include <gtest/gtest.h>

#include <prof/range.hpp>

namespace prof::unheard_ranges_test {
namespace {

TEST(UnheardRanges, LookNoFurtherThanTheirOwnGate) {
    const range_site site("at its place");
    EXPECT_FALSE(site.tool().hears());
    const scoped_range nobody_is_called(site);
    // A tool that hears texts need not know what a domain or a registered name is.
    EXPECT_TRUE(detail::the_tool().hears());
}

}  // namespace
}  // namespace prof::unheard_ranges_test
