// SPDX-License-Identifier: Apache-2.0
#include "session/process/background.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <new>

namespace prof::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes long_enough{1};

// Threads of theirs sleep for ever, as those of the session do.
background_thread& made() { return *new background_thread("test"); }

TEST(BackgroundThread, ContinuesAfterATaskThatRanOutOfMemory) {
    background_thread& thread = made();
    thread.post([] { throw std::bad_alloc(); });
    bool is_done = false;
    thread.post([&] { is_done = true; });
    ASSERT_TRUE(thread.wait_until_idle(long_enough));
    EXPECT_TRUE(is_done);
}

struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_open = false;

    void open() {
        const std::lock_guard lock(mutex);
        is_open = true;
        changed.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return is_open; });
    }
};

// All threads that wait for one call to a silent disk wait once between them. The next such call costs another wait.
TEST(BackgroundThread, IsWaitedForOnceWhenStuck) {
    constexpr milliseconds standstill{1000};
    background_thread& thread = made();
    const auto length_of_wait = [&] {
        const auto begin = steady_clock::now();
        EXPECT_FALSE(thread.wait_while_it_works(standstill));
        return steady_clock::now() - begin;
    };
    for (int i = 0; i < 2; ++i) {
        gate disk;
        thread.post([&] { disk.pass(); });
        EXPECT_GE(length_of_wait(), standstill);
        EXPECT_LT(length_of_wait(), standstill);
        EXPECT_LT(length_of_wait(), standstill);
        disk.open();
        EXPECT_TRUE(thread.wait_while_it_works(long_enough));
    }
}

}  // namespace
}  // namespace prof::test
