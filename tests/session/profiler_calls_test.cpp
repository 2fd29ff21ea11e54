// SPDX-License-Identifier: Apache-2.0
// cudaProfilerStart and cudaProfilerStop in quick succession, in a whole program on the simulated GPU
// (schedule_victim.cpp).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/run_process.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

process_result record(const scratch_directory& scratch, std::vector<std::string> words) {
    words.insert(words.begin(), PROF_TEST_VICTIM);
    return run_process(words,
                       {{"PROF_OUTPUT_DIR", scratch.path},
                        {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                        {"PROF_CAPTURE_RANGE", "cudaProfilerApi"},
                        {"PROF_CAPTURE_RANGE_END", "repeat"},
                        {"PROF_RINGS", scratch.path},
                        {"PROF_EXPORT", "none"},
                        {"FAKE_GPU_CLOCK", "virtual"},
                        {"CUDA_INJECTION64_PATH", PROF_TEST_LIBRARY},
                        {"NVTX_INJECTION64_PATH", PROF_TEST_LIBRARY}},
                       scratch.path);
}

// A start comes while the window before is being settled: the call waits for that, or is missed. A thread that went on
// with memory freed by CUPTI would do harm, and the fake reports that.
TEST(ProfilerCalls, AreSafeRightAfterTheEndOfAWindow) {
    const scratch_directory scratch;
    std::vector<std::string> words{"iterations", "60"};
    for (int i = 0; i < 60; ++i) words.insert(words.end(), {"profiler", std::to_string(i), std::to_string(i)});
    const auto result = record(scratch, words);
    EXPECT_EQ(result.exit_code(), 0) << result.out << result.err;
    EXPECT_EQ(result.err.find("freed"), std::string::npos) << result.err;
    const std::vector<std::string> files = scratch.files(".prof");
    ASSERT_EQ(files.size(), 1U);
    const timeline data = load_timeline(files[0]);
    ASSERT_FALSE(data.ops.empty());
    EXPECT_EQ(data.kernel_symbol(data.ops[0]), "iteration_0");
    EXPECT_TRUE(data.quality.ended);
}

// As when the start comes while CUPTI is being detached: a window is missing, and libprof must report it.
TEST(ProfilerCalls, ReportAMissedStart) {
    constexpr const char* warning = "cudaProfilerStop without a cudaProfilerStart";
    const scratch_directory whole;
    EXPECT_EQ(record(whole, {"profiler", "0", "1", "profiler", "3", "4", "patient"}).err, "");
    const scratch_directory scratch;
    const auto result = record(scratch, {"profiler", "0", "1", "profiler", "99", "4", "patient"});
    EXPECT_EQ(result.exit_code(), 0) << result.out;
    EXPECT_NE(result.err.find(warning), std::string::npos) << result.err;
    const scratch_directory never;
    EXPECT_EQ(record(never, {"profiler", "99", "4"}).err, "");
}

}  // namespace
}  // namespace prof::test
