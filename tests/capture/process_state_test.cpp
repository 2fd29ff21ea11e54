// SPDX-License-Identifier: Apache-2.0
// Whether a capture's process still runs, also where the clock was set after the capture was made.
#include "capture/recovery/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace prof::process_state_test {
namespace {

const auto own_pid = static_cast<std::uint32_t>(getpid());

TEST(ProcessState, IsKnownByTheStartWhateverTheClocksSay) {
    const std::string start = start_of_process(own_pid);
    ASSERT_NE(start, "");
    const std::uint64_t now = clock_ns(CLOCK_REALTIME);
    constexpr std::uint64_t hour_ns = 3'600'000'000'000;
    for (const std::uint64_t created : {std::uint64_t{1}, now - 100 * hour_ns, now, now + hour_ns}) {
        EXPECT_EQ(state_of_process(own_pid, start, created, ""), process_state::running);
        EXPECT_EQ(state_of_process(own_pid, start + "1", created, ""), process_state::gone);
        EXPECT_EQ(state_of_process(own_pid, "another boot" + start.substr(start.find(' ')), created, ""),
                  process_state::gone);
        EXPECT_EQ(state_of_process(own_pid, start, created, "another host"), process_state::unknown);
    }
}

TEST(ProcessState, OfAnOlderCaptureFollowsTheClock) {
    EXPECT_EQ(state_of_process(own_pid, "", clock_ns(CLOCK_REALTIME), ""), process_state::running);
    EXPECT_EQ(state_of_process(own_pid, "", 1, ""), process_state::gone);
}

TEST(ProcessState, OfAZombieOrNoProcessIsGone) {
    const pid_t child = fork();
    if (child == 0) pause();
    const auto pid = static_cast<std::uint32_t>(child);
    const std::string start = start_of_process(pid);
    EXPECT_EQ(state_of_process(pid, start, 1, ""), process_state::running);
    kill(child, SIGKILL);
    siginfo_t ended;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(state_of_process(pid, start, 1, ""), process_state::gone);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(state_of_process(pid, start, 1, ""), process_state::gone);
    EXPECT_EQ(start_of_process(pid), "");
}

}  // namespace
}  // namespace prof::process_state_test
