// SPDX-License-Identifier: Apache-2.0
// other_threads_are_quiescent() for threads that sleep, run, starve, are suspended and end.
#include "hooks/cupti/quiescence.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "hooks/cupti/threads_inside.hpp"
#include "hooks/suspension.hpp"

namespace prof::quiescence_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds any_time = std::chrono::minutes(5);  // whatever the machine has to do
constexpr milliseconds short_time{5};

// Threads that sleep until the end of the test. All have begun to run their function: a sanitizer looks at a new
// thread's memory through a pipe, for which a test may leave it no descriptor.
class sleepers {
public:
    explicit sleepers(int count) : begun_(count + 1) {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this] {
                begun_.count_down();
                released_.wait(false);
            });
        }
        begun_.arrive_and_wait();
    }
    ~sleepers() {
        released_ = true;
        released_.notify_all();
        for (std::thread& each : threads_) each.join();
    }
    sleepers(const sleepers&) = delete;
    sleepers& operator=(const sleepers&) = delete;

private:
    std::latch begun_;
    std::atomic<bool> released_{false};
    std::vector<std::thread> threads_;
};

// A thread that counts until the end of the test. `policy`, on processor `cpu` if that is not negative.
class counting_thread {
public:
    explicit counting_thread(int policy = SCHED_OTHER, int cpu = -1) {
        thread_ = std::thread([=, this] {
            const sched_param none{};
            EXPECT_EQ(sched_setscheduler(0, policy, &none), 0);
            if (cpu >= 0) stay_on(cpu);
            while (goes_on_.load(std::memory_order_relaxed)) count_.fetch_add(1, std::memory_order_relaxed);
        });
        while (count() == 0) std::this_thread::yield();
    }
    ~counting_thread() {
        goes_on_ = false;
        thread_.join();
    }
    counting_thread(const counting_thread&) = delete;
    counting_thread& operator=(const counting_thread&) = delete;

    std::uint64_t count() const { return count_; }
    std::int64_t ran_ns() {
        clockid_t clock{};
        timespec ran{};
        EXPECT_EQ(pthread_getcpuclockid(thread_.native_handle(), &clock), 0);
        EXPECT_EQ(clock_gettime(clock, &ran), 0);
        return std::int64_t{ran.tv_sec} * 1'000'000'000 + ran.tv_nsec;
    }

private:
    static void stay_on(int cpu) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }

    std::atomic<bool> goes_on_{true};
    std::atomic<std::uint64_t> count_{0};
    std::thread thread_;
};

TEST(Quiescence, IsTrueWithoutOtherThreadsAndForSleepingThreads) {
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
    const sleepers some(3);
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
}

TEST(Quiescence, IsTrueForARunningThreadAfterItRanLongEnough) {
    counting_thread running;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t before_ns = running.ran_ns();
        ASSERT_TRUE(other_threads_are_quiescent(any_time));
        EXPECT_GE(running.ran_ns() - before_ns, 5'000'000);
    }
}

// Among all the others, too.
TEST(Quiescence, IsFalseForAThreadThatNeitherRunsNorSleeps) {
    const sleepers many(200);
    test::suspension place;
    std::atomic<bool> has_left{false};
    std::thread suspended([&] {
        place.begin();
        has_left = true;
    });
    place.wait_until_begun();
    EXPECT_FALSE(other_threads_are_quiescent(short_time));
    EXPECT_FALSE(other_threads_are_quiescent(milliseconds(0)));
    EXPECT_FALSE(has_left);
    std::thread other([&] { place.end(); });
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
    EXPECT_TRUE(has_left) << "that is what it waits for";
    other.join();
    suspended.join();
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
}

// On the processor of a thread that never stops. The kernel decides when it runs, so the answer may be either, but must
// be right.
TEST(Quiescence, IsFalseForAStarvedThreadUntilItRuns) {
    const int cpu = sched_getcpu();
    counting_thread starved(SCHED_IDLE, cpu);
    const counting_thread busy(SCHED_OTHER, cpu);
    int refusals = 0;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t before = starved.count();
        const std::int64_t before_ns = starved.ran_ns();
        const bool answer = other_threads_are_quiescent(milliseconds(i % 2));
        refusals += answer ? 0 : 1;
        if (!answer) continue;
        EXPECT_GT(starved.count(), before);
        EXPECT_GE(starved.ran_ns() - before_ns, 5'000'000);
    }
    RecordProperty("refusals", refusals);
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
}

TEST(Quiescence, IsTrueForThreadsThatEndMeanwhile) {
    std::atomic<bool> goes_on{true};
    std::thread parent([&] {
        while (goes_on) std::thread([] {}).join();
    });
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(other_threads_are_quiescent(any_time));
    goes_on = false;
    parent.join();
}

TEST(ThreadsInside, AreCountedWhileTheyAreThere) {
    threads_inside place;
    EXPECT_TRUE(place.is_empty());
    std::atomic<int> inside{0};
    std::atomic<bool> may_leave{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 100; ++i) {  // more than there are counters
        threads.emplace_back([&] {
            const threads_inside::scope here(place);
            const threads_inside::scope once_more(place);
            ++inside;
            inside.notify_all();
            may_leave.wait(false);
        });
    }
    for (int there = inside; there != 100; there = inside) inside.wait(there);
    EXPECT_FALSE(place.is_empty());
    EXPECT_EQ(place.entered(), 200U);
    may_leave = true;
    may_leave.notify_all();
    for (std::thread& each : threads) each.join();
    EXPECT_TRUE(place.is_empty());
    EXPECT_EQ(place.entered(), 200U) << "whoever looks sees that somebody was there";
}

// Two threads take turns, so that one is there at every moment.
TEST(ThreadsInside, AreNotMissedWhenTheyTakeTurns) {
    threads_inside place;
    std::atomic<int> last_inside{-1};
    std::atomic<bool> goes_on{true};
    const auto take_turns = [&](int self) {
        while (true) {
            const threads_inside::scope here(place);
            last_inside = self;
            while (goes_on && last_inside == self) std::this_thread::yield();
            if (!goes_on) return;
        }
    };
    std::thread one(take_turns, 0);
    std::thread other(take_turns, 1);
    while (place.entered() < 2) std::this_thread::yield();
    for (int i = 0; i < 2'000; ++i) EXPECT_FALSE(place.is_empty());
    goes_on = false;
    one.join();
    other.join();
    EXPECT_TRUE(place.is_empty());
}

// Without a descriptor the threads are not found.
TEST(Quiescence, IsFalseWhenThreadsCannotBeRead) {
    const sleepers one(1);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const bool answer = other_threads_are_quiescent(short_time);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(answer);
    EXPECT_TRUE(other_threads_are_quiescent(any_time));
}

}  // namespace
}  // namespace prof::quiescence_test
