// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/small_kernels.hpp"

#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::small_kernels_test {
namespace {

struct SmallKernels : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");
    std::uint64_t correlation = 0;
    std::uint64_t now_ns = 1'000'000;

    // Launched as the GPU falls idle: each kernel takes `length_ns`, and the next begins `every_ns` after it began.
    void kernels(int count, std::uint64_t every_ns, std::uint64_t length_ns, const std::string& name = "small") {
        for (int i = 0; i < count; ++i, now_ns += every_ns) {
            main.launch(now_ns, ++correlation, name);
            capture.kernel(correlation, now_ns + 2'000, now_ns + 2'000 + length_ns, {}, name);
        }
    }
    std::optional<small_kernel_list> found() {
        main.step(now_ns + 1'000'000, 2, own);
        const timeline data = capture.build();
        return find_small_kernels(data, attribute(data));
    }
};

TEST_F(SmallKernels, NeedGpuWork) { EXPECT_FALSE(found()); }

// Two layers of 5 kernels of 3 us, one each 20 us: a run of 10, whose place is the range around both. 9 gaps of 17 us.
TEST_F(SmallKernels, InARowAreARun) {
    main.step(now_ns, 1, own).push(now_ns, "forward");
    main.push(now_ns, "attention");
    kernels(5, 20'000, 3'000);
    main.pop(now_ns).push(now_ns, "mlp");
    kernels(5, 20'000, 3'000);
    main.pop(now_ns).pop(now_ns);
    const auto of = found();
    ASSERT_TRUE(of);
    EXPECT_EQ(of->kernels, 10U);
    EXPECT_EQ(of->in_runs, 10U);
    ASSERT_EQ(of->places.size(), 1U);
    const small_kernel_place& place = of->places.front();
    EXPECT_EQ(place.place, "forward");
    EXPECT_EQ(place.runs, 1U);
    EXPECT_EQ(place.longest, 10U);
    EXPECT_EQ(place.kernel_ns, 30'000);
    EXPECT_EQ(place.span_ns, 183'000);
    EXPECT_EQ(place.idle_ns, 153'000);
    EXPECT_EQ(place.starved_ns, 153'000);
    EXPECT_EQ(place.intervals, 9U);
    EXPECT_EQ(place.intervals_ns, 180'000);
    EXPECT_EQ(place.bound(), run_bound::launches);
}

// What ends a run: another outermost range, a longer kernel, NCCL's, a gap above 100 us. Two kernels are no run.
TEST_F(SmallKernels, RunsEnd) {
    main.step(now_ns, 1, own).push(now_ns, "forward");
    kernels(4, 20'000, 3'000);
    kernels(1, 20'000, small_kernel_ns, "large");
    kernels(3, 20'000, 3'000);
    kernels(1, 20'000, 3'000, "ncclDevKernel_AllReduce");
    kernels(2, 20'000, 3'000);
    now_ns += 100'000;
    kernels(5, 20'000, small_kernel_ns - 1);
    main.pop(now_ns).push(now_ns, "backward");
    kernels(6, 20'000, 3'000);
    main.pop(now_ns);
    const auto of = found();
    ASSERT_TRUE(of);
    EXPECT_EQ(of->kernels, 21U);
    EXPECT_EQ(of->in_runs, 18U);
    ASSERT_EQ(of->places.size(), 2U);
    EXPECT_EQ(of->places[0].place, "forward");
    EXPECT_EQ(of->places[0].runs, 3U);
    EXPECT_EQ(of->places[0].kernels, 12U);
    EXPECT_EQ(of->places[0].longest, 5U);
    EXPECT_EQ(of->places[1].place, "backward");
    EXPECT_EQ(of->places[1].runs, 1U);
    EXPECT_EQ(of->places[1].longest, 6U);
}

// Launched long before: the GPU is the slower one, and its pauses are its own.
TEST_F(SmallKernels, ThatWereQueuedAreNotLaunchBound) {
    main.step(now_ns, 1, own);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        main.launch(now_ns + i * 10, i);
        capture.kernel(i, now_ns + i * 5'000, now_ns + i * 5'000 + 4'000);
    }
    now_ns += 100'000;
    const auto of = found();
    ASSERT_TRUE(of);
    ASSERT_EQ(of->places.size(), 1U);
    EXPECT_EQ(of->places[0].idle_ns, 7'000);
    EXPECT_EQ(of->places[0].starved_ns, 0);
    EXPECT_EQ(of->places[0].bound(), run_bound::gpu);
}

TEST_F(SmallKernels, OfAGraphsReplayAreNotLaunchBound) {
    main.step(now_ns, 1, own).enter(now_ns + 10, 1).exit(now_ns + 80'000, 1);
    for (std::uint64_t i = 1; i <= 8; ++i) {
        capture.kernel(1, now_ns + i * 5'000, now_ns + i * 5'000 + 3'000, {.graph_node = i, .graph = 1});
    }
    now_ns += 100'000;
    const auto of = found();
    ASSERT_TRUE(of);
    ASSERT_EQ(of->places.size(), 1U);
    EXPECT_TRUE(of->places[0].is_replayed);
    EXPECT_EQ(of->places[0].idle_ns, 14'000);
    EXPECT_EQ(of->places[0].starved_ns, 0);
    EXPECT_EQ(of->places[0].intervals, 0U);
    EXPECT_EQ(of->places[0].bound(), run_bound::graph);
}

}  // namespace
}  // namespace prof::small_kernels_test
