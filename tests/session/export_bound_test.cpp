// SPDX-License-Identifier: Apache-2.0
// How large a capture is read back in the program (session/parts/export_bound.hpp).
#include "session/parts/export_bound.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch_directory.hpp"

namespace prof::test {
namespace {

constexpr std::uint64_t mb = 1U << 20;
constexpr std::uint64_t much = 1ULL << 40;

TEST(ExportBound, LimitsSizeAndShareOfFreeMemory) {
    EXPECT_EQ(check_size_to_read(256 * mb, false, much).message(), "");
    EXPECT_EQ(check_size_to_read(257 * mb, false, much).message(), "it has 257 MB");
    EXPECT_EQ(check_size_to_read(25 * mb, true, much).message(), "");
    EXPECT_EQ(check_size_to_read(26 * mb, true, much).message(), "it has 26 MB");
    // Two and a half bytes for one, in a quarter of the rest.
    EXPECT_EQ(check_size_to_read(100 * mb, false, 1000 * mb).message(), "");
    EXPECT_EQ(check_size_to_read(101 * mb, false, 1000 * mb).message(),
              "it has 101 MB, and 1000 MB of memory are left");
    EXPECT_EQ(check_size_to_read(20 * mb, true, 1000 * mb).message(), "it has 20 MB, and 1000 MB of memory are left");
    EXPECT_EQ(check_size_to_read(0, false, 0).message(), "");
}

struct MemoryLeft : testing::Test {
    scratch_directory root;
    void write(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root.path + path).parent_path());
        std::ofstream(root.path + path) << text;
    }
};

TEST_F(MemoryLeft, IsTheMachinesWithoutAGroupLimit) {
    EXPECT_EQ(memory_left(root.path), ~std::uint64_t{0});
    write("/proc/meminfo", "MemTotal:       100 kB\nMemAvailable:    4096 kB\nSwapFree: 0 kB\n");
    EXPECT_EQ(memory_left(root.path), 4 * mb);
    write("/proc/self/cgroup", "0::/a/b\n1:name=systemd:/\nnonsense\n");
    write("/sys/fs/cgroup/a/b/memory.max", "max\n");
    write("/sys/fs/cgroup/a/b/memory.current", "100\n");
    EXPECT_EQ(memory_left(root.path), 4 * mb);
}

TEST_F(MemoryLeft, FollowsTheTightestGroup) {
    write("/proc/meminfo", "MemAvailable:    409600 kB\n");
    write("/proc/self/cgroup", "0::/a/b\n");
    write("/sys/fs/cgroup/a/b/memory.max", std::to_string(300 * mb));
    write("/sys/fs/cgroup/a/b/memory.current", std::to_string(200 * mb));
    EXPECT_EQ(memory_left(root.path), 100 * mb);
    // What the kernel gives back is no use.
    write("/sys/fs/cgroup/a/b/memory.stat", "anon 1\ninactive_file " + std::to_string(150 * mb) + "\n");
    EXPECT_EQ(memory_left(root.path), 250 * mb);
    write("/sys/fs/cgroup/a/memory.max", std::to_string(300 * mb));
    write("/sys/fs/cgroup/a/memory.current", std::to_string(290 * mb));
    EXPECT_EQ(memory_left(root.path), 10 * mb);
    write("/sys/fs/cgroup/a/memory.current", std::to_string(301 * mb));
    EXPECT_EQ(memory_left(root.path), 0U);
}

// The group's name is the host's, and the container sees its own group as the mount.
TEST_F(MemoryLeft, ReadsContainerGroupsOfBothVersions) {
    write("/proc/self/cgroup", "5:cpu,memory:/docker/0123\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(300 * mb));
    write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(200 * mb));
    write("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file " + std::to_string(20 * mb) + "\n");
    EXPECT_EQ(memory_left(root.path), 120 * mb);
    write("/proc/self/cgroup", "0::/\n");
    write("/sys/fs/cgroup/memory.max", std::to_string(30 * mb));
    write("/sys/fs/cgroup/memory.current", std::to_string(20 * mb));
    EXPECT_EQ(memory_left(root.path), 10 * mb);
}

}  // namespace
}  // namespace prof::test
