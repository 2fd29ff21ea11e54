// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "hooks/one_ring.hpp"
#include "support/scratch_directory.hpp"

namespace prof::buffers_test {
namespace {

constexpr std::size_t bytes = 4096;

// Without room for buffers: the pool has memory of its own.
region where{test::one_ring()};

TEST(ActivityBuffers, HaveAFixedNumber) {
    activity_buffers pool(where, bytes, 2);
    std::uint8_t* const a = pool.take();
    std::uint8_t* const b = pool.take();
    ASSERT_TRUE(a != nullptr && b != nullptr && a != b);
    EXPECT_EQ(pool.take(), nullptr);
    pool.complete(a, 8);
    EXPECT_EQ(pool.take(), nullptr) << "a completed one is not free before it was read";
    activity_buffers::completed done;
    ASSERT_TRUE(pool.next_completed(done));
    EXPECT_EQ(done.data, a);
    EXPECT_EQ(done.valid_bytes, 8U);
    pool.give_back(a);
    EXPECT_EQ(pool.take(), a);
}

// CUPTI is gone, and does not complete what it took before.
TEST(ActivityBuffers, ReclaimsBuffersAfterFinalize) {
    activity_buffers pool(where, bytes, 3);
    std::uint8_t* const empty = pool.take();
    std::uint8_t* const with_records = pool.take();
    const std::uint64_t last = pool.last_number();
    std::uint8_t* const later = pool.take();
    std::memset(with_records, 1, bytes);
    pool.take_back(last);
    const std::set<std::uint8_t*> again{pool.take(), pool.take()};
    EXPECT_EQ(again, (std::set<std::uint8_t*>{empty, with_records}));
    EXPECT_TRUE(std::all_of(with_records, with_records + bytes, [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_EQ(pool.take(), nullptr);
    EXPECT_TRUE(pool.complete(later, 8)) << "it still has that";
}

// The three that were completed: one is lost, the other two are still read.
TEST(ActivityBuffers, TakesACompletedUnreadBufferWhenForced) {
    activity_buffers pool(where, bytes, 3);
    std::uint8_t* taken[3];
    for (auto*& data : taken) data = pool.take();
    for (auto* data : taken) pool.complete(data, 8);
    ASSERT_EQ(pool.take(), nullptr);
    std::uint8_t* const forced = pool.reclaim_unread();
    EXPECT_EQ(std::set<std::uint8_t*>(taken, taken + 3).count(forced), 1U);
    std::set<std::uint8_t*> read;
    for (activity_buffers::completed done; pool.next_completed(done);) read.insert(done.data);
    EXPECT_EQ(read.size(), 2U);
    EXPECT_EQ(read.count(forced), 0U);
}

// While nothing is read, CUPTI may ask any number of times: there are as many buffers as it holds at once.
TEST(ActivityBuffers, GrowsWhenForcedOnlyToTheNumberHeldAtOnce) {
    activity_buffers pool(where, bytes, 2);
    std::set<std::uint8_t*> seen;
    std::vector<std::uint8_t*> held = {pool.take(), pool.take(), pool.reclaim_unread(), pool.reclaim_unread()};
    seen.insert(held.begin(), held.end());
    EXPECT_EQ(seen.size(), 4U) << "none was completed: these are beyond the pool";
    for (int i = 0; i < 1000; ++i) {
        pool.complete(held.back(), 8);
        held.pop_back();
        std::uint8_t* const next = pool.reclaim_unread();
        ASSERT_NE(next, nullptr);
        std::memset(next, 0x5A, bytes);
        seen.insert(next);
        held.insert(held.begin(), next);
    }
    EXPECT_EQ(seen.size(), 4U);
    for (std::uint8_t* data : held) pool.complete(data, 8);
    int read = 0;
    for (activity_buffers::completed done; pool.next_completed(done); ++read) pool.give_back(done.data);
    EXPECT_EQ(read, 4);
}

// Nobody else ever has a buffer that one has: each thread signs its own and finds its signature. The drain thread reads
// and gives back meanwhile, and what is completed is read or taken by force, once.
TEST(ActivityBuffers, GivesEachBufferToOneThreadAtATime) {
    activity_buffers pool(where, bytes, 3);
    constexpr int rounds = 20'000;
    std::atomic<int> running{3};
    std::atomic<int> strangers{0};
    std::vector<std::thread> threads;
    for (std::uint8_t me = 1; me <= 3; ++me) {
        threads.emplace_back([&, me] {
            for (int i = 0; i < rounds; ++i) {
                std::uint8_t* data = pool.take();
                if (data == nullptr) data = pool.reclaim_unread();
                std::memset(data, me, 64);
                for (int at = 0; at < 64; ++at) strangers += data[at] != me ? 1 : 0;
                pool.complete(data, 64);
            }
            --running;
        });
    }
    activity_buffers::completed done;
    while (running != 0) {
        if (!pool.next_completed(done)) continue;
        for (int at = 1; at < 64; ++at) strangers += done.data[at] != done.data[0] ? 1 : 0;
        pool.give_back(done.data);
    }
    for (std::thread& thread : threads) thread.join();
    while (pool.next_completed(done)) pool.give_back(done.data);
    EXPECT_EQ(strangers, 0);
    std::set<std::uint8_t*> left;
    while (std::uint8_t* data = pool.take()) EXPECT_TRUE(left.insert(data).second);
    EXPECT_EQ(left.size(), 3U) << "all of the pool is back";
}

// What recovery sees in the mapping at each stage of a buffer's life, and that CUPTI gets nothing but zeros.
TEST(ActivityBuffers, MarksBufferStatesInTheMapping) {
    region_options options = test::one_ring();
    options.buffer_bytes = bytes;
    options.buffer_count = 2;
    region shared{options};
    activity_buffers pool(shared, 64, 77);  // these sizes are those of a pool outside the mapping
    EXPECT_EQ(pool.buffer_bytes(), bytes);
    const auto header = [&](std::uint8_t* data) {
        return reinterpret_cast<const buffer_header*>(data - sizeof(buffer_header));
    };
    const auto state = [&](std::uint8_t* data) { return static_cast<buffer_state>(header(data)->state.load()); };
    const auto is_zero = [](const std::uint8_t* data) {
        return std::all_of(data, data + bytes, [](std::uint8_t byte) { return byte == 0; });
    };

    std::uint8_t* const a = pool.take();
    ASSERT_EQ(reinterpret_cast<std::byte*>(a), shared.buffers().memory + sizeof(buffer_header));
    EXPECT_EQ(state(a), buffer_state::taken);
    EXPECT_EQ(header(a)->number.load(), 1U);
    EXPECT_TRUE(is_zero(a));
    std::memset(a, 0x5A, 3000);
    pool.complete(a, 3000);
    EXPECT_EQ(state(a), buffer_state::completed);
    EXPECT_EQ(header(a)->valid_bytes, 3000U);

    activity_buffers::completed done;
    ASSERT_TRUE(pool.next_completed(done));
    EXPECT_EQ(done.number, 1U);
    EXPECT_EQ(state(a), buffer_state::completed) << "until what was read is in the file";
    pool.give_back(a);
    EXPECT_EQ(state(a), buffer_state::free);

    EXPECT_EQ(pool.take(), a);
    EXPECT_EQ(header(a)->number.load(), 2U);
    EXPECT_TRUE(is_zero(a));
    ASSERT_NE(pool.take(), nullptr);
    EXPECT_EQ(pool.take(), nullptr);
    std::memset(a, 0x5A, 100);
    pool.complete(a, 100);
    EXPECT_EQ(pool.reclaim_unread(), a);
    EXPECT_EQ(state(a), buffer_state::taken);
    EXPECT_EQ(header(a)->number.load(), 4U);
    EXPECT_TRUE(is_zero(a));
}

TEST(ActivityBuffers, UsesPrivateMemoryWhenTheMappingHasNoStorage) {
    const test::scratch_directory scratch;
    region_options options = test::one_ring();
    options.place = scratch.path;
    options.buffer_bytes = bytes;
    options.buffer_count = 4;
    region shared{options};
    if (shared.path().empty()) GTEST_SKIP() << shared.notice();
    activity_buffers pool(shared, bytes, 4);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(shared.buffers().memory);
    const auto* const end = begin + 4 * shared.buffers().stride;
    std::set<std::uint8_t*> all{pool.take()};
    pool.keep_ahead();
    shared.remove_file();  // there is none to allocate in any more
    pool.keep_ahead();
    for (int i = 0; i < 3; ++i) all.insert(pool.take());
    ASSERT_EQ(all.size(), 4U);
    ASSERT_EQ(all.count(nullptr), 0U);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), [&](auto* data) { return data >= begin && data < end; }), 2);
    EXPECT_EQ(pool.take(), nullptr);
    for (int round = 0; round < 2; ++round) {
        for (std::uint8_t* data : all) std::memset(data, 1, bytes);
        pool.note_filled();
        for (std::uint8_t* data : all) EXPECT_TRUE(pool.complete(data, bytes));
        EXPECT_FALSE(pool.outlasts());
        for (activity_buffers::completed done; pool.next_completed(done);) pool.give_back(done.data);
        std::set<std::uint8_t*> again;
        for (int i = 0; i < 4; ++i) again.insert(pool.take());
        EXPECT_EQ(again, all);
    }
}

// Each `ask` stands for CUPTI's being asked for all of its buffers: those in `back` are the ones that it gives.
TEST(ActivityBuffers, CountsBuffersThatStayOutWithRecords) {
    activity_buffers pool(where, bytes, 4);
    const auto ask = [&](const std::vector<std::uint8_t*>& back = {}) {
        pool.note_filled();
        for (std::uint8_t* data : back) pool.complete(data, 8);
        return pool.outlasts();
    };
    std::uint8_t* const forgotten = pool.take();
    *forgotten = 1;
    EXPECT_FALSE(ask()) << "once: a launch may be under way";
    pool.await_from_now();
    std::uint8_t* const empty = pool.take();
    std::uint8_t* const slow = pool.take();
    *slow = 1;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask(i == 1 ? std::vector{slow} : std::vector<std::uint8_t*>{})) << i;
    activity_buffers::completed done;
    ASSERT_TRUE(pool.next_completed(done));
    pool.give_back(slow);
    ASSERT_EQ(pool.take(), slow);
    *slow = 1;
    EXPECT_FALSE(ask()) << "another use of the buffer";
    EXPECT_TRUE(ask());
    EXPECT_EQ(*empty, 0U);
}

}  // namespace
}  // namespace prof::buffers_test
