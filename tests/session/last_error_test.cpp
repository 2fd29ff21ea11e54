// SPDX-License-Identifier: Apache-2.0
// The text of prof_last_error lives as long as any code of its thread may ask for it, or set it: in exit handlers, and
// in the destructors of thread_local objects and of the program's thread-specific data.
#include <gtest/gtest.h>
#include <prof/prof.h>
#include <pthread.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace prof::test {
namespace {

constexpr int end_of_program = 3;
constexpr int end_with_wrong_text = 4;

// Each failure has a longer text than the one before, so that it needs memory of its own.
std::string path_of(std::size_t length) { return "/no/such/" + std::string(4 * length, 'x'); }

bool fails_with(const std::string& path) {
    return prof_capture_open(path.c_str()) == nullptr &&
           std::string_view{prof_last_error()}.find(path) != std::string_view::npos;
}

void fail_at_exit() {
    if (!fails_with(path_of(400)) || prof_stop() != PROF_WRONG_STATE ||
        std::string_view{prof_last_error()} != "no recording is running") {
        std::_Exit(end_with_wrong_text);
    }
}

TEST(LastErrorDeathTest, IsThereForExitHandlers) {
    EXPECT_EXIT(
        {
            std::atexit(fail_at_exit);
            if (!fails_with(path_of(100))) std::_Exit(end_with_wrong_text);
            std::exit(end_of_program);
        },
        testing::ExitedWithCode(end_of_program), "");
}

TEST(LastErrorDeathTest, IsThereForExitHandlersOfAnotherThread) {
    EXPECT_EXIT(
        {
            std::atexit(fail_at_exit);
            std::thread([] {
                if (!fails_with(path_of(100))) std::_Exit(end_with_wrong_text);
                std::exit(end_of_program);
            }).join();
        },
        testing::ExitedWithCode(end_of_program), "");
}

struct failing_object {
    bool* is_right;
    std::size_t length;
    ~failing_object() { *is_right = fails_with(path_of(length)); }
};

TEST(LastError, IsThereForDestructorsOfThreadLocalObjects) {
    bool is_right = false;
    std::thread([&] {
        static thread_local failing_object object{&is_right, 300};  // made before the text is, so destroyed after it
        object.length = 400;
        EXPECT_TRUE(fails_with(path_of(100)));
    }).join();
    EXPECT_TRUE(is_right);
}

// Of a key of the program's: counts its rounds of destructors, of which glibc makes four.
struct keyed_thread {
    pthread_key_t key{};
    int rounds = 0;
    int right = 0;
    const char* before = nullptr;  // the text that the thread had when it returned
    std::string copy;

    static void at_end(void* self) {
        auto& thread = *static_cast<keyed_thread*>(self);
        const bool is_kept = thread.rounds != 0 || (prof_last_error() == thread.before && thread.before == thread.copy);
        thread.right += is_kept && fails_with(path_of(300 + 100U * static_cast<unsigned>(++thread.rounds))) ? 1 : 0;
        pthread_setspecific(thread.key, self);
    }
};

// The program's key is made before libprof's, and after it: destructors run in the order of the keys.
TEST(LastError, IsThereForDestructorsOfThreadSpecificData) {
    for (int i = 0; i < 2; ++i) {
        keyed_thread thread;
        ASSERT_EQ(pthread_key_create(&thread.key, keyed_thread::at_end), 0);
        std::thread([&] {
            EXPECT_TRUE(fails_with(path_of(100)));
            thread.before = prof_last_error();
            thread.copy = thread.before;
            pthread_setspecific(thread.key, &thread);
        }).join();
        EXPECT_EQ(thread.rounds, 4);
        EXPECT_EQ(thread.right, 4);
        pthread_key_delete(thread.key);
    }
}

TEST(LastError, IsOfItsThread) {
    EXPECT_TRUE(fails_with(path_of(100)));
    std::thread([] { EXPECT_STREQ(prof_last_error(), ""); }).join();
    EXPECT_TRUE(std::string_view{prof_last_error()}.find(path_of(100)) != std::string_view::npos);
}

}  // namespace
}  // namespace prof::test
