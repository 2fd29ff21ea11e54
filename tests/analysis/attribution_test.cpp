// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::attribution_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> ranges_of(const timeline& data, const attribution& att, std::size_t op) {
    std::vector<std::string> names;
    for_each_open_range(data, att, op_id(op),
                        [&](range_id range) { names.emplace_back(data.name(data.ranges[range].name)); });
    return names;
}

TEST(Attribution, CountsWorkForTheRangesOpenAtItsLaunch) {
    capture_builder capture;
    capture.thread("main").push(1, "step").push(2, "forward").launch(3, 1).pop(4).launch(5, 2).pop(6).launch(7, 3);
    capture.kernel(1, 100, 110).kernel(2, 110, 120).kernel(3, 120, 130);
    const timeline data = capture.build();
    const attribution att = attribute(data);

    EXPECT_EQ(att.owner[op_id(0)], 1U);
    EXPECT_EQ(att.owner[op_id(1)], 0U);
    EXPECT_EQ(att.owner[op_id(2)], owner_no_range);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("forward", "step"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("step"));
    EXPECT_THAT(ranges_of(data, att, 2), IsEmpty());
    EXPECT_THAT(att.adopted, ElementsAre(0, 0, 0));
}

TEST(Attribution, FollowsTheLaunchWhenTheGpuRunsOutOfOrder) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).pop(3).push(4, "b").launch(5, 2).pop(6);
    capture.kernel(1, 200, 210, {.stream = 7}).kernel(2, 100, 110, {.stream = 9});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("b"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("a"));
}

TEST(Attribution, GivesSelfTimeToTheLatestOpenedOfInterleavedDomains) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("main").push(1, "a").push(2, "b", other).launch(3, 1).pop(4).launch(5, 2).pop(6, other);
    capture.kernel(1, 10, 20).kernel(2, 20, 30);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(ranges_of(data, att, 0), ElementsAre("b", "a"));
    EXPECT_THAT(ranges_of(data, att, 1), ElementsAre("b")) << "a was closed, though b hangs under it";
    EXPECT_EQ(att.owner[op_id(1)], 1U);
    EXPECT_EQ(att.parent[range_id(1)], 0U);
    EXPECT_EQ(att.depth[range_id(1)], 1U);
}

TEST(Attribution, LeavesWorkWithoutALaunchUnmatched) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).pop(3);
    capture.kernel(9, 10, 20);
    const timeline data = capture.build();
    const attribution att = attribute(data);
    EXPECT_THAT(att.owner, ElementsAre(owner_unmatched));
    EXPECT_THAT(ranges_of(data, att, 0), IsEmpty());
}

TEST(Attribution, IgnoresStartEndRanges) {
    capture_builder capture;
    capture.thread("main").start(1, "request", 5).launch(2, 1).end(3, 5);
    capture.kernel(1, 10, 20);
    EXPECT_THAT(attribute(capture.build()).owner, ElementsAre(owner_no_range));
}

TEST(Attribution, KeepsOrdinaryThreadsApart) {
    capture_builder capture;
    capture.thread("main").push(1, "step").launch(2, 1).pop(9);
    capture.thread("worker").launch(3, 2);
    capture.kernel(1, 10, 20).kernel(2, 20, 30);
    const attribution att = attribute(capture.build());
    EXPECT_THAT(att.owner, ElementsAre(0U, owner_no_range));
}

TEST(Attribution, CountsForARangeThatNeverCloses) {
    capture_builder capture;
    capture.thread("main").push(1, "run").launch(2, 1);
    capture.kernel(1, 10, 20);
    const timeline data = capture.build();
    EXPECT_THAT(ranges_of(data, attribute(data), 0), ElementsAre("run"));
}

}  // namespace
}  // namespace prof::attribution_test
