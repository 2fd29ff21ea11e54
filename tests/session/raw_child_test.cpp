// SPDX-License-Identifier: Apache-2.0
// A child that was made without fork(), so that no handler of pthread_atfork ran in it: it has no session, whatever
// state its parent's was in, and each function says so.
#include <gtest/gtest.h>
#include <prof/prof.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "support/scratch_directory.hpp"

namespace prof::test {
namespace {

// How many functions say something else.
int functions_with_a_session() {
    char text[64];
    prof_status status;
    prof_summary* const summary = prof_summary_open();
    const int results[] = {prof_start(nullptr),
                           prof_stop(),
                           prof_pause(),
                           prof_resume(),
                           prof_sync(),
                           prof_before_exit(),
                           prof_step(),
                           prof_dump(nullptr),
                           prof_keep_text("key", "text"),
                           prof_set_option("export", "none"),
                           prof_get_status(&status, sizeof status),
                           prof_set_callback(nullptr, nullptr, 0),
                           prof_set_log(nullptr, nullptr),
                           prof_range_push("range"),
                           prof_range_pop(),
                           prof_mark("mark", nullptr),
                           prof_counter("counter", 1),
                           prof_phase_push("phase", 0),
                           prof_phase_pop(),
                           prof_name_category(1, "category"),
                           prof_adopt_push(1),
                           prof_adopt_pop()};
    int wrong = 0;
    for (const int result : results) wrong += result == PROF_WRONG_STATE ? 0 : 1;
    wrong += prof_is_recording() == 0 ? 0 : 1;
    wrong += prof_capture_path(text, sizeof text) == 0 ? 0 : 1;
    wrong += prof_status_json(text, sizeof text) == 0 ? 0 : 1;
    wrong += prof_parent_here() == 0 ? 0 : 1;
    wrong += prof_range_start("range", nullptr) == 0 ? 0 : 1;
    wrong += summary == nullptr ? 0 : 1;
    return wrong;
}

TEST(RawChild, HasNoSession) {
    const scratch_directory scratch;
    setenv("PROF_OUTPUT_DIR", scratch.path.c_str(), 1);
    const char* const settings[] = {"export=none", nullptr};
    ASSERT_EQ(prof_start(settings), PROF_OK) << prof_last_error();
    ASSERT_EQ(prof_range_push("range"), PROF_OK);
    ASSERT_EQ(prof_range_pop(), PROF_OK);
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) _exit(functions_with_a_session());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "functions with another result";
    EXPECT_EQ(prof_is_recording(), 1);
    EXPECT_EQ(prof_stop(), PROF_OK) << prof_last_error();
}

}  // namespace
}  // namespace prof::test
