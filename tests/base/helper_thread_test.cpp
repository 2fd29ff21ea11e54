// SPDX-License-Identifier: Apache-2.0
#include "base/helper_thread.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "base/own_memory.hpp"

namespace prof::helper_thread_test {
namespace {

std::vector<int> cores_of_this_thread() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    return cores;
}

bool keep_on(const std::vector<int>& cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

constexpr int sent[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGABRT, SIGALRM, SIGPROF, SIGCHLD};
constexpr int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

struct what_a_thread_has {
    std::vector<int> cores;
    bool blocks_signals = false;
    bool blocks_its_faults = false;
};

what_a_thread_has what_a_helper_thread_has() {
    what_a_thread_has found;
    pthread_t thread{};
    const auto inspect = [](void* out) -> void* {
        auto& what = *static_cast<what_a_thread_has*>(out);
        what.cores = cores_of_this_thread();
        sigset_t blocked;
        sigemptyset(&blocked);
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        const auto is_blocked = [&](int number) { return sigismember(&blocked, number) == 1; };
        what.blocks_signals = std::all_of(std::begin(sent), std::end(sent), is_blocked);
        what.blocks_its_faults = std::any_of(std::begin(of_faults), std::end(of_faults), is_blocked);
        return nullptr;
    };
    EXPECT_EQ(create_helper_thread(thread, inspect, &found), 0);
    pthread_join(thread, nullptr);
    return found;
}

class HelperThread : public testing::Test {
protected:
    void SetUp() override {
        if (all_.size() < 2) GTEST_SKIP() << "needs two cores";
    }
    void TearDown() override { keep_on(all_); }

    const std::vector<int> all_ = cores_of_this_thread();
};

TEST_F(HelperThread, BlocksSignalsAndRunsOnItsCreatorsCores) {
    const what_a_thread_has found = what_a_helper_thread_has();
    EXPECT_TRUE(found.blocks_signals);
    EXPECT_FALSE(found.blocks_its_faults);
    EXPECT_EQ(found.cores, all_);
}

// The program's handler runs on the thread that died, of its own fault or by abort().
[[noreturn]] void end_where(bool (*dies)()) {
    for (const int number : {SIGSEGV, SIGABRT}) {
        std::signal(number, [](int) { _exit(7); });
    }
    pthread_t thread{};
    const auto die = [](void* how) -> void* { return reinterpret_cast<bool (*)()>(how)() ? how : nullptr; };
    (void)create_helper_thread(thread, die, reinterpret_cast<void*>(dies));
    pthread_join(thread, nullptr);
    _exit(0);
}

TEST(HelperThreadDeathTest, FaultsReachTheProgramsHandlers) {
    const auto fault = []() -> bool { return *reinterpret_cast<volatile int*>(8) != 0; };
    EXPECT_EXIT(end_where(fault), testing::ExitedWithCode(7), "");
    EXPECT_EXIT(end_where([]() -> bool { std::abort(); }), testing::ExitedWithCode(7), "");
}

TEST_F(HelperThread, LeavesACoreToTheThreadThatIsPinnedToIt) {
    for (const int core : all_) {
        ASSERT_TRUE(keep_on({core}));
        std::vector<int> others;
        for (const int other : all_) {
            if (other != core) others.push_back(other);
        }
        const what_a_thread_has found = what_a_helper_thread_has();
        EXPECT_EQ(found.cores, others);
        EXPECT_TRUE(found.blocks_signals);
    }
}

TEST_F(HelperThread, StaysOnTheCoresThatItsCreatorIsPinnedTo) {
    if (all_.size() < 3) GTEST_SKIP() << "needs three cores";
    const std::vector<int> some{all_[0], all_[1]};
    ASSERT_TRUE(keep_on(some));
    EXPECT_EQ(what_a_helper_thread_has().cores, some);
}

struct stack_of_thread {
    std::size_t bytes = 0;
    bool takes_own_memory = false;
};

stack_of_thread what_stack_has(stack_room room) {
    stack_of_thread found;
    pthread_t thread{};
    const auto inspect = [](void* out) -> void* {
        auto& what = *static_cast<stack_of_thread*>(out);
        pthread_attr_t attributes;
        EXPECT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        EXPECT_EQ(pthread_attr_getstacksize(&attributes, &what.bytes), 0);
        pthread_attr_destroy(&attributes);
        what.takes_own_memory = takes_own_memory;
        return nullptr;
    };
    EXPECT_EQ(create_helper_thread(thread, inspect, &found, room), 0);
    pthread_join(thread, nullptr);
    return found;
}

TEST(HelperThreads, HaveSmallStacksAndTheirOwnMemory) {
    const stack_of_thread small = what_stack_has(stack_room::small);
    EXPECT_GE(small.bytes, small_stack_bytes);
    EXPECT_LE(small.bytes, 4 * small_stack_bytes);
    EXPECT_TRUE(small.takes_own_memory);
    EXPECT_FALSE(takes_own_memory);
    EXPECT_GT(what_stack_has(stack_room::usual).bytes, 4 * small_stack_bytes);
}

}  // namespace
}  // namespace prof::helper_thread_test
