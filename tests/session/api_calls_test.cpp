// SPDX-License-Identifier: Apache-2.0
// api_calls in a program on the simulated GPU: the driver's calls find the same work in the same ranges as the
// runtime's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/projection/call_names.hpp"
#include "analysis/projection/projection.hpp"
#include "record/api_names.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Path, instances, operations, adopted ones, and their time by themselves and with what is below.
using row_figures = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

std::vector<row_figures> figures_of_rows(const timeline& data) {
    std::vector<row_figures> figures;
    for (const projection_row& row : project(data).rows) {
        figures.emplace_back(row.path, row.instances, row.ops, row.adopted_ops, row.gpu_self_ns, row.gpu_sum_ns);
    }
    std::sort(figures.begin(), figures.end());
    return figures;
}

std::set<std::string> names_of_calls(const timeline& data) {
    std::set<std::string> names;
    for (const timeline_api_call& call : data.api_calls) names.emplace(api_name(call.domain, call.cbid));
    return names;
}

timeline recorded(const std::vector<std::string>& words, const profiled_program::environment& more = {}) {
    const profiled_program program;
    const process_result result = program.run(words, more);
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    return program.only_capture();
}

struct ApiCallsComparison : testing::TestWithParam<std::vector<std::string>> {};

TEST_P(ApiCallsComparison, FindsTheSameRangesByDriverAndRuntime) {
    const timeline usual = recorded(GetParam(), {{"PROF_API_CALLS", "runtime"}});
    const timeline cheap = recorded(GetParam(), {{"PROF_API_CALLS", "driver"}});
    EXPECT_EQ(usual.properties.at("api_calls"), "runtime");
    EXPECT_EQ(cheap.properties.at("api_calls"), "driver");
    EXPECT_EQ(figures_of_rows(cheap), figures_of_rows(usual));
    EXPECT_EQ(cheap.api_calls.size(), usual.api_calls.size()) << "one record a call in both ways";
    EXPECT_EQ(cheap.quality.launches_without_completion, 0U);
    EXPECT_THAT(cheap.quality.dropped, IsEmpty());
    EXPECT_TRUE(std::all_of(cheap.ops.begin(), cheap.ops.end(), [](const gpu_op& op) { return op.launch != npos; }));

    EXPECT_THAT(names_of_calls(usual), Contains("cudaLaunchKernel"));
    EXPECT_THAT(names_of_calls(usual), Each(StartsWith("cuda")));
    EXPECT_THAT(names_of_calls(cheap), Contains("cuLaunchKernel"));
    EXPECT_THAT(names_of_calls(cheap), Each(Not(StartsWith("cuda"))));
    const auto named = [](const timeline_api_call& call) {
        return api_name(call.domain, call.cbid) != "cuLaunchKernel" || call.kernel_name != 0;
    };
    EXPECT_TRUE(std::all_of(cheap.api_calls.begin(), cheap.api_calls.end(), named)) << "with the kernels' names";
}

INSTANTIATE_TEST_SUITE_P(Programs, ApiCallsComparison,
                         testing::Values(std::vector<std::string>{"steps", "3"},
                                         std::vector<std::string>{"autograd", "steps", "3"},
                                         std::vector<std::string>{"graph", "autograd", "steps", "3"}));

TEST(ApiCalls, AreTheDriversByDefault) {
    const timeline data = recorded({"steps", "3"});
    EXPECT_EQ(data.properties.at("api_calls"), "driver");
}

// The program is linked to the simulated runtime.
TEST(ApiCalls, AreShownAsTheRuntimesIfTheProgramHasIt) {
    const timeline data = recorded({"steps", "3"});
    EXPECT_EQ(data.properties.at("cuda_runtime"), "program");
    const call_names name(data);
    std::set<std::string> names;
    for (const timeline_api_call& call : data.api_calls) names.insert(name(call));
    EXPECT_THAT(names, Contains("cudaLaunchKernel"));
    EXPECT_THAT(names, Each(StartsWith("cuda")));
}

}  // namespace
}  // namespace prof::test
