// kernel_launches=driver in a program on the simulated GPU: the same work in the same ranges as by default, launched by
// calls of the driver's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/projection.hpp"
#include "export/api_names.hpp"
#include "session/run_process.hpp"
#include "timeline/timeline.hpp"

namespace prof::test {
namespace {

using testing::Contains;
using testing::IsEmpty;

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

struct KernelLaunches : testing::TestWithParam<std::vector<std::string>> {
    scratch_directory scratch;

    timeline recorded(const std::string& mode) const {
        std::vector<std::string> words = GetParam();
        words.insert(words.begin(), PROF_TEST_VICTIM);
        const process_result result = run_process(words,
                                                  {{"PROF_OUTPUT_DIR", scratch.path + "/" + mode},
                                                   {"PROF_KERNEL_LAUNCHES", mode},
                                                   {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                                   {"FAKE_GPU_CLOCK", "virtual"},
                                                   {"PROF_RINGS", scratch.path},
                                                   {"PROF_EXPORT", "none"},
                                                   {"LD_PRELOAD", PROF_TEST_LIBRARY},
                                                   {"CUDA_INJECTION64_PATH", ""},
                                                   {"NVTX_INJECTION64_PATH", ""}},
                                                  scratch.path);
        EXPECT_EQ(result.exit_code(), 3) << result.err;
        for (const std::string& path : scratch.files(".prof")) {
            if (path.find("/" + mode + "/") != std::string::npos) return load_timeline(path);
        }
        ADD_FAILURE() << "no capture of " << mode;
        return {};
    }
};

TEST_P(KernelLaunches, OfTheDriverFindTheSameRanges) {
    const timeline usual = recorded("runtime");
    const timeline cheap = recorded("driver");
    EXPECT_EQ(usual.properties.at("kernel_launches"), "runtime");
    EXPECT_EQ(cheap.properties.at("kernel_launches"), "driver");
    EXPECT_EQ(figures_of_rows(cheap), figures_of_rows(usual));
    EXPECT_EQ(cheap.api_calls.size(), usual.api_calls.size()) << "one record a call in both ways";
    EXPECT_EQ(cheap.quality.launches_without_completion, 0U);
    EXPECT_THAT(cheap.quality.dropped, IsEmpty());
    EXPECT_TRUE(std::all_of(cheap.ops.begin(), cheap.ops.end(), [](const gpu_op& op) { return op.launch != npos; }));

    EXPECT_THAT(names_of_calls(usual), Contains("cudaLaunchKernel"));
    std::set<std::string> expected = names_of_calls(usual);
    expected.erase("cudaLaunchKernel");
    expected.insert("cuLaunchKernel");
    EXPECT_EQ(names_of_calls(cheap), expected) << "of copies, sets and graphs the runtime's call stays";
    const auto named = [](const timeline_api_call& call) {
        return api_name(call.domain, call.cbid) != "cuLaunchKernel" || call.kernel_name != 0;
    };
    EXPECT_TRUE(std::all_of(cheap.api_calls.begin(), cheap.api_calls.end(), named)) << "with the kernels' names";
}

INSTANTIATE_TEST_SUITE_P(Of, KernelLaunches,
                         testing::Values(std::vector<std::string>{"steps", "3"},
                                         std::vector<std::string>{"autograd", "steps", "3"},
                                         std::vector<std::string>{"graph", "autograd", "steps", "3"}));

}  // namespace
}  // namespace prof::test
