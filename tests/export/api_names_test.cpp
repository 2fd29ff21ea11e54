// SPDX-License-Identifier: Apache-2.0
#include "record/api_names.hpp"

#include <gtest/gtest.h>

namespace prof::api_names_test {
namespace {

TEST(ApiNames, AreTheNamesInSourceCode) {
    EXPECT_EQ(api_name(api_domain::runtime, 211), "cudaLaunchKernel");
    EXPECT_EQ(api_name(api_domain::runtime, 214), "cudaLaunchKernel");  // …_ptsz_v7000
    EXPECT_EQ(api_name(api_domain::runtime, 505), "cudaLaunchKernel");  // __cudaLaunchKernel_v13000
    EXPECT_EQ(api_name(api_domain::runtime, 430), "cudaLaunchKernelExC");
    EXPECT_EQ(api_name(api_domain::runtime, 41), "cudaMemcpyAsync");
    EXPECT_EQ(api_name(api_domain::runtime, 311), "cudaGraphLaunch");
    EXPECT_EQ(api_name(api_domain::driver, 307), "cuLaunchKernel");
    EXPECT_EQ(api_name(api_domain::driver, 652), "cuLaunchKernelEx");
}

TEST(ApiNames, AreEmptyForUnknownIds) {
    EXPECT_EQ(api_name(api_domain::runtime, 0), "");
    EXPECT_EQ(api_name(api_domain::runtime, 1'000'000), "");
    EXPECT_EQ(api_name(api_domain::none, 211), "");
}

}  // namespace
}  // namespace prof::api_names_test
