// SPDX-License-Identifier: Apache-2.0
#include "base/thread_object.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

namespace prof::test {
namespace {

struct counted {
    static inline std::atomic<int> made{0};
    static inline std::atomic<int> alive{0};
    int uses = 0;

    counted() {
        ++made;
        ++alive;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }
};

struct ThreadObject : testing::Test {
    void SetUp() override {
        counted::made = 0;
        counted::alive = 0;
    }
};

TEST_F(ThreadObject, IsTheThreadsOwnUntilItsEnd) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([] {
            for (int use = 0; use < 100; ++use) EXPECT_EQ(thread_object<counted>::here()->uses++, use);
        });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(counted::made, 8);
    EXPECT_EQ(counted::alive, 0);
}

// A destructor of the program's thread-specific data, which may run before or after the object's own.
void use_in_destructor(void*) { ++thread_object<counted>::here()->uses; }

TEST_F(ThreadObject, MayBeUsedByDestructorsOfTheThread) {
    pthread_key_t early = 0;
    ASSERT_EQ(pthread_key_create(&early, use_in_destructor), 0);
    std::thread([] { (void)thread_object<counted>::here(); }).join();  // its key exists now
    pthread_key_t late = 0;
    ASSERT_EQ(pthread_key_create(&late, use_in_destructor), 0);
    for (const pthread_key_t key : {early, late}) {
        std::thread([key] {
            (void)thread_object<counted>::here();
            pthread_setspecific(key, &counted::made);
        }).join();
        EXPECT_EQ(counted::alive, 0);
        pthread_key_delete(key);
    }
    EXPECT_GE(counted::made, 4);  // a new one for the destructor that ran later
}

}  // namespace
}  // namespace prof::test
