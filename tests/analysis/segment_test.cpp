#include "analysis/segment.hpp"

#include <gtest/gtest.h>

#include "analysis/statistics.hpp"

namespace prof {
namespace {

TEST(Segment, FoldsEachRunOfDigits) {
    EXPECT_EQ(fold_digits("iteration 17"), "iteration #");
    EXPECT_EQ(fold_digits("iteration 8"), "iteration #");
    EXPECT_EQ(fold_digits("12x34 layer.5.q"), "#x# layer.#.q");
    EXPECT_EQ(fold_digits("forward"), "forward");
    EXPECT_EQ(fold_digits(""), "");
    EXPECT_EQ(fold_digits("№ ²٣"), "№ ²٣") << "digits are ASCII's; other bytes are left as they are";
}

TEST(Segment, NamesTheDomainUnlessItIsTheDefaultOrOurs) {
    timeline data;
    data.domains = {{""}, {"NCCL2"}, {"prof"}};
    data.name_table = {{1, "step 3"}};
    timeline_range range;
    range.name = 1;
    EXPECT_EQ(segment_text(data, range, true), "step #");
    EXPECT_EQ(segment_text(data, range, false), "step 3");
    range.domain = 1;
    EXPECT_EQ(segment_text(data, range, true), "NCCL2:step #") << "domains are no instances of each other";
    range.domain = 2;
    EXPECT_EQ(segment_text(data, range, true), "step #");
    range.name = 0;
    EXPECT_EQ(segment_text(data, range, true), "(unnamed)");
}

TEST(Segment, EscapesWhatSeparatesPaths) {
    EXPECT_EQ(escape_segment("a/b\\c"), "a\\/b\\\\c");
    EXPECT_EQ(escape_segment("plain"), "plain");
}

TEST(Statistics, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({5}), 5);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({9, 1, 4, 7}), 5.5);
}

TEST(Statistics, DeviationIsOfTheSample) {
    EXPECT_EQ(sample_stddev({}), 0);
    EXPECT_EQ(sample_stddev({7}), 0);
    EXPECT_DOUBLE_EQ(sample_stddev({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7.0));
}

TEST(BusyTime, IsTheLengthOfTheUnionOnEachDevice) {
    busy_time busy;
    busy.add(0, 0, 10);
    busy.add(0, 2, 5);    // inside
    busy.add(0, 8, 12);   // over the edge
    busy.add(0, 12, 15);  // touching
    busy.add(0, 20, 30);
    EXPECT_EQ(busy.total_ns(), 25);
    busy.add(1, 0, 10);
    EXPECT_EQ(busy.total_ns(), 35);
}

}  // namespace
}  // namespace prof
