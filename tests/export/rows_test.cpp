// SPDX-License-Identifier: Apache-2.0
// The layouts of the host's and the GPU's rows, on captures made to collide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "export/layout/gpu_rows.hpp"
#include "export/layout/host_rows.hpp"
#include "support/capture_builder.hpp"

namespace prof::rows_test {
namespace {

using testing::ElementsAre;

TEST(GpuRows, MoveARangeThatCutsAnotherThreadsKernelToItsOwnRow) {
    // Two threads launch on one stream: a's kernel [10, 50), b's [30, 60) beside it.
    capture_builder capture;
    capture.thread("a").push(0, "range a").launch(1, 1).pop(5);
    capture.thread("b").push(0, "range b").launch(1, 2).pop(5);
    capture.kernel(1, 10, 50).kernel(2, 30, 60);
    const timeline data = capture.build();
    const auto streams = lay_out_gpu(data, attribute(data));
    ASSERT_EQ(streams.size(), 1U);
    EXPECT_EQ(streams[0].range_row_count, 1U);
    EXPECT_EQ(streams[0].op_row_count, 1U);
    EXPECT_THAT(streams[0].op_row, ElementsAre(0, 2));
    ASSERT_EQ(streams[0].ranges.size(), 2U);
    EXPECT_EQ(streams[0].ranges[0].row, 0U);
    EXPECT_EQ(streams[0].ranges[1].row, 1U);
}

TEST(GpuRows, NestRangesByDepthWhenTheyCoverTheSame) {
    capture_builder capture;
    capture.thread("a").push(0, "outer").push(1, "inner").launch(2, 1).pop(5).pop(6);
    capture.kernel(1, 10, 50);
    const timeline data = capture.build();
    const auto streams = lay_out_gpu(data, attribute(data));
    ASSERT_EQ(streams[0].ranges.size(), 2U);
    EXPECT_EQ(data.name(data.ranges[streams[0].ranges[0].range].name), "outer");
    EXPECT_EQ(data.name(data.ranges[streams[0].ranges[1].range].name), "inner");
    EXPECT_EQ(streams[0].range_row_count, 0U);
}

TEST(GpuRows, SeparateStreamsAndDevices) {
    capture_builder capture;
    capture.thread("a").push(0, "r").launch(1, 1).launch(3, 2).launch(5, 3).pop(9);
    capture.kernel(1, 10, 20, {.stream = 9}).kernel(2, 10, 20, {.device = 1}).kernel(3, 30, 40, {.stream = 9});
    const timeline data = capture.build();
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::size_t, std::size_t>> found;
    for (const auto& s : lay_out_gpu(data, attribute(data))) {
        found.emplace_back(s.device, s.stream, s.ops.size(), s.ranges.size());
    }
    EXPECT_THAT(found, ElementsAre(std::tuple(0, 9, 2, 1), std::tuple(1, 7, 1, 1)));
}

// CUPTI numbers the streams of each context by themselves: GPU 0 has two streams 7, beside each other in time.
TEST(GpuRows, SeparateStreamsOfContexts) {
    capture_builder capture;
    capture.thread("a").push(0, "r").launch(1, 1).launch(3, 2).launch(5, 3).launch(7, 4).pop(9);
    capture.kernel(1, 10, 20, {.stream = 7, .context = 1}).kernel(2, 12, 22, {.stream = 7, .context = 2});
    capture.kernel(3, 10, 20, {.stream = 13, .context = 2}).kernel(4, 10, 20, {.device = 1, .context = 3});
    const timeline data = capture.build();
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t, bool>> found;
    for (const auto& s : lay_out_gpu(data, attribute(data))) {
        found.emplace_back(s.device, s.context, s.stream, s.number, s.shares_device);
        EXPECT_EQ(s.ops.size(), 1U);
        EXPECT_EQ(s.ranges.size(), 1U);
        EXPECT_EQ(s.op_row_count, 0U) << "nothing runs beside another there";
    }
    EXPECT_THAT(found, ElementsAre(std::tuple(0, 1, 7, 7, true), std::tuple(0, 2, 7, 14, true),
                                   std::tuple(0, 2, 13, 13, true), std::tuple(1, 3, 7, 7, false)));
}

// What a viewer needs of a row, checked pair by pair: no slices that overlap in part, none that begins together with an
// operation and is not around it. And nothing is lost.
TEST(GpuRows, NestForAnyInput) {
    std::mt19937 random(11);
    std::size_t checked_count = 0;
    for (int round = 0; round < 200; ++round) {
        capture_builder capture;
        std::uint64_t correlation = 0;
        for (const char* name : {"a", "b", "c"}) {
            thread_script& thread = capture.thread(name);
            std::uint64_t now = 0;
            for (int r = 0; r < 4; ++r) {
                thread.push(now, "outer").push(now + 1, "inner");
                now += 2;
                for (auto i = random() % 3; i > 0; --i) {
                    thread.launch(now += 2, ++correlation);
                    const std::uint64_t start = random() % 40;
                    capture.kernel(correlation, start, start + random() % 8, {.stream = random() % 2 == 0 ? 7U : 8U});
                }
                thread.pop(now).pop(now + 1);
                now += 2;
            }
        }
        const timeline data = capture.build();
        std::size_t ops = 0;
        for (const gpu_stream_rows& stream : lay_out_gpu(data, attribute(data))) {
            struct slice {
                std::int64_t start;
                std::int64_t end;
                std::size_t row;
                bool is_op;
            };
            std::vector<slice> slices;
            for (const projected_range& r : stream.ranges) slices.push_back({r.start_ns, r.end_ns, r.row, false});
            for (std::size_t i = 0; i < stream.ops.size(); ++i) {
                const gpu_op& op = data.ops[stream.ops[i]];
                slices.push_back({op.start_ns, op.end_ns, stream.op_row[i], true});
                ++ops;
            }
            for (std::size_t i = 0; i < slices.size(); ++i) {
                for (std::size_t j = 0; j < slices.size(); ++j) {
                    const slice& a = slices[i];
                    const slice& b = slices[j];
                    if (i == j || a.row != b.row) continue;
                    ASSERT_LE(a.row, stream.range_row_count + stream.op_row_count);
                    ASSERT_FALSE(a.start < b.start && b.start < a.end && a.end < b.end) << "cut in round " << round;
                    ASSERT_FALSE(a.is_op && b.is_op && a.start == b.start) << "two begin together in " << round;
                    ASSERT_FALSE(a.is_op && !b.is_op && a.start == b.start && b.end < a.end) << "hidden in " << round;
                    ASSERT_FALSE(a.is_op && a.start < b.start && b.start < a.end) << "inside an op in " << round;
                }
            }
        }
        ASSERT_EQ(ops, data.ops.size());
        checked_count += ops;
    }
    EXPECT_GT(checked_count, 1000U);
}

TEST(HostRows, PutInterleavedDomainsOnTwoRows) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("a").push(0, "A").push(10, "B", other).push(12, "C", other).pop(20).pop(25, other).pop(30, other);
    const timeline data = capture.build();
    const auto threads = lay_out_host(data);
    ASSERT_EQ(threads.size(), 1U);
    EXPECT_EQ(threads[0].row_count, 2U);
    std::vector<std::pair<std::string, std::uint32_t>> rows;
    for (const host_item& item : threads[0].items) {
        rows.emplace_back(data.name(data.ranges[item.index].name), item.row);
    }
    EXPECT_THAT(rows, ElementsAre(std::pair("A", 0U), std::pair("B", 1U), std::pair("C", 1U)));
}

// A phase that begins within a range of the program's and ends after it would cut it. Each kind has rows of its own,
// and takes no notice of the other.
TEST(HostRows, PutPhasesOnTheirOwnRows) {
    capture_builder capture;
    const std::uint16_t phases = capture.domain("prof.phases");
    thread_script& thread = capture.thread("a");
    thread.push(0, "A").push(10, "forward", phases).push(12, "B").pop(15).pop(20).push(22, "C").pop(25);
    thread.pop(30, phases);
    const timeline data = capture.build();
    const auto threads = lay_out_host(data);
    ASSERT_EQ(threads.size(), 1U);
    EXPECT_EQ(threads[0].row_count, 1U);
    EXPECT_EQ(threads[0].phase_row_count, 1U);
    ASSERT_EQ(threads[0].items.size(), 4U);
    for (const host_item& item : threads[0].items) {
        const bool is_phase = data.name(data.ranges[item.index].name) == "forward";
        EXPECT_EQ(item.row, is_phase ? 1U : 0U) << item.index;
    }
}

TEST(HostRows, KeepCallsThatBeginTogetherApart) {
    // A clock that stands still: two calls, a mark and a range at the same instant.
    capture_builder capture;
    capture.thread("a")
        .push(5, "r")
        .enter(10, 1)
        .exit(10, 1)
        .enter(10, 2)
        .exit(14, 2)
        .mark(10, "m")
        .push(10, "s")
        .pop(12)
        .pop(20);
    const timeline data = capture.build();
    const auto threads = lay_out_host(data);
    std::map<std::uint32_t, int> begun_at_10;
    for (const host_item& item : threads[0].items) {
        if (item.start_ns == 10) ++begun_at_10[item.row];
    }
    for (const host_item& call : threads[0].items) {
        if (call.kind != host_item_kind::call) continue;
        for (const host_item& item : threads[0].items) {
            const bool is_other = item.kind != call.kind || item.index != call.index;
            const bool is_around = item.kind == host_item_kind::range && item.end_ns >= call.end_ns;
            EXPECT_FALSE(is_other && !is_around && item.row == call.row && item.start_ns == call.start_ns);
        }
    }
    EXPECT_GT(begun_at_10.size(), 1U);
}

TEST(HostRows, KeepThreadsOfOneTidTogether) {
    capture_builder capture;
    capture.thread("first").push(0, "r").pop(5);
    capture.thread("second").push(10, "r").pop(15);
    capture.parts().threads[1].tid = capture.parts().threads[0].tid;
    const auto threads = lay_out_host(capture.build());
    ASSERT_EQ(threads.size(), 1U);
    EXPECT_EQ(threads[0].items.size(), 2U);
    EXPECT_EQ(threads[0].threads.size(), 2U);
}

}  // namespace
}  // namespace prof::rows_test
