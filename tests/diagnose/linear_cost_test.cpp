// SPDX-License-Identifier: Apache-2.0
// What is linear in its input, where so much of it is needed to see that as a whole command under valgrind does not get
// (tests/cli/scale_test.py). Eight times as much takes eight times as long, and what is quadratic 64 times: the limit
// between them is wide enough for times on a busy machine. They are those of the thread's processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>

#include "analysis/breakdown/step_breakdown.hpp"
#include "base/clock.hpp"
#include "diagnose/gpu_time.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/simulated_program.hpp"
#include "report/reports.hpp"
#include "report/time_answer.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test {
namespace {

constexpr double most_growth = 24;

template <typename TAction>
double least_seconds(TAction&& action) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
        const auto began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        action();
        least = std::min(least, static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / 1e9);
    }
    return least;
}

TEST(LinearCost, OfDistinctNamesInTheAnswer) {
    const timeline data = capture_builder().build();
    const auto seconds = [&](std::uint64_t names) {
        step_breakdown of;
        for (std::uint64_t i = 0; i < names; ++i) {
            of.rows.push_back({.use = time_use::compute, .part = "range " + std::to_string(1'000'000 + i)});
            of.rows.back().total_ns = 1;
        }
        return least_seconds([&] {
            const time_answer answer = answer_of(of, {});
            ASSERT_EQ(answer.busy.size(), names);
        });
    };
    EXPECT_LT(seconds(32'000), most_growth * seconds(4'000));
}

// In each of two streams one kernel runs as long as all others.
TEST(LinearCost, OfKernelsOfOneStreamThatOverlap) {
    const auto seconds = [](std::uint64_t kernels) {
        capture_builder capture;
        thread_script& main = capture.thread("python");
        std::uint64_t correlation = 0;
        const std::uint64_t end_ns = 1'000'000 + kernels * 10'000;
        for (std::uint64_t i = 0; i < kernels; ++i) {
            const std::uint64_t at_ns = 1'000'000 + i * 10'000;
            for (const std::uint32_t stream : {7U, 20U}) {
                const std::uint64_t launched_ns = at_ns + 10 * stream;
                main.call(launched_ns, launched_ns + 5, ++correlation, launch_kernel, "kernel");
                capture.kernel(correlation, at_ns + 1'000, i == 0 ? end_ns : at_ns + 6'000 + 20 * stream,
                               {.stream = stream});
            }
        }
        const graph_of of(capture);
        const gpu_traits traits(of.data, of.graph->steps());
        EXPECT_TRUE(traits.has_side_streams);
        return least_seconds([&] { group_gpu_time(*of.graph, traits); });
    };
    EXPECT_LT(seconds(32'000), most_growth * seconds(4'000));
}

}  // namespace
}  // namespace prof::diagnose_test
