// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/occupancy.hpp"

#include <gtest/gtest.h>

#include <array>

namespace prof::occupancy_test {
namespace {

device_record device(std::uint32_t major, std::uint32_t minor, std::uint32_t sms, std::uint32_t threads,
                     std::uint32_t blocks, std::uint32_t shared_bytes) {
    device_record d;
    d.compute_capability_major = major;
    d.compute_capability_minor = minor;
    d.multiprocessors = sms;
    d.max_threads_per_multiprocessor = threads;
    d.max_blocks_per_multiprocessor = blocks;
    d.registers_per_multiprocessor = 65536;
    d.shared_bytes_per_multiprocessor = shared_bytes;
    d.warp_size = 32;
    return d;
}

const device_record h200 = device(9, 0, 132, 2048, 32, 233472);

kernel_record kernel(std::uint32_t threads, std::uint16_t registers, std::uint32_t static_bytes,
                     std::uint32_t dynamic_bytes, std::uint32_t blocks = 1) {
    kernel_record k;
    k.grid[0] = blocks;
    k.grid[1] = k.grid[2] = 1;
    k.block[0] = threads;
    k.block[1] = k.block[2] = 1;
    k.registers_per_thread = registers;
    k.static_shared_bytes = static_bytes;
    k.dynamic_shared_bytes = dynamic_bytes;
    return k;
}

// What NVIDIA's cuda_occupancy.h of CUDA 13.0 says for these kernels, on each GPU in turn.
const std::array kernels = {kernel(256, 32, 0, 0),     kernel(128, 168, 16, 0), kernel(512, 64, 0, 33'000),
                            kernel(1024, 64, 4096, 0), kernel(32, 16, 0, 0),    kernel(384, 90, 1024, 100'000),
                            kernel(96, 255, 0, 1),     kernel(64, 0, 0, 0),     kernel(64, 16, 8192, 0)};

struct expectation {
    const char* gpu;
    device_record device;
    std::array<std::uint32_t, kernels.size()> blocks;
};

TEST(Occupancy, AgreesWithNvidiasCalculator) {
    const std::array expected = {
        expectation{"H200", h200, {8, 3, 2, 1, 32, 1, 2, 32, 25}},
        expectation{"A100", device(8, 0, 108, 2048, 32, 167936), {8, 3, 2, 1, 32, 1, 2, 32, 18}},
        expectation{"RTX 4090", device(8, 9, 128, 1536, 24, 102400), {6, 3, 2, 1, 24, 1, 2, 24, 11}},
        expectation{"T4", device(7, 5, 40, 1024, 16, 65536), {4, 3, 1, 1, 16, 0, 2, 16, 8}},
        expectation{"P100", device(6, 0, 56, 2048, 32, 65536), {8, 3, 1, 1, 32, 0, 2, 32, 8}},
        expectation{"B200", device(10, 0, 148, 2048, 32, 233472), {8, 3, 2, 1, 32, 1, 2, 32, 25}},
    };
    for (const expectation& e : expected) {
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            EXPECT_EQ(max_blocks_per_sm(e.device, kernels[i]), e.blocks[i]) << e.gpu << ", kernel " << i;
        }
    }
}

TEST(Occupancy, IsLimitedByGridAndMultiprocessor) {
    // 264 blocks of 256 threads on 132 SMs: 2 blocks, 16 warps, 512 of 2048 threads.
    const auto small = estimate_occupancy(h200, kernel(256, 32, 0, 0, 264));
    ASSERT_TRUE(small);
    EXPECT_FLOAT_EQ(small->blocks_per_sm, 2);
    EXPECT_FLOAT_EQ(small->warps_per_sm, 16);
    EXPECT_EQ(small->achieved_percent, 25);
    // 13200 blocks of 128 threads: 100 blocks an SM, of which 3 fit: 384 of 2048 threads.
    const auto large = estimate_occupancy(h200, kernel(128, 168, 16, 0, 13'200));
    ASSERT_TRUE(large);
    EXPECT_FLOAT_EQ(large->blocks_per_sm, 100);
    EXPECT_FLOAT_EQ(large->warps_per_sm, 400);
    EXPECT_EQ(large->achieved_percent, 19);
}

TEST(Occupancy, IsUnknownForAnUnknownDevice) {
    EXPECT_FALSE(estimate_occupancy(device_record{}, kernel(256, 32, 0, 0)));
}

}  // namespace
}  // namespace prof::occupancy_test
