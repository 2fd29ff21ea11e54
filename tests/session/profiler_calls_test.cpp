// SPDX-License-Identifier: Apache-2.0
// cudaProfilerStart and cudaProfilerStop in quick succession, in a whole program on the simulated GPU
// (schedule_victim.cpp).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

struct profiler_calls : profiled_program {
    profiler_calls()
        : profiled_program(way_in::injected,
                           {{"PROF_CAPTURE_RANGE", "cudaProfilerApi"}, {"PROF_CAPTURE_RANGE_END", "repeat"}}) {}
};

// A start comes while the window before is being settled: the call waits for that, or is missed. A thread that went on
// with memory freed by CUPTI would do harm, and the fake reports that.
TEST(ProfilerCalls, AreSafeRightAfterTheEndOfAWindow) {
    const profiler_calls program;
    std::vector<std::string> words{"iterations", "60"};
    for (int i = 0; i < 60; ++i) words.insert(words.end(), {"profiler", std::to_string(i), std::to_string(i)});
    const auto result = program.run(words);
    EXPECT_EQ(result.exit_code(), 0) << result.out << result.err;
    EXPECT_EQ(result.err.find("freed"), std::string::npos) << result.err;
    const timeline data = program.only_capture();
    ASSERT_FALSE(data.ops.empty());
    EXPECT_EQ(data.kernel_symbol(data.ops[0]), "iteration_0");
    EXPECT_TRUE(data.quality.ended);
}

// As when the start comes while CUPTI is being detached: a window is missing, and libprof must report it.
TEST(ProfilerCalls, ReportAMissedStart) {
    constexpr const char* warning = "cudaProfilerStop without a cudaProfilerStart";
    EXPECT_EQ(profiler_calls().run({"profiler", "0", "1", "profiler", "3", "4", "patient"}).err, "");
    const auto result = profiler_calls().run({"profiler", "0", "1", "profiler", "99", "4", "patient"});
    EXPECT_EQ(result.exit_code(), 0) << result.out;
    EXPECT_NE(result.err.find(warning), std::string::npos) << result.err;
    EXPECT_EQ(profiler_calls().run({"profiler", "99", "4"}).err, "");
}

}  // namespace
}  // namespace prof::test
