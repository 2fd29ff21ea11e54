// SPDX-License-Identifier: Apache-2.0
// Start/end ranges of one name that overlap as they like, against sums made one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/capture_builder.hpp"

namespace prof::overlapping_requests_test {
namespace {

constexpr std::uint64_t calls = 300;
constexpr std::uint64_t kernel_ns = 7;

// Call c begins at 100 c; its kernel, number c + 1, begins 20 ns later.
std::uint64_t call_at(std::uint64_t call) { return 100 * call; }

TEST(ProcessRanges, CountTheWorkOfOverlappingInstances) {
    std::mt19937 random(11);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> requests;
    for (int i = 0; i < 80; ++i) {
        const std::uint64_t first = std::uniform_int_distribution<std::uint64_t>{0, calls - 1}(random);
        const std::uint64_t length = std::uniform_int_distribution<std::uint64_t>{0, i % 2 == 0 ? 5U : calls}(random);
        requests.emplace_back(first, std::min(first + length, calls));
    }
    std::sort(requests.begin(), requests.end());

    capture_builder capture;
    thread_script& asking = capture.thread("asking");
    for (std::size_t i = 0; i < requests.size(); ++i) {
        // Half a call early, so that the first call is inside and the last one is not.
        asking.start(call_at(requests[i].first) + 50, "request", i + 1);
    }
    thread_script& ending = capture.thread("ending");
    std::vector<std::pair<std::uint64_t, std::size_t>> ends;
    for (std::size_t i = 0; i < requests.size(); ++i) ends.emplace_back(requests[i].second, i + 1);
    std::sort(ends.begin(), ends.end());
    for (const auto& [call, id] : ends) ending.end(call_at(call) + 50, id);
    thread_script& launching = capture.thread("launching");
    for (std::uint64_t call = 1; call <= calls; ++call) {
        launching.launch(call_at(call), call);
        capture.kernel(call, call_at(call) + 20, call_at(call) + 20 + kernel_ns + call);
    }

    std::int64_t span_ns = 0;
    std::set<std::uint64_t> launched;
    std::vector<std::int64_t> sums_ns;
    for (const auto& [first, last] : requests) {
        std::int64_t sum_ns = 0;
        for (std::uint64_t call = first + 1; call <= last; ++call) {
            sum_ns += static_cast<std::int64_t>(kernel_ns + call);
            launched.insert(call);
        }
        sums_ns.push_back(sum_ns);
        if (first < last) span_ns += static_cast<std::int64_t>(call_at(last) + kernel_ns + last - call_at(first + 1));
    }
    std::int64_t gpu_ns = 0;
    for (const std::uint64_t call : launched) gpu_ns += static_cast<std::int64_t>(kernel_ns + call);

    const std::vector<projection_row> rows = project(capture.build()).process_ranges;
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].instances, requests.size());
    EXPECT_EQ(rows[0].ops, launched.size());
    EXPECT_EQ(rows[0].gpu_sum_ns, gpu_ns);
    EXPECT_EQ(rows[0].gpu_span_ns, span_ns);
    EXPECT_EQ(rows[0].instance_min_ns, *std::min_element(sums_ns.begin(), sums_ns.end()));
    EXPECT_EQ(rows[0].instance_max_ns, *std::max_element(sums_ns.begin(), sums_ns.end()));
}

}  // namespace
}  // namespace prof::overlapping_requests_test
