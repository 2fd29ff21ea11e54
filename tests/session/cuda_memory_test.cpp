// SPDX-License-Identifier: Apache-2.0
// The account of CUDA's own memory in a whole program: cuda_memory_victim.cpp says what it has when.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/cuda_memory_rows.hpp"
#include "memory/memory_summary.hpp"
#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct CudaMemory : bare_and_profiled, testing::WithParamInterface<const char*> {
    timeline play(const std::string& scene, environment e) {
        EXPECT_EQ(same_with_and_without(scene, exited(3), e), "");
        return only_capture();
    }
};

// The calls of the runtime are seen as such, or as those of the driver in them.
TEST_P(CudaMemory, HasEachPieceWithItsCallerAndPlace) {
    const timeline data = play("pieces", {{"PROF_ALLOCATIONS", "on"}, {"PROF_API_CALLS", GetParam()}});
    EXPECT_TRUE(data.quality.dropped.empty());
    ASSERT_TRUE(data.is_memory_of_cuda);
    const attribution att = attribute(data);
    const memory_summary found = measure_memory(data, att);
    ASSERT_EQ(found.devices.size(), 1U);
    const memory_device& device = found.devices.front();
    ASSERT_TRUE(device.has_steps);
    for (const memory_step& step : device.steps) {
        EXPECT_EQ(step.peak, 53 * mib) << "32 of weights, 4, 2, 1 and 6 of the library's, 8 of activations";
        EXPECT_EQ(step.peak_path, "forward");
        EXPECT_EQ(step.growth, 0);
    }
    EXPECT_EQ(device.end_allocated, 5 * mib) << "what the library has kept";
    ASSERT_EQ(device.failures.size(), 1U);
    EXPECT_EQ(device.failures.front().asked, std::uint64_t{1} << 40);
    EXPECT_EQ(device.failures.front().path, "too large");

    const std::vector<cuda_memory_row> rows = cuda_memory_rows(data, att, {}, found);
    const auto row_with = [&](std::string_view caller, cuda_memory_kind kind, std::string_view path) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const cuda_memory_row& each) {
            return each.caller.find(caller) != std::string::npos && each.kind == kind && each.path == path;
        });
        EXPECT_NE(row, rows.end()) << caller << ' ' << to_string(kind) << ' ' << path;
        return row == rows.end() ? cuda_memory_row{} : *row;
    };
    EXPECT_EQ(rows.size(), 7U);
    EXPECT_EQ(row_with("victim", cuda_memory_kind::device, "setup").at_peak, 32 * mib);
    const cuda_memory_row activations = row_with("victim", cuda_memory_kind::device, "forward");
    EXPECT_EQ(activations.at_peak, 8 * mib);
    EXPECT_EQ(activations.births, 6U);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::device, "setup").at_end, 4 * mib);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::pool, "setup").at_peak, 2 * mib);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::pool, "setup").at_end, 0U);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::pinned, "setup").at_peak, 16 * mib);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::managed, "setup").at_end, mib);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::physical, "setup").at_peak, 6 * mib);
    EXPECT_EQ(row_with("memory_user", cuda_memory_kind::physical, "setup").at_end, 0U);
}

TEST_P(CudaMemory, IsNotRecordedUnlessItIsAskedFor) {
    const timeline data = play("pieces", {{"PROF_API_CALLS", GetParam()}});
    EXPECT_TRUE(data.cuda_memory.empty());
    EXPECT_TRUE(data.memory.empty());
}

INSTANTIATE_TEST_SUITE_P(Calls, CudaMemory, testing::Values("driver", "runtime"));

}  // namespace
}  // namespace prof::test
