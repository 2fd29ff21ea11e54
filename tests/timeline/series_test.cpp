// SPDX-License-Identifier: Apache-2.0
#include "timeline/series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/capture_builder.hpp"

namespace prof::series_test {
namespace {

std::vector<std::string> texts_of(const timeline_series& values) {
    std::vector<std::string> out;
    for (const series_sample& sample : values.samples) {
        out.push_back(std::to_string(sample.time_ns) + ": " + std::to_string(std::lround(sample.value * 100)));
    }
    return out;
}

TEST(Series, HaveTheValuesOfAllThreadsInTheOrderOfTime) {
    capture_builder capture;
    capture.thread("trainer").counter(10, "loss", 2.5).counter(30, "loss", 1.5).counter(40, "rate", 1).mark(50, "loss");
    capture.thread("loader").counter(5, "queue", 3).counter(20, "loss", 2);
    const timeline data = capture.build();
    ASSERT_EQ(data.series.size(), 3U);
    EXPECT_EQ(data.series[0].name, "loss");
    EXPECT_EQ(data.series[0].source, series_source::counter);
    EXPECT_THAT(texts_of(data.series[0]), testing::ElementsAre("10: 250", "20: 200", "30: 150"));
    EXPECT_EQ(data.series[1].name, "queue");
    EXPECT_THAT(texts_of(data.series[1]), testing::ElementsAre("5: 300"));
    EXPECT_EQ(data.series[2].name, "rate");
}

TEST(Series, OfACaptureWithoutCountersAreNone) {
    capture_builder capture;
    capture.thread("trainer").mark(10, "loss");
    EXPECT_TRUE(capture.build().series.empty());
}

}  // namespace
}  // namespace prof::series_test
