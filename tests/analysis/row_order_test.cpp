// SPDX-License-Identifier: Apache-2.0
#include "report/row_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "report/reports.hpp"
#include "support/capture_builder.hpp"

namespace prof::row_order_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

table some_rows() {
    table of{
        "mine",
        "Things",
        {{"name", "name"}, {"cpu_self_ns", "self CPU", quantity::time_ns}, {"share", "self CPU %", quantity::share}},
        {},
        {}};
    of.rows = {{std::string("b"), 10, 0.1},
               {std::string("c"), 60, 0.6},
               {std::string("a"), 30, 0.3},
               {std::string("d"), {}, 0.1}};
    return of;
}

std::vector<std::string> names_in(const table& of) {
    std::vector<std::string> out;
    for (const table_row& row : of.rows) out.push_back(std::get<std::string>(row.front().value));
    return out;
}

TEST(RowOrder, SortsByKeyOrTitle) {
    for (const char* column : {"self CPU", "self-cpu", "cpu_self_ns"}) {
        table of = some_rows();
        sort_rows(of, column);
        EXPECT_THAT(names_in(of), ElementsAre("c", "a", "b", "d")) << column;
    }
    table of = some_rows();
    sort_rows(of, "name");
    EXPECT_THAT(names_in(of), ElementsAre("a", "b", "c", "d"));
    sort_rows(of, "self cpu%");
    EXPECT_THAT(names_in(of), ElementsAre("c", "a", "b", "d")) << "the percentage, not the time";
}

TEST(RowOrder, NamesTheColumnsThereAre) {
    table of = some_rows();
    of.columns.push_back({"name", ""});
    try {
        sort_rows(of, "gpu");
        FAIL();
    } catch (const error& refused) {
        EXPECT_STREQ(refused.what(), "mine has no column \"gpu\" to sort by; it has name, self CPU, self CPU %");
    }
}

TEST(RowOrder, CountsTheRowsLeftOut) {
    table of = some_rows();
    limit_rows(of, 4);
    EXPECT_TRUE(of.notes.empty());
    limit_rows(of, 1);
    EXPECT_THAT(names_in(of), ElementsAre("b"));
    EXPECT_THAT(of.notes, ElementsAre("3 more rows are left out"));
    of = some_rows();
    of.sums = {of.rows.front()};
    limit_rows(of, 3);
    EXPECT_THAT(of.notes, ElementsAre("1 more row is left out; the total includes it"));
}

// A list is sorted before it is cut, in the report itself; its total is of all rows.
TEST(RowOrder, IsThatOfAReport) {
    capture_builder capture;
    capture.thread("main").launch(1, 1).launch(2, 2).launch(3, 3);
    capture.kernel(1, 100, 110, {}, "often").kernel(2, 120, 130, {}, "often").kernel(3, 200, 250, {}, "long");
    const timeline data = capture.build();
    const report_kind* const kernels = find_report("kernels");
    const report_document made = make_document({.data = data, .sort = "count", .limit = 1}, {&kernels, 1});
    const table& of = *block_in<table>(made.parts.front());
    EXPECT_THAT(names_in(of), ElementsAre("often"));
    EXPECT_EQ(std::get<std::uint64_t>(of.sums.front()[3].value), 3U);
    EXPECT_EQ(std::get<std::int64_t>(of.sums.front()[4].value), 70);
    const report_kind* const tree = find_report("gpu-projection");
    EXPECT_THROW(make_document({.data = data, .sort = "count"}, {&tree, 1}), error);
    EXPECT_EQ(make_document({.data = data, .limit = 1}, {&tree, 1}).parts.size(), 1U);
}

}  // namespace
}  // namespace prof::row_order_test
