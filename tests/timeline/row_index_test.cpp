// SPDX-License-Identifier: Apache-2.0
// An index of one table is refused wherever another table's is wanted, and costs no more than a number.
#include "timeline/row_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {
namespace {

template <typename TTable, typename TIndex>
concept takes = requires(TTable table, TIndex index) { table[index]; };
template <typename TA, typename TB>
concept are_comparable = requires(TA a, TB b) { a == b; };
template <typename TA, typename TB>
concept are_ordered = requires(TA a, TB b) { a < b; };
template <typename TIndex>
concept names_something = requires(const timeline& data, TIndex index) { data.name(index); };

// A number.
static_assert(sizeof(range_id) == sizeof(std::uint32_t) && alignof(range_id) == alignof(std::uint32_t));
static_assert(std::is_trivially_copyable_v<range_id> && std::is_trivially_destructible_v<range_id>);
static_assert(sizeof(row_table<timeline_range>) == sizeof(std::vector<timeline_range>));
static_assert(sizeof(row_values<range_id, int>) == sizeof(std::vector<int>));
static_assert(sizeof(timeline_range) == 80 && sizeof(timeline_api_call) == 64 && sizeof(gpu_op) == 40);
static_assert(sizeof(open_node) == 12 && sizeof(work_parent) == 24 && sizeof(memory_event) == 64);

// It turns into a number by itself; a number becomes one only on demand.
static_assert(std::is_convertible_v<range_id, std::uint32_t>);
static_assert(std::is_constructible_v<range_id, std::uint32_t> && std::is_constructible_v<range_id, std::size_t>);
static_assert(!std::is_convertible_v<std::uint32_t, range_id> && !std::is_convertible_v<int, range_id>);
static_assert(!std::is_assignable_v<range_id&, std::uint32_t> && !std::is_assignable_v<range_id&, int>);

// Another table's index never becomes one, and is not compared with it.
static_assert(!std::is_constructible_v<range_id, call_id> && !std::is_assignable_v<range_id&, call_id>);
static_assert(!std::is_constructible_v<open_node_id, torch_node_id>);
static_assert(!std::is_constructible_v<name_id, range_id> && !std::is_constructible_v<range_id, name_id>);
static_assert(are_comparable<range_id, range_id> && are_ordered<range_id, range_id>);
static_assert(!are_comparable<range_id, call_id> && !are_ordered<range_id, call_id>);
static_assert(!are_comparable<open_node_id, torch_node_id> && !are_comparable<name_id, thread_id>);
static_assert(are_comparable<range_id, std::size_t> && are_ordered<range_id, std::size_t>);

// Tables take their own index, and numbers.
using range_table = decltype(timeline::ranges);
static_assert(takes<range_table, range_id> && takes<const range_table, range_id> && takes<range_table, std::size_t>);
static_assert(!takes<range_table, call_id> && !takes<const range_table, op_id> && !takes<range_table, thread_id>);
static_assert(!takes<range_table, name_id> && !takes<range_table, no_row>);
static_assert(!takes<decltype(timeline::open_nodes), torch_node_id>);
static_assert(!takes<decltype(timeline::torch_nodes), open_node_id>);
static_assert(!takes<decltype(timeline::ops_by_launch), call_id>);

// Values by row take the index alone.
using range_of_op = row_values<op_id, range_id>;
static_assert(takes<range_of_op, op_id> && takes<const range_of_op, op_id> && !takes<range_of_op, range_id>);
static_assert(!takes<range_of_op, std::size_t> && !takes<range_of_op, int> && !takes<range_of_op, no_row>);

// So does the table of names.
static_assert(names_something<name_id> && !names_something<range_id> && !names_something<std::uint32_t>);

TEST(RowIndex, IsNoneAtFirst) {
    EXPECT_EQ(range_id(), npos);
    EXPECT_EQ(npos, call_id());
    EXPECT_EQ(name_id(), 0U);
    EXPECT_EQ(std::uint32_t{npos}, UINT32_MAX);
    EXPECT_EQ(std::uint32_t{range_id()}, UINT32_MAX);
    static_assert(!std::is_constructible_v<name_id, no_row>);  // a name that is none has another number
    EXPECT_NE(range_id(0), npos);
    EXPECT_LT(range_id(0), range_id(1));
    EXPECT_LT(range_id(UINT32_MAX - 1), range_id());
}

TEST(RowIndex, IsAssignedNoneAndChosenBesideIt) {
    range_id range(7);
    const bool is_known = range != npos;
    EXPECT_EQ(is_known ? range : npos, 7U);
    EXPECT_EQ(is_known ? npos : range, npos);
    range = npos;
    EXPECT_EQ(range, npos);
    std::uint32_t number = npos;
    EXPECT_EQ(number, npos);
    number = range_id(3);
    EXPECT_EQ(number, 3U);
}

TEST(RowIndex, CountsUp) {
    op_id op(4);
    EXPECT_EQ(op++, op_id(4));
    EXPECT_EQ(++op, op_id(6));
    EXPECT_EQ(op + 1, 7U);
}

TEST(RowIndex, IsAKey) {
    std::unordered_set<thread_id> threads{thread_id(1), thread_id(2), thread_id(1)};
    EXPECT_EQ(threads.size(), 2U);
    EXPECT_TRUE(threads.contains(thread_id(2)));
    std::map<thread_id, int> by_thread{{thread_id(2), 20}, {thread_id(1), 10}};
    EXPECT_EQ(by_thread.begin()->second, 10);
}

TEST(RowTable, GoesThroughItsIndices) {
    row_table<timeline_range> table(3);
    std::vector<std::uint32_t> seen;
    for (const range_id range : table.ids()) {
        table[range].depth = range;
        seen.push_back(range);
    }
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(table[2].depth, 2U);
    EXPECT_EQ(table.last_id(), range_id(2));
    EXPECT_EQ(table.end_id(), range_id(3));
    const std::vector<range_id> all(table.ids().begin(), table.ids().end());
    EXPECT_EQ(all.size(), 3U);
    const row_table<timeline_range> none;
    EXPECT_EQ(none.ids().begin(), none.ids().end());
}

TEST(RowTable, TakesAVectorOfRows) {
    std::vector<timeline_range> rows(2);
    const timeline_range* const first = rows.data();
    row_table<timeline_range> table = std::move(rows);
    EXPECT_EQ(table.data(), first);
    EXPECT_EQ(table.size(), 2U);
}

TEST(RowValues, HoldsOneForEachRow) {
    row_values<range_id, std::int64_t> values(2, 5);
    values[range_id(1)] += 1;
    EXPECT_EQ(values[range_id(0)], 5);
    EXPECT_EQ(values[range_id(1)], 6);
    row_values<range_id, bool> marks(2, false);
    for (const range_id range : marks.ids()) marks[range] = range == range_id(1);
    EXPECT_FALSE(marks[range_id(0)]);
    EXPECT_TRUE(marks[range_id(1)]);
}

}  // namespace
}  // namespace prof
