// SPDX-License-Identifier: Apache-2.0
// Random programs through hooks, rings, collector, capture and reader, in this process. The projection equals the
// oracle's of the program and the simulated GPU's journal, to the nanosecond, however the rings and CUPTI's buffers
// were drained. A failure names its seed and plan; PROF_RANDOM_SEED=N PROF_RANDOM_PROGRAMS=1 runs that program alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "capture/capture_files.hpp"
#include "collect/pipeline.hpp"
#include "collect/random_program.hpp"
#include "support/sanitized.hpp"
#include "timeline/load.hpp"

namespace prof::test::random_program_test {
namespace {

constexpr std::uint32_t quick_count = 400;

// How often the programs met what is to be proven.
struct coverage {
    std::uint64_t operations = 0;
    std::uint64_t in_ranges = 0;
    std::uint64_t adopted = 0;
    std::uint64_t ambiguous = 0;
    std::uint64_t no_range = 0;
    std::uint64_t unmatched = 0;
    std::uint64_t replays = 0;
    std::uint64_t pops_without_push = 0;

    void count(const random_program& program) {
        for (const auto& [id, v] : oracle::judge_all(program.truth(), oracle::naming{random_program::folded()})) {
            ++operations;
            adopted += v.adopted ? 1 : 0;
            if (v.where.starts_with("(ambiguous)")) {
                ++ambiguous;
            } else if (v.where == "(no range)") {
                ++no_range;
            } else if (v.where == "(unmatched)") {
                ++unmatched;
            } else {
                ++in_ranges;
            }
        }
        for (const program_step& step : program.steps) replays += step.what == program_step::act::replay ? 1 : 0;
        pops_without_push += program.pops_without_push;
    }
};

TEST(RandomPrograms, AreReportedAsTheyRan) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    const std::uint32_t count = program_count(random_cases(quick_count));
    coverage met;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t seed = first_seed() + i;
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program program(seed, {});
        std::vector<std::string> report;
        for (const bool patient : {true, false}) {
            const drain_plan plan = patient ? drain_plan{} : drain_plan::random(seed, program.steps.size());
            SCOPED_TRACE(plan.text());
            carry_out(program, plan, path);
            if (HasFatalFailure()) return;
            const timeline data = load_timeline(path);
            std::filesystem::remove(path);
            program.check(data);
            if (HasFatalFailure()) return;
            if (patient) {
                report = report_lines(data);
            } else {
                ASSERT_EQ(report_lines(data), report);
            }
        }
        met.count(program);
    }
    std::printf("%u programs, seeds %u to %u: %lu operations, %lu adopted, %lu ambiguous, %lu replays\n", count,
                first_seed(), first_seed() + count - 1, met.operations, met.adopted, met.ambiguous, met.replays);
    if (count < quick_count) return;
    // A test that never meets a rule proves nothing about it.
    EXPECT_GT(met.in_ranges, 5 * count);
    EXPECT_GT(met.adopted, count / 2);
    EXPECT_GT(met.ambiguous, count / 10);
    EXPECT_GT(met.no_range, count / 2);
    EXPECT_GT(met.unmatched, count / 10);
    EXPECT_GT(met.replays, count / 2);
    EXPECT_GT(met.pops_without_push, count / 2);
}

}  // namespace
}  // namespace prof::test::random_program_test
