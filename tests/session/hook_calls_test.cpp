// SPDX-License-Identifier: Apache-2.0
// On the path of a hook libprof takes no lock, allocates nothing, and asks neither the loader, nor a file, nor the
// kernel: it calls no function of another library but a few that only touch memory or read a clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

struct HookCalls : testing::TestWithParam<const char*> {};

TEST_P(HookCalls, AreNoneThatMayWait) {
    const profiled_program program(way_in::injected, {{"PROF_ALLOCATIONS", "on"}, {"PROF_API_CALLS", GetParam()}});
    const process_result result = program.run({});
    EXPECT_EQ(result.exit_code(), 0) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    std::istringstream in(result.out);
    std::vector<std::string> of_hooks;
    bool is_watched = false;
    bool is_done = false;
    for (std::string line; std::getline(in, line);) {
        if (line == "names: syscall") continue;  // a thread that is named is compared with the calling one: gettid
        const bool is_of_command = line.starts_with("prof_sync: ");
        is_watched = is_watched || is_of_command;
        is_done = is_done || line == "done";
        if (!is_of_command && line != "done") of_hooks.push_back(line);
    }
    EXPECT_TRUE(is_done) << result.out;
    EXPECT_TRUE(is_watched) << "a command takes a lock, which the test is to see: " << result.out;
    EXPECT_EQ(of_hooks, std::vector<std::string>{});
    // All of it was recorded.
    const timeline data = program.only_capture();
    EXPECT_EQ(data.windows.size(), 2U);
    EXPECT_GT(data.ops.size(), 3U * 2 * 12'000);
    EXPECT_GT(data.ranges.size(), 3U * 2 * 10);
    EXPECT_EQ(data.memory.size(), 3U * 2 * (8 * 2 + 2 + 1));
}

INSTANTIATE_TEST_SUITE_P(Of, HookCalls, testing::Values("driver", "runtime"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace prof::test
