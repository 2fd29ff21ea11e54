// SPDX-License-Identifier: Apache-2.0
// Buffers as CUPTI may leave them when its process dies: written by hand, at NVIDIA's offsets.
#include "capture/recovery/gpu_recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace prof::gpu_recovery_test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t now_ns = 1'760'000'000'000'000'000;

struct raw_buffer {
    std::vector<std::byte> bytes = std::vector<std::byte>(8192);
    std::size_t used = 0;

    template <typename TValue>
    void put(std::size_t offset, TValue value) {
        std::memcpy(bytes.data() + used + offset, &value, sizeof value);
    }
    void kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::size_t size = 208) {
        put(0, std::uint32_t{10});
        put(16, start);
        put(24, end);
        put(32, end);              // completed: as if a shorter record began 8 bytes later
        put(8, std::uint32_t{1});  // and this were its kind
        put(92, correlation);
        used += size;
    }
    void kernel_in_body(std::uint32_t graph, std::uint64_t start, std::uint64_t end) {
        put(144, std::uint64_t{graph} << 32 | 2);
        put(156, graph);
        kernel(0, start, end);
    }
    void copy(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::size_t size = 88) {
        put(0, std::uint32_t{1});
        put(16, start);
        put(24, end);
        put(44, correlation);
        used += size;
    }
    gpu_records read(std::uint32_t version = 18) const {
        return read_gpu_buffer(
            bytes,
            {.version = version, .epoch = 2, .since_ns = 0, .earliest_ns = now_ns - 1000, .latest_ns = now_ns + 1000});
    }
};

std::vector<std::uint64_t> kernels_of(const gpu_records& read) {
    std::vector<std::uint64_t> out;
    for (const kernel_record& kernel : read.kernels) out.push_back(kernel.correlation);
    return out;
}

constexpr std::uint64_t key(std::uint32_t correlation) { return (std::uint64_t{2} << 32) | correlation; }

TEST(GpuBuffers, GiveRecordsThatHaveEnded) {
    raw_buffer buffer;
    buffer.kernel(1, now_ns, now_ns + 10);
    buffer.kernel(2, 0, 0);            // reserved
    buffer.kernel(3, now_ns + 20, 0);  // begun
    buffer.copy(4, now_ns + 5, now_ns + 6);
    buffer.kernel(5, now_ns + 30, now_ns + 40);
    const gpu_records read = buffer.read();
    EXPECT_THAT(kernels_of(read), ElementsAre(key(1), key(5)));
    ASSERT_EQ(read.transfers.size(), 1U);
    EXPECT_EQ(read.transfers[0].correlation, key(4));
    EXPECT_EQ(read.kernels[1].start_ns, now_ns + 30);
    EXPECT_EQ(read.kernels[0].name, 0U);
}

TEST(GpuBuffers, LeaveOutImpossibleRecords) {
    raw_buffer buffer;
    buffer.kernel(1, now_ns + 10, now_ns);             // ends before it begins
    buffer.kernel(0, now_ns, now_ns + 10);             // no launch
    buffer.kernel(3, 5, now_ns);                       // of another time
    buffer.kernel(4, now_ns, now_ns + 1'000'000'000);  // not yet
    EXPECT_TRUE(kernels_of(buffer.read()).empty());
    EXPECT_TRUE(buffer.read().transfers.empty());
}

// A hole of unknown size, records of a CUPTI that makes them larger than we know, and one that the end cuts off.
// What ran in the body of a conditional node has no correlation id.
TEST(GpuBuffers, GiveRecordsOfGraphBodies) {
    raw_buffer buffer;
    buffer.kernel_in_body(7, now_ns, now_ns + 10);
    buffer.kernel(1, now_ns + 20, now_ns + 30);
    const gpu_records read = buffer.read();
    EXPECT_THAT(kernels_of(read), ElementsAre(key(0), key(1)));
    EXPECT_EQ(read.kernels[0].graph_id, 7U);
}

TEST(GpuBuffers, FindTheNextRecordAfterAHole) {
    raw_buffer buffer;
    buffer.kernel(1, now_ns, now_ns + 10);
    buffer.used += 440;
    buffer.kernel(2, now_ns, now_ns + 10, 320);
    buffer.kernel(3, now_ns, now_ns + 10);
    const gpu_records read = buffer.read();
    EXPECT_THAT(kernels_of(read), ElementsAre(key(1), key(2), key(3)));
    EXPECT_TRUE(read.transfers.empty());
    buffer.bytes.resize(buffer.used - 8);
    EXPECT_THAT(kernels_of(buffer.read()), ElementsAre(key(1), key(2)));
}

TEST(GpuBuffers, AreReadByTheirCuptiVersion) {
    raw_buffer buffer;
    buffer.kernel(1, now_ns, now_ns + 10, 224);
    buffer.copy(2, now_ns, now_ns + 1, 96);
    buffer.kernel(3, now_ns, now_ns + 10, 224);
    EXPECT_THAT(kernels_of(buffer.read(130100)), ElementsAre(key(1), key(3)));
    EXPECT_EQ(buffer.read(130100).transfers.size(), 1U);
}

}  // namespace
}  // namespace prof::gpu_recovery_test
