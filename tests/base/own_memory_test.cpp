// SPDX-License-Identifier: Apache-2.0
#include "base/own_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace prof::test {
namespace {

struct block {
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
    unsigned char mark = 0;

    static block of(std::size_t size, unsigned char mark) {
        auto* const bytes = static_cast<unsigned char*>(allocate_own_memory(size));
        EXPECT_NE(bytes, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % alignof(std::max_align_t), 0U);
        std::memset(bytes, mark, size);
        return {bytes, size, mark};
    }
    bool is_whole() const {
        return std::all_of(bytes, bytes + size, [this](unsigned char each) { return each == mark; });
    }
};

std::size_t drawn_size(std::minstd_rand& random) {
    const std::size_t power = std::size_t{1} << random() % 15;
    return random() % (power + 1);
}

// Allocates and frees at random, with `kept` blocks at a time.
void churn(std::uint32_t seed, std::size_t rounds, std::size_t kept, std::vector<block>& blocks) {
    std::minstd_rand random(seed);
    for (std::size_t i = 0; i < rounds; ++i) {
        if (blocks.size() < kept) {
            blocks.push_back(block::of(drawn_size(random), static_cast<unsigned char>(random())));
            continue;
        }
        std::swap(blocks[random() % blocks.size()], blocks.back());
        EXPECT_TRUE(blocks.back().is_whole());
        free_own_memory(blocks.back().bytes);
        blocks.pop_back();
    }
}

void free_all(std::vector<block>& blocks) {
    for (const block& each : blocks) {
        EXPECT_TRUE(each.is_whole());
        free_own_memory(each.bytes);
    }
    blocks.clear();
}

long mapped_pages() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    long pages = 0;
    EXPECT_EQ(std::fscanf(file, "%ld", &pages), 1);
    std::fclose(file);
    return pages;
}

TEST(OwnMemory, KeepsWhatIsWritten) {
    std::vector<block> blocks;
    churn(1, 3'000, 300, blocks);
    blocks.push_back(block::of(3'000'000, 7));
    blocks.push_back(block::of(0, 7));
    for (const block& each : blocks) EXPECT_TRUE(is_own_memory(each.bytes));
    EXPECT_FALSE(is_own_memory(blocks.data()));
    EXPECT_FALSE(is_own_memory(&blocks));
    free_all(blocks);
}

TEST(OwnMemory, IsGivenBack) {
    std::vector<block> blocks;
    churn(2, 3'000, 300, blocks);
    free_all(blocks);
    const long before = mapped_pages();
    for (std::uint32_t seed = 3; seed < 6; ++seed) {
        churn(seed, 5'000, 1'000, blocks);
        free_all(blocks);
    }
    EXPECT_LT(mapped_pages() - before, 256) << "1 MB, in chunks that are kept";
}

TEST(OwnMemory, MayBeFreedByOtherThreads) {
    constexpr std::size_t thread_count = 4;
    std::vector<std::vector<block>> of_threads(thread_count);
    for (std::size_t round = 0; round < 3; ++round) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < thread_count; ++i) {
            threads.emplace_back([&, i, round] {
                churn(static_cast<std::uint32_t>(10 * round + i), 1'000, 100, of_threads[(i + round) % thread_count]);
            });
        }
        for (std::thread& each : threads) each.join();
    }
    for (std::vector<block>& each : of_threads) free_all(each);
}

TEST(OwnMemory, RefusesWhatIsTooLarge) { EXPECT_EQ(allocate_own_memory(SIZE_MAX - 100), nullptr); }

// Other threads are in the middle of an allocation when a child is forked. It goes on with memory of its own, and may
// free its parent's.
TEST(OwnMemory, GoesOnInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer follows no child of several threads";
#endif
    std::vector<block> parents;
    churn(20, 500, 100, parents);
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            std::vector<block> blocks;
            while (!ends) churn(30 + i, 100, 50, blocks);
            free_all(blocks);
        });
    }
    for (std::uint32_t i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            leave_own_memory_to_parent();
            std::vector<block> blocks;
            churn(40 + i, 100, 50, blocks);
            free_all(blocks);
            free_all(parents);
            churn(50 + i, 100, 50, blocks);
            free_all(blocks);
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    ends = true;
    for (std::thread& each : threads) each.join();
    free_all(parents);
}

}  // namespace
}  // namespace prof::test
