// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/kernel_shape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace prof::kernel_shape_test {
namespace {

kernel_record launch_of(std::uint32_t blocks, std::uint32_t threads) {
    kernel_record kernel;
    kernel.grid[0] = blocks;
    kernel.grid[1] = kernel.grid[2] = 1;
    kernel.block[0] = threads;
    kernel.block[1] = kernel.block[2] = 1;
    kernel.registers_per_thread = 32;
    kernel.static_shared_bytes = 16;
    kernel.dynamic_shared_bytes = 1024;
    return kernel;
}

// Four multiprocessors of 1024 threads: 8 blocks of 128 threads are 2 blocks and 8 warps each, a quarter of the
// threads.
device_record small_gpu() {
    device_record gpu;
    gpu.compute_capability_major = 9;
    gpu.multiprocessors = 4;
    gpu.warp_size = 32;
    gpu.max_threads_per_multiprocessor = 1024;
    gpu.registers_per_multiprocessor = 65536;
    gpu.shared_bytes_per_multiprocessor = 102400;
    return gpu;
}

TEST(KernelShape, IsWrittenAsArguments) {
    const device_record gpu = small_gpu();
    kernel_shape_args shapes;
    EXPECT_EQ(shapes.of(launch_of(8, 128), &gpu),
              R"("registers per thread":32,"shared memory":1040,"blocks per SM":2,"warps per SM":8,)"
              R"("est. achieved occupancy %":25,"grid":[8,1,1],"block":[128,1,1])");
    kernel_record cluster = launch_of(8, 128);
    cluster.cluster[0] = 2;
    cluster.cluster[1] = cluster.cluster[2] = 1;
    EXPECT_TRUE(shapes.of(cluster, &gpu).ends_with(R"("block":[128,1,1],"cluster":[2,1,1])"));
}

TEST(KernelShape, HasNoOccupancyWithoutADevice) {
    kernel_shape_args shapes;
    EXPECT_EQ(shapes.of(launch_of(8, 128), nullptr),
              R"("registers per thread":32,"shared memory":1040,"grid":[8,1,1],"block":[128,1,1])");
}

// More shapes than are remembered, each of them twice: one that took another's place is not taken for it.
TEST(KernelShape, IsRecomputedForEachKernel) {
    kernel_shape_args shapes;
    for (int round = 0; round < 2; ++round) {
        for (std::uint32_t blocks = 1; blocks <= 10'000; ++blocks) {
            const std::string grid = "\"grid\":[" + std::to_string(blocks) + ",1,1]";
            ASSERT_NE(shapes.of(launch_of(blocks, 128), nullptr).find(grid), std::string::npos) << blocks;
        }
    }
    kernel_record one = launch_of(1, 64);
    const std::string before{shapes.of(one, nullptr)};
    one.dynamic_shared_bytes += 1;
    EXPECT_NE(shapes.of(one, nullptr), before);
    one.dynamic_shared_bytes -= 1;
    EXPECT_EQ(shapes.of(one, nullptr), before);
}

}  // namespace
}  // namespace prof::kernel_shape_test
