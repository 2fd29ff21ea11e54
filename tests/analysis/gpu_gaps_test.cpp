// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/gpu_gaps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "support/capture_builder.hpp"

namespace prof::gpu_gaps_test {
namespace {

constexpr cuda_function synchronize{api_domain::runtime, 165, api_class::wait};

struct GpuGaps : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
};

// A step from 1000 to 9000. On the GPU: 1100–1200, 1300–1400 on one stream, and on another 5000–8000, which was
// launched before all others but had to wait.
TEST_F(GpuGaps, HaveTheirNeighboursAndQueue) {
    main.step(1'000, 7, own);
    main.call(1'010, 1'020, 1, {}, "waits").call(1'030, 1'040, 2, {}, "a").call(1'050, 1'060, 3, {}, "b");
    main.call(1'390, 4'500, 9, synchronize);
    capture.kernel(2, 1'100, 1'200, {}, "a").kernel(3, 1'300, 1'400, {}, "b");
    capture.kernel(1, 5'000, 8'000, {.stream = 8}, "waits");
    main.step(9'000, 8, own);
    const timeline data = capture.build();
    const auto found = find_gpu_gaps(data, attribute(data));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count, 4U);
    EXPECT_EQ(found->idle_ns, 3'600 + 1'000 + 100 + 100);
    EXPECT_EQ(found->empty_queue_ns, 1'000 + 100);  // the first, before any launch, and the last
    ASSERT_EQ(found->gaps.size(), 4U);

    const gpu_gap& longest = found->gaps[0];
    EXPECT_EQ(longest.start_ns, 1'400);
    EXPECT_EQ(longest.end_ns, 5'000);
    EXPECT_EQ(longest.step, 7U);
    EXPECT_EQ(longest.before, 1U);
    EXPECT_EQ(longest.next, 2U);
    EXPECT_EQ(longest.queued_at_start, 1U);   // the one that waits
    EXPECT_EQ(longest.queued_at_launch, 0U);  // it was the first to be launched
    EXPECT_EQ(longest.launch_to_start_ns, 3'990);
    EXPECT_EQ(longest.cause, idle_cause::queued);
    EXPECT_NE(longest.drained, npos);

    const gpu_gap& last = found->gaps[1];
    EXPECT_EQ(last.start_ns, 8'000);
    EXPECT_EQ(last.next, npos);
    EXPECT_EQ(last.queued_at_start, 0U);
    EXPECT_FALSE(last.queued_at_launch);
    EXPECT_FALSE(last.launch_to_start_ns);

    EXPECT_EQ(found->gaps[2].start_ns, 1'000);
    EXPECT_EQ(found->gaps[2].before, npos);
    EXPECT_EQ(found->gaps[2].queued_at_start, 0U);
    EXPECT_EQ(found->gaps[2].queued_at_launch, 1U);
    EXPECT_EQ(found->gaps[3].queued_at_start, 2U);
    EXPECT_EQ(found->gaps[3].queued_at_launch, 2U);
}

TEST_F(GpuGaps, OfAReplayAreTheGraphsOwn) {
    main.step(1'000, 1, own).enter(1'100, 1).exit(9'000, 1).step(10'000, 2, own);
    capture.kernel(1, 2'000, 3'000, {.graph_node = 5, .graph = 1})
        .kernel(1, 6'000, 7'000, {.graph_node = 6, .graph = 1});
    const timeline data = capture.build();
    const auto found = find_gpu_gaps(data, attribute(data));
    ASSERT_TRUE(found);
    const auto within =
        std::find_if(found->gaps.begin(), found->gaps.end(), [](const gpu_gap& gap) { return gap.start_ns == 3'000; });
    ASSERT_NE(within, found->gaps.end());
    EXPECT_EQ(within->cause, idle_cause::queued);
    EXPECT_EQ(within->queued_at_start, 1U);
}

// A step from 1000 to 2000 and one to 9000. The GPU is idle from 1400 to 5000.
TEST_F(GpuGaps, AreDividedWhereAStepEnds) {
    main.step(1'000, 1, own).call(1'010, 1'020, 1, {}, "a").step(2'000, 2, own);
    main.call(4'000, 4'010, 2, {}, "b").step(9'000, 3, own);
    capture.kernel(1, 1'300, 1'400, {}, "a").kernel(2, 5'000, 9'000, {}, "b");
    const timeline data = capture.build();
    const auto found = find_gpu_gaps(data, attribute(data));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->gaps.size(), 3U);
    EXPECT_EQ(found->gaps[0].step, 2U);
    EXPECT_EQ(found->gaps[0].start_ns, 2'000);
    EXPECT_EQ(found->gaps[0].idle_ns, 3'000);
    EXPECT_EQ(found->gaps[1].step, 1U);
    EXPECT_EQ(found->gaps[1].start_ns, 1'400);
    EXPECT_EQ(found->gaps[1].idle_ns, 600);
    EXPECT_EQ(found->gaps[1].next, 1U);  // it is in the next step
    EXPECT_EQ(found->gaps[2].idle_ns, 300);
}

struct operation {
    std::int64_t called, returned, start, end;
    std::uint32_t device;
};

// Launched and not ended: by the definition, one operation at a time.
std::uint64_t queued(const std::vector<operation>& all, std::uint32_t device, std::int64_t ns, bool counts_moment) {
    return static_cast<std::uint64_t>(std::count_if(all.begin(), all.end(), [&](const operation& op) {
        const std::int64_t launched = std::min(op.returned, op.start);
        return op.device == device && (launched < ns || (counts_moment && launched == ns)) && op.end > ns;
    }));
}

TEST(GpuGapsOracle, AgreesOnRandomPrograms) {
    std::size_t compared = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        thread_script& main = capture.thread("python");
        std::vector<operation> all;
        std::vector<std::int64_t> steps;
        std::uint64_t now = 100;
        for (std::uint64_t i = 1; i <= 40; ++i) {
            now += 1 + below(60);
            if (below(5) == 0) {
                main.step(now, steps.size(), own);
                steps.push_back(static_cast<std::int64_t>(now));
                continue;
            }
            const std::uint64_t length = 1 + below(20);
            const std::uint64_t start = now + below(150);
            const std::uint64_t end = start + 1 + below(90);
            const std::uint32_t device = below(2);
            main.call(now, now + length, i, {}, "kernel");
            capture.kernel(i, start, end, {.stream = 7 + below(3), .device = device});
            all.push_back({static_cast<std::int64_t>(now), static_cast<std::int64_t>(now + length),
                           static_cast<std::int64_t>(start), static_cast<std::int64_t>(end), device});
            now += length;
        }
        const timeline data = capture.build();
        const attribution att = attribute(data);
        const auto whole = break_down(data, att);
        const auto found = find_gpu_gaps(data, att);
        ASSERT_EQ(whole.has_value(), found.has_value());
        if (!found) continue;
        EXPECT_EQ(found->idle_ns, whole->total_of(time_use::idle)) << seed;
        EXPECT_EQ(found->count, found->gaps.size());
        std::int64_t sum_ns = 0;
        std::int64_t empty_ns = 0;
        std::array<std::int64_t, idle_cause_count> by_cause{};
        std::map<std::uint64_t, std::int64_t> idle_in_step;
        for (const gpu_gap& gap : found->gaps) {
            sum_ns += gap.idle_ns;
            if (gap.queued_at_start == 0) empty_ns += gap.idle_ns;
            ASSERT_LE(gap.cause_ns, gap.idle_ns);
            ASSERT_EQ(gap.idle_ns, gap.end_ns - gap.start_ns);
            ASSERT_EQ(gap.idle_ns, std::accumulate(gap.by_cause.begin(), gap.by_cause.end(), std::int64_t{0}));
            for (std::size_t cause = 0; cause < idle_cause_count; ++cause) by_cause[cause] += gap.by_cause[cause];
            idle_in_step[gap.step] += gap.idle_ns;
            ASSERT_GT(gap.cause_ns, 0);
            ASSERT_EQ(gap.queued_at_start, queued(all, gap.device, gap.start_ns, true)) << seed;
            // Neighbours, from the list of operations alone.
            std::int64_t ended = INT64_MIN;
            std::int64_t begins = INT64_MAX;
            for (const operation& op : all) {
                if (op.device != gap.device) continue;
                ASSERT_TRUE(op.end <= gap.start_ns || op.start >= gap.end_ns) << seed;
                if (op.start < gap.end_ns) ended = std::max(ended, op.end);
                if (op.start >= gap.end_ns) begins = std::min(begins, op.start);
            }
            ASSERT_EQ(gap.before == npos ? INT64_MIN : data.ops[gap.before].end_ns, ended) << seed;
            ASSERT_EQ(gap.next == npos ? INT64_MAX : data.ops[gap.next].start_ns, begins) << seed;
            if (gap.next != npos) {
                const timeline_api_call& launch = data.api_calls[data.ops[gap.next].launch];
                ASSERT_EQ(gap.launch_to_start_ns, begins - launch.start_ns) << seed;
                ASSERT_EQ(gap.queued_at_launch, queued(all, gap.device, launch.start_ns, false)) << seed;
            }
            ++compared;
        }
        EXPECT_EQ(sum_ns, found->idle_ns) << seed;
        for (const breakdown_row& row : whole->rows) {
            if (row.use == time_use::idle) by_cause[static_cast<std::size_t>(row.cause)] -= row.total_ns;
        }
        EXPECT_THAT(by_cause, testing::Each(0)) << seed;
        for (const whole_step& step : steps_that_count(data, att).steps) {
            const auto alone = break_down_steps(data, att, {.steps = {step}}, 0);
            ASSERT_EQ(idle_in_step[step.number], alone->total_of(time_use::idle)) << seed;
        }
        EXPECT_EQ(empty_ns, found->empty_queue_ns) << seed;
        // The longest ones alone, with the same totals.
        const auto longest = find_gpu_gaps(data, att, {}, {}, 3);
        ASSERT_TRUE(longest);
        EXPECT_EQ(longest->idle_ns, found->idle_ns);
        EXPECT_EQ(longest->count, found->count);
        ASSERT_EQ(longest->gaps.size(), std::min<std::size_t>(3, found->gaps.size()));
        for (std::size_t i = 0; i < longest->gaps.size(); ++i) {
            EXPECT_EQ(longest->gaps[i].start_ns, found->gaps[i].start_ns);
            EXPECT_EQ(longest->gaps[i].device, found->gaps[i].device);
        }
    }
    EXPECT_GT(compared, 1'000U);
}

}  // namespace
}  // namespace prof::gpu_gaps_test
