// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/segment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"

namespace prof::segment_test {
namespace {

TEST(Segment, FoldsEachRunOfDigits) {
    EXPECT_EQ(fold_digits("iteration 17"), "iteration #");
    EXPECT_EQ(fold_digits("iteration 8"), "iteration #");
    EXPECT_EQ(fold_digits("12x34 layer.5.q"), "#x# layer.#.q");
    EXPECT_EQ(fold_digits("forward"), "forward");
    EXPECT_EQ(fold_digits(""), "");
    EXPECT_EQ(fold_digits("№ ²٣"), "№ ²٣") << "digits are ASCII's; other bytes are left as they are";
}

TEST(Segment, KeepsNumbersThatDistinguishKinds) {
    for (const char* name :
         {"conv1d", "conv2d_bias", "ConvTranspose2D", "fp16", "fp8", "gemm_bf16/tn", "TF32 on", "int8", "cast(uint4)",
          "float64", "adamw8bit", "aten::_conv3d_", "log1p", "CastFp16ToBool"}) {
        EXPECT_EQ(fold_digits(name), name);
    }
    const std::vector<std::pair<const char*, const char*>> folded = {
        {"step17", "step#"},
        {"step_17_of_100", "step_#_of_#"},
        {"layers.31.mlp", "layers.#.mlp"},
        {"layer1.0", "layer#.#"},
        {"ProfilerStep#17", "ProfilerStep##"},
        {"request123abc", "request#abc"},  // no kinds of anything come by the hundred
        {"2d", "#d"},
        {"fp16 17", "fp16 #"},
        {"print8", "print#"},
        {"fp9", "fp#"},
        {"xfp16", "xfp#"},
        {"1fp16", "#fp#"},
        {"fp 16", "fp #"},
        {"int", "int"},
        {"checkpoint64", "checkpoint#"},
        {"fp816", "fp#"},
    };
    for (const auto& [name, expected] : folded) EXPECT_EQ(fold_digits(name), expected);
}

TEST(Segment, NamesDomainsButTheDefaultAndLibprofs) {
    timeline data;
    data.domains = {{""}, {"NCCL2"}, {"prof"}};
    data.name_table = {{name_id(1), "step 3"}};
    timeline_range range;
    range.name = name_id(1);
    EXPECT_EQ(segment_text(data, range, true), "step #");
    EXPECT_EQ(segment_text(data, range, false), "step 3");
    range.domain = 1;
    EXPECT_EQ(segment_text(data, range, true), "NCCL2:step #") << "domains are no instances of each other";
    range.domain = 2;
    EXPECT_EQ(segment_text(data, range, true), "step #");
    range.name = {};
    EXPECT_EQ(segment_text(data, range, true), "(unnamed)");
}

// No two ranges of different names or domains have equal segments.
TEST(Segment, DistinguishesNamesFromDomainsAndSpecialRows) {
    timeline data;
    data.domains = {{""}, {"a"}, {"a:b"}, {"prof"}, {"default"}};
    const auto segment = [&](std::uint16_t domain, const char* name) {
        data.name_table[name_id(1)] = name;
        timeline_range range;
        range.name = name_id(*name == '\0' ? 0 : 1);
        range.domain = domain;
        return path_segments(data)(range, false);
    };
    EXPECT_EQ(segment(0, "aten::mm"), "aten::mm");
    EXPECT_EQ(segment(0, "x/y\\z"), "x\\/y\\\\z");
    EXPECT_EQ(segment(0, "a:b:c"), "a\\:b\\:c");
    EXPECT_EQ(segment(1, "b:c"), "a:b:c");
    EXPECT_EQ(segment(2, "c"), "a\\:b:c");
    EXPECT_EQ(segment(3, "a:c"), "a\\:c") << "libprof's own ranges stand without a domain, too";
    EXPECT_EQ(segment(4, "c"), "default:c");
    EXPECT_EQ(segment(0, "default:c"), "default\\:c");
    for (const std::string name : {"(no range)", "(ambiguous)", "(unmatched)", "(unnamed)"}) {
        EXPECT_EQ(segment(0, name.c_str()), '\\' + name);
    }
    EXPECT_EQ(segment(0, ""), "(unnamed)");
    EXPECT_EQ(segment(1, ""), "a:(unnamed)");
    EXPECT_EQ(segment(1, "(unnamed)"), "a:\\(unnamed)");
    EXPECT_EQ(segment(1, "(no range)"), "a:(no range)");
    EXPECT_EQ(segment(0, "\\(no range)"), "\\\\(no range)");
    // A long name is gone through only where a domain could end.
    EXPECT_EQ(segment(0, std::string(1 << 20, ':').c_str()), std::string(1 << 20, ':'));
}

TEST(Segment, IsShownWithoutPathEscapes) {
    EXPECT_EQ(shown_segment("step/a\\/b\\\\c"), "a/b\\c");
    EXPECT_EQ(shown_segment("step/NCCL\\:y"), "NCCL\\:y");
    EXPECT_EQ(shown_segment("\\(no range)"), "\\(no range)");
    EXPECT_EQ(shown_segment(""), "");
}

TEST(Segment, MarksCapturedRanges) {
    EXPECT_EQ(with_captured("x", true), "x (captured)");
    EXPECT_EQ(with_captured("x", false), "x");
    EXPECT_EQ(with_captured("x (captured)", false), "x \\(captured)");
    EXPECT_EQ(with_captured("x (captured)", true), "x (captured) (captured)");
}

TEST(Segment, EscapesPathSeparators) {
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
}  // namespace prof::segment_test
