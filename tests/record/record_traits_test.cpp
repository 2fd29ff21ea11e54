// SPDX-License-Identifier: Apache-2.0
#include "record/record_traits.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string_view>

namespace prof::record_traits_test {
namespace {

TEST(RecordTraits, HaveTheirRowAtTheNumberOfTheKind) {
    std::set<std::string_view> names;
    for (std::size_t number = 0; number < record_kinds.size(); ++number) {
        const record_traits& row = record_kinds[number];
        if (row.kind == record_kind::none) continue;
        EXPECT_EQ(static_cast<std::size_t>(row.kind), number);
        EXPECT_EQ(&traits_of(row.kind), &row);
        EXPECT_NE(row.role, record_role::none) << row.name;
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
    }
    EXPECT_EQ(names.size(), 25U) << "every kind but none, which a switch over all of them would name";
}

// A copy's original, and a stream, are stored where other kinds have a name and a colour.
TEST(RecordTraits, TakeNoPartOfAnIdForAName) {
    EXPECT_TRUE(has_name({.name = 7, .kind = record_kind::range_push}));
    EXPECT_FALSE(has_name({.name = 0, .kind = record_kind::range_push}));
    EXPECT_FALSE(has_name({.name = 7, .kind = record_kind::graph_clone}));
    EXPECT_FALSE(has_name({.name = 7, .kind = record_kind::stream_sync}));
    EXPECT_TRUE(has_name({.name = 7, .kind = record_kind::code_line}));
    EXPECT_TRUE(has_name({.name = 7, .kind = record_kind::thread_time}));
}

TEST(RecordTraits, ReadNumbersThatAreNoKindAsNone) {
    for (const int number : {0, 11, 27, 255}) {
        EXPECT_EQ(traits_of(static_cast<record_kind>(number)).role, record_role::none) << number;
    }
}

}  // namespace
}  // namespace prof::record_traits_test
