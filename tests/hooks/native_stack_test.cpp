// SPDX-License-Identifier: Apache-2.0
// The walk of a thread's own stack against the C library's backtrace(), in random nests of functions of all sorts.
#include "native_stack_library.hpp"

#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"

namespace {

std::mt19937 random_numbers(1);  // NOLINT(cert-msc51-cpp)
int checked = 0;
volatile int sink = 0;  // written after a call, so that this is no jump

unsigned drawn(unsigned below) { return static_cast<unsigned>(random_numbers() % below); }

[[gnu::noinline]] void compare() {
    const std::vector<std::uintptr_t> walked = walked_addresses();
    std::array<void*, 128> addresses{};
    const int known = backtrace(addresses.data(), static_cast<int>(addresses.size()));
    ASSERT_GE(walked.size() + 1, std::min<std::size_t>(static_cast<std::size_t>(known), 119));
    // The first one is in this function. A sanitizer's backtrace() has a frame of its own before it.
    const auto end = addresses.cbegin() + known;
    const auto caller = std::find_if(addresses.cbegin(), end, [&](const void* each) {
        return walked.size() > 1 && reinterpret_cast<std::uintptr_t>(each) - walked[1] <= 1;
    });
    ASSERT_NE(caller, end);
    for (std::size_t i = 1; i < walked.size() && caller + i - 1 < end; ++i) {
        const auto expected = reinterpret_cast<std::uintptr_t>(caller[i - 1]);
        // An interrupted function has not called.
        ASSERT_TRUE(walked[i] == expected || walked[i] + 1 == expected) << "frame " << i << " of " << known;
    }
    ++checked;
}

void nest(int depth);

[[gnu::noinline]] void aligned(int depth) {
    alignas(64) std::array<volatile char, 300> bytes{};
    bytes[drawn(300)] = 1;
    nest(depth);
    sink = bytes[0];
}
[[gnu::noinline]] void of_variable_size(int depth) {
    const std::size_t size = 16 + drawn(3000);
    auto* const bytes = static_cast<volatile char*>(__builtin_alloca(size));
    bytes[0] = 1;
    nest(depth);
    sink = bytes[0];
}
[[gnu::noinline]] void through_function(int depth) {
    const std::function<void(int)> call = [](int more) {
        nest(more);
        sink = more;
    };
    call(depth);
    sink = depth;
}
struct nest_on_leaving {
    int depth;
    ~nest_on_leaving() {
        nest(depth);
        sink = depth;
    }
};
[[gnu::noinline]] void thrower(int depth) {
    const nest_on_leaving here{depth};
    throw depth;
}
[[gnu::noinline]] void unwound(int depth) {
    try {
        thrower(depth);
    } catch (int caught) {
        compare();
        sink = caught;
    }
}
thread_local int sorted_depth = 0;
[[gnu::noinline]] void through_library(int depth) {
    std::array<int, 2> numbers = {2, 1};
    sorted_depth = depth;
    std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
        nest(sorted_depth);
        return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    sink = numbers[0];
}
void on_signal(int) {
    compare();
    sink = 0;
}
[[gnu::noinline]] void interrupted() {
    (void)std::signal(SIGUSR1, on_signal);
    (void)std::raise(SIGUSR1);
    sink = 0;
}
[[gnu::noinline]] void plain(int depth) {
    nest(depth);
    sink = depth;
}

[[gnu::noinline]] void nest(int depth) {
    constexpr std::array functions = {aligned, of_variable_size, through_function, unwound, through_library, plain};
    if (depth <= 0) {
        compare();
    } else if (const unsigned which = drawn(functions.size() + 1); which < functions.size()) {
        functions[which](depth - 1);
    } else {
        interrupted();
    }
    sink = depth;
}

void nest_often(int times) {
    for (int i = 0; i < times && !testing::Test::HasFatalFailure(); ++i) nest(static_cast<int>(drawn(25)));
}

TEST(NativeStack, IsThatOfTheCLibrary) {
    if (prof::test::is_thread_sanitized) GTEST_SKIP() << "the test allocates in signal handlers";
    if (!prepare_walks()) GTEST_SKIP() << "no stacks are walked here";
    nest_often(1000);
    EXPECT_GT(checked, 1000);
}

TEST(NativeStack, OnAnotherThread) {
    if (prof::test::is_thread_sanitized) GTEST_SKIP() << "the test allocates in signal handlers";
    if (!prepare_walks()) GTEST_SKIP() << "no stacks are walked here";
    std::thread([] { nest_often(300); }).join();
}

// On a stack of the program's own, as coroutines have one, no frame is read beyond it.
TEST(NativeStack, OfAnotherStackNothingIsKnown) {
    if (prof::test::is_thread_sanitized) GTEST_SKIP() << "the test allocates in signal handlers";
    if (!prepare_walks()) GTEST_SKIP() << "no stacks are walked here";
    static std::size_t found = 0;
    constexpr std::size_t size = 1U << 18;
    const auto memory = std::make_unique<char[]>(size);  // NOLINT(modernize-avoid-c-arrays)
    stack_t own{};
    own.ss_sp = memory.get();
    own.ss_size = size;
    stack_t before{};
    ASSERT_EQ(sigaltstack(&own, &before), 0);
    struct sigaction action {};
    action.sa_handler = [](int) { found = walked_addresses().size(); };
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
    found = 1000;
    (void)std::raise(SIGUSR2);
    sigaltstack(&before, nullptr);
    EXPECT_LT(found, 1000U);  // as many as there are on that stack, or none
    nest_often(10);
}

}  // namespace
