// SPDX-License-Identifier: Apache-2.0
// What a program in C annotates (annotations_victim.c), as its capture has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "record/label.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct CAnnotations : testing::Test, profiled_program {
    CAnnotations() : profiled_program(way_in::its_own, {{"PROF_EXPORT", ""}}) {}

    timeline capture() const {
        const process_result result = run({});
        EXPECT_EQ(result.exit_code(), 0) << result.err;
        EXPECT_EQ(result.err, "");
        return only_capture();
    }
};

TEST_F(CAnnotations, AreRecordedAsTheyWereMade) {
    const timeline data = capture();
    std::vector<std::string> ranges;
    for (const timeline_range& range : data.ranges) {
        EXPECT_EQ(range.domain, 0U);
        const char* const style = range.style == range_style::start_end ? " (start/end)" : "";
        const std::string below =
            range.parent == npos ? "" : std::string{data.name(data.ranges[range.parent].name)} + "/";
        ranges.push_back(below + std::string{data.name(range.name)} + style);
        EXPECT_FALSE(range.open_at_end);
        if (data.name(range.name) == "coloured") {
            EXPECT_EQ(range.color, 0xFF76B900U);
            EXPECT_EQ(range.category, 7U);
            EXPECT_EQ(range.payload, 12U);
            EXPECT_EQ(range.payload_kind, payload_type::u64);
        }
        if (data.name(range.name) == "request") {
            EXPECT_EQ(std::bit_cast<double>(range.payload), 0.5);
            EXPECT_EQ(range.payload_kind, payload_type::f64);
        }
    }
    EXPECT_THAT(ranges, UnorderedElementsAre("outer", "outer/coloured", "coloured/passing", "request (start/end)",
                                             "other (start/end)"));

    ASSERT_EQ(data.marks.size(), 2U);
    EXPECT_EQ(data.name(data.marks[0].name), "mark");
    EXPECT_EQ(data.marks[0].domain, 0U);
    EXPECT_EQ(static_cast<std::int64_t>(data.marks[0].payload), -3);
    EXPECT_EQ(data.marks[0].payload_kind, payload_type::i64);
    EXPECT_FALSE(counter_value(data, data.marks[0]).has_value());
    EXPECT_EQ(data.name(data.marks[1].name), "loss");
    EXPECT_EQ(counter_value(data, data.marks[1]), 0.25);
    EXPECT_TRUE(data.quality.dropped.empty());
}

}  // namespace
}  // namespace prof::test
