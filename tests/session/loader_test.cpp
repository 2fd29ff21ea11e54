// SPDX-License-Identifier: Apache-2.0
// While a thread loads a library and runs its initialiser, it holds the loader's lock. No call of the program to CUDA,
// and no window that ends or begins, waits for that (loader_victim.cpp).
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

struct Loader : testing::TestWithParam<const char*> {};

TEST_P(Loader, IsNotWaitedFor) {
    const profiled_program program(way_in::injected);
    const process_result result = program.run({GetParam(), PROF_TEST_WAITING_PLUGIN});
    EXPECT_EQ(result.signal(), 0) << "it waits for ever: " << result.out << result.err;
    EXPECT_EQ(result.exit_code(), 3) << result.out << result.err;
    EXPECT_EQ(result.err, "");
    const timeline data = program.only_capture();
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
