// SPDX-License-Identifier: Apache-2.0
// The option budget in a whole program on the simulated GPU (schedule_victim.cpp).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/steps/captured_steps.hpp"
#include "report/tables/step_estimate.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

// By the real clock: steps are found by their times, and the virtual one stands still where nothing is recorded, when a
// capture's times are those of the host.
struct SessionBudget : testing::Test, profiled_program {
    SessionBudget() : profiled_program(way_in::injected, {{"PROF_EXPORT", "summary"}, {"FAKE_GPU_CLOCK", ""}}) {}

    timeline record(const std::string& mark, const std::string& iterations, const environment& options) const {
        const process_result result = run({"mark", mark, "iterations", iterations}, options);
        EXPECT_EQ(result.exit_code(), 0) << result.err;
        EXPECT_EQ(result.err, "");
        return only_capture();
    }
};

// Each iteration launches three kernels of 50 us, by name "iteration_<i>", in the range "inside"; whole iterations are
// captured and no others, and the estimate is what each of them costs.
void expect_whole_iterations(const timeline& data, std::uint64_t iterations) {
    const std::vector<captured_step> steps = find_captured_steps(data);
    ASSERT_FALSE(steps.empty());
    // The program may end in a window: that cuts a step, which does not count, and has what is launched after the last.
    const bool ends_in_window = !data.windows.back().ends_with_step;
    if (!ends_in_window) {
        EXPECT_EQ(data.ops.size(), 3 * steps.size());
    }
    ASSERT_GE(data.ops.size(), 3 * steps.size());
    for (std::size_t i = 0; i < 3 * steps.size(); ++i) {
        EXPECT_EQ(data.kernel_symbol(data.ops[i]), "iteration_" + std::to_string(steps[i / 3].number));
    }
    EXPECT_TRUE(data.quality.dropped.empty());
    std::uint64_t next_free = 0;
    for (const timeline_window& window : data.windows) {
        EXPECT_TRUE(window.ends_with_step || &window == &data.windows.back());
        EXPECT_GE(window.drawn_first, next_free);
        EXPECT_GE(window.first_step, window.drawn_first);
        next_free = window.drawn_first + window.drawn_among;
        EXPECT_LT(window.last_step, next_free);
    }
    EXPECT_EQ(steps_of_run(data), iterations);
    const step_estimate found = estimate_steps(data, attribute(data), {});
    ASSERT_EQ(found.rows.size(), 1U);
    EXPECT_EQ(found.rows[0].path, "inside");
    EXPECT_NEAR(found.rows[0].gpu_ns.mean, 150'000, 1e-6 * 150'000);
    EXPECT_NEAR(found.rows[0].instances.mean, 1, 1e-6 * 1);
    EXPECT_EQ(found.captured_steps, steps.size());
    EXPECT_TRUE(has_part_of_steps(data));
}

// The first stratum begins after 70 steps at the latest, and has eight.
TEST_F(SessionBudget, CapturesStepsOfProfStep) {
    const timeline data = record("end", "300", {{"PROF_BUDGET", "0.01%"}});
    expect_whole_iterations(data, 300);
    EXPECT_LE(data.windows.front().first_step, 78U);
}

TEST_F(SessionBudget, CapturesStepsOfAStepRange) {
    const timeline data = record("range", "300", {{"PROF_BUDGET", "0.01%"}, {"PROF_STEP_RANGE", "iteration"}});
    const std::vector<captured_step> steps = find_captured_steps(data);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(data.ops.size(), 3 * steps.size());
    EXPECT_EQ(data.kernel_symbol(data.ops.front()), "iteration_" + std::to_string(steps.front().number));
    const step_estimate found = estimate_steps(data, attribute(data), {});
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(found.rows[1].path, "iteration/inside");
    EXPECT_NEAR(found.rows[1].gpu_ns.mean, 150'000, 1e-6 * 150'000);
}

TEST_F(SessionBudget, CapturesPhasesThatTheProgramMarksAsSteps) {
    const timeline data = record("phase", "300", {{"PROF_BUDGET", "0.01%"}});
    const std::vector<captured_step> steps = find_captured_steps(data);
    ASSERT_FALSE(steps.empty());
    EXPECT_LT(steps.size(), 300U);
    ASSERT_GE(data.ops.size(), 3 * steps.size());
    for (std::size_t i = 0; i < 3 * steps.size(); ++i) {
        EXPECT_EQ(data.kernel_symbol(data.ops[i]), "iteration_" + std::to_string(steps[i / 3].number));
    }
}

// With half of the time to spend there are several windows, after how many steps depends on what the first has cost;
// the summary has the estimate.
TEST_F(SessionBudget, OpensSeveralWindowsWithALargeBudget) {
    const process_result result = run({"mark", "end", "until_window", "2"}, {{"PROF_BUDGET", "50%"}});
    EXPECT_EQ(result.exit_code(), 0) << result.err;
    const timeline data = only_capture();
    expect_whole_iterations(data, std::stoull(result.out));
    EXPECT_GE(data.windows.size(), 2U);
    const auto summaries = scratch.files(".summary.txt");
    ASSERT_EQ(summaries.size(), 1U);
    EXPECT_NE(read_file(summaries.front()).find("GPU time a step, by range"), std::string::npos);
}

}  // namespace
}  // namespace prof::test
