// SPDX-License-Identifier: Apache-2.0
// The runtime's names of the driver's calls, against what the real runtime did on an H200
// (tests/gpu/conformance/h200.log) and against the functions of the driver that its library knows.
#include "analysis/projection/runtime_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "record/api_names.hpp"
#include "record/launch_calls.hpp"

namespace prof::runtime_names_test {
namespace {

using testing::IsEmpty;

std::string_view counterpart_of(std::uint32_t cbid) { return runtime_counterpart(api_name(api_domain::driver, cbid)); }

TEST(RuntimeNames, AreTheEnclosingCallsOfTheRecordedLog) {
    std::ifstream log(PROF_SOURCE_DIR "/tests/gpu/conformance/h200.log");
    std::set<std::string> seen;
    std::string outer;
    std::string outer_call;
    for (std::string line; std::getline(log, line);) {
        std::istringstream words(line);
        std::string callback;
        std::string domain;
        std::uint32_t cbid = 0;
        std::string name;
        std::string edge;
        std::string call;
        words >> callback >> domain >> cbid >> name >> edge >> call;
        if (callback != "callback" || edge != "enter") continue;
        if (domain == "runtime") {
            outer = name;
            outer_call = call;
        } else if (call == outer_call) {
            EXPECT_EQ(counterpart_of(cbid), outer) << name;
            seen.insert(name);
        }
    }
    EXPECT_EQ(seen.size(), 10U) << "launches of kernels and graphs, copies in three directions, sets; the copies "
                                   "and the sets with and without Async";
}

TEST(RuntimeNames, AreEmptyForFunctionsThatTheRuntimeNeverCalls) {
    for (const char* own : {"cuLaunch", "cuLaunchGrid", "cuMemsetD32Async", "cuMemsetD16", "cuMemcpyAtoA",
                            "cuMemAllocHost", "cuMemCreate", "cuNoSuchCall", ""}) {
        EXPECT_EQ(runtime_counterpart(own), "") << own;
    }
    // cudaHostAlloc and cudaMallocHost make the same call.
    EXPECT_EQ(runtime_counterpart("cuMemHostAlloc"), "");
}

// Whatever is recorded: a call that the runtime's library does not refer to is the program's own.
TEST(RuntimeNames, AreReferencedByTheRuntimesLibrary) {
    std::ifstream file("/usr/local/cuda/lib64/libcudart.so", std::ios::binary);
    if (!file) GTEST_SKIP() << "no CUDA toolkit";
    const std::string library{std::istreambuf_iterator<char>(file), {}};
    const auto has = [&](std::string_view name) {
        const std::string whole = std::string(1, '\0') + std::string(name);
        return library.find(whole + '\0') != std::string::npos || library.find(whole + "_v2") != std::string::npos;
    };
    std::set<std::string_view> without_one;
    for (const launch_call& call : launch_calls) {
        if (call.domain != api_domain::driver || is_sync(call.kind)) continue;
        const std::string_view driver = api_name(call.domain, call.cbid);
        const std::string_view runtime = runtime_counterpart(driver);
        if (!runtime.empty()) {
            EXPECT_TRUE(has(driver)) << driver;
            EXPECT_TRUE(has(runtime)) << runtime;
        } else if (has(driver) && call.kind != launch_kind::instantiation &&
                   call.kind != launch_kind::blocking_allocation) {
            without_one.insert(driver);
        }
    }
    EXPECT_THAT(without_one, IsEmpty());
}

}  // namespace
}  // namespace prof::runtime_names_test
