// SPDX-License-Identifier: Apache-2.0
// While a thread loads a library and runs its initialiser, it holds the loader's lock. No call of the program to CUDA,
// and no window that ends or begins, waits for that (loader_victim.cpp).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/run_process.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

struct Loader : testing::TestWithParam<const char*> {};

TEST_P(Loader, IsNotWaitedFor) {
    const scratch_directory scratch;
    const process_result result = run_process({PROF_TEST_VICTIM, GetParam(), PROF_TEST_WAITING_PLUGIN},
                                              {{"PROF_OUTPUT_DIR", scratch.path},
                                               {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                               {"PROF_RINGS", scratch.path},
                                               {"PROF_EXPORT", "none"},
                                               {"FAKE_GPU_CLOCK", "virtual"},
                                               {"CUDA_INJECTION64_PATH", PROF_TEST_LIBRARY},
                                               {"NVTX_INJECTION64_PATH", PROF_TEST_LIBRARY}},
                                              scratch.path);
    EXPECT_EQ(result.signal(), 0) << "it waits for ever: " << result.out << result.err;
    EXPECT_EQ(result.exit_code(), 3) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    ASSERT_EQ(scratch.files(".prof").size(), 1U);
    const timeline data = load_timeline(scratch.files(".prof").front());
    std::map<std::string, int> kernels;
    for (const gpu_op& op : data.ops) ++kernels[std::string(data.kernel_symbol(op))];
    EXPECT_EQ(kernels,
              (std::map<std::string, int>{{"first_window", 100}, {"second_window", 100}, {"third_window", 100}}));
    EXPECT_EQ(data.windows.size(), 3U);
}

INSTANTIATE_TEST_SUITE_P(In, Loader, testing::Values("other_thread", "initialiser"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace prof::test
