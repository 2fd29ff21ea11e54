// SPDX-License-Identifier: Apache-2.0
// The waterfall adds up to the steps, of random timelines, of groups of runs, and of changes that were put in.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "compare/comparison.hpp"
#include "compare/run_profile.hpp"
#include "diagnose/random_code.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof {
namespace {

run_profile profile(std::vector<time_cell> cells) {
    run_profile out{.files = {"a.prof"}, .has_steps = true, .devices = 1, .cells = std::move(cells)};
    for (const time_cell& cell : out.cells) out.step_ns += cell.ns;
    out.step_lengths_ns = std::vector<double>(20, out.step_ns);
    out.host_ns = out.gpu_sum_ns = out.gpu_busy_ns = out.step_ns;
    return out;
}

std::int64_t sum_of(const waterfall& of, std::int64_t waterfall_part::*side) {
    std::int64_t out = 0;
    for (const waterfall_part& part : of.parts) out += part.*side;
    return out;
}

const waterfall_part* part_of(const waterfall& of, const std::string& phase, const std::string& use) {
    for (const waterfall_part& part : of.parts) {
        if (part.phase == phase && part.use == use) return &part;
    }
    return nullptr;
}

// A random program, and the same with each kernel 40 us longer: the waterfall adds up, to the step's change, and the
// GPU's part of it is what kernels took more, as far as they do not run at once.
TEST(Waterfall, OfRandomProgramsAddsUpAndHasWhatWasPutIn) {
    using namespace diagnose_test;
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        const random_code made(seed, {.streams = 1 + seed % 2, .uses_helper = seed % 3 == 0});
        std::vector<code> slower = made.program;
        std::size_t kernels = 0;
        for (code& strand : slower) {
            for (instruction& each : strand) {
                if (each.what == action::launch) each.ns += 40 * us;
            }
        }
        const auto profiled = [&](const std::vector<code>& program) {
            const simulation run(program, made.on);
            return profile_of(run.capture.build(), "a.prof", projection_options{}, selection_request{}, nullptr);
        };
        const run_profile base = profiled(made.program);
        const run_profile changed = profiled(slower);
        ASSERT_TRUE(base.has_steps);
        for (const run_profile& of : {base, changed}) {
            double cells = 0;
            for (const time_cell& cell : of.cells) cells += cell.ns;
            EXPECT_NEAR(cells, of.step_ns, 1e-6 * of.step_ns + 1e-3);
        }
        const waterfall found = make_waterfall({base}, {changed});
        EXPECT_EQ(sum_of(found, &waterfall_part::base_ns), found.base_ns);
        EXPECT_EQ(sum_of(found, &waterfall_part::new_ns), found.new_ns);
        EXPECT_NEAR(static_cast<double>(found.base_ns), base.step_ns, 1e-3 * base.step_ns + 1);
        EXPECT_NEAR(static_cast<double>(found.new_ns), changed.step_ns, 1e-3 * changed.step_ns + 1);
        ASSERT_EQ(base.kernels.size(), changed.kernels.size());
        double more = 0;
        for (std::size_t i = 0; i < base.kernels.size(); ++i) {
            more += changed.kernels[i].amount - base.kernels[i].amount;
            kernels += static_cast<std::size_t>(std::llround(base.kernels[i].count * 1e6));
        }
        EXPECT_NEAR(more, 40e3 * static_cast<double>(kernels) / 1e6, 1) << "40 us for each launch of a step";
        if (seed % 2 == 1) continue;
        std::int64_t of_kernels = 0;
        for (const waterfall_part& part : found.parts) of_kernels += part.use == "kernels" ? part.change_ns() : 0;
        EXPECT_LE(static_cast<double>(of_kernels), more + 0.02 * base.step_ns);
        EXPECT_GT(of_kernels, 0);
    }
}

TEST(Waterfall, OfGroupsAddsUpToTheMeansOfTheirRuns) {
    std::mt19937 random(8);
    std::uniform_real_distribution<double> ns(1, 3e6);
    for (int i = 0; i < 200; ++i) {
        const auto group = [&] {
            std::vector<run_profile> out;
            for (int run = 0; run < 3; ++run) {
                out.push_back(profile({{"forward", "kernels", ns(random)},
                                       {"backward", "kernels", ns(random)},
                                       {"", "idle: launches", ns(random)}}));
            }
            return out;
        };
        const waterfall found = make_waterfall(group(), group());
        EXPECT_EQ(sum_of(found, &waterfall_part::base_ns), found.base_ns);
        EXPECT_EQ(sum_of(found, &waterfall_part::new_ns), found.new_ns);
    }
}

// A slower kernel, a wait, and a phase that went: each is named as what it is, and the sizes are those that were put
// in.
TEST(Waterfall, NamesChangesThatWerePutIn) {
    const run_profile base =
        profile({{"forward", "kernels", 4e6}, {"backward", "kernels", 8e6}, {"loss", "copies", 1e6}});
    const run_profile changed =
        profile({{"forward", "kernels", 4e6}, {"backward", "kernels", 11e6}, {"optimizer", "idle: syncs", 2e6}});
    const waterfall found = make_waterfall({base}, {changed});
    EXPECT_EQ(found.new_ns - found.base_ns, 4'000'000);
    EXPECT_EQ(found.parts.front().phase, "backward");
    EXPECT_EQ(found.parts.front().change_ns(), 3'000'000);
    EXPECT_EQ(part_of(found, "optimizer", "idle: syncs")->change_ns(), 2'000'000);
    EXPECT_EQ(part_of(found, "loss", "copies")->change_ns(), -1'000'000);
    EXPECT_EQ(part_of(found, "forward", "kernels")->change_ns(), 0);
}

TEST(Comparison, ProcessesOfARunAreOneRun) {
    run_profile rank0 = profile({{"forward", "kernels", 4e6}});
    run_profile rank1 = profile({{"forward", "kernels", 6e6}});
    rank0.ranges = {{"forward", 4e6, 10}};
    rank1.ranges = {{"forward", 6e6, 10}};
    run_profile worker = profile({{"data", "CPU", 9e6}});
    worker.devices = 0;
    const run_profile found = merged({rank0, rank1, worker});
    EXPECT_EQ(found.step_ns, 5e6);
    ASSERT_EQ(found.ranges.size(), 1U);
    EXPECT_EQ(found.ranges[0].amount, 5e6);
    EXPECT_EQ(found.files.size(), 2U) << "the worker has no GPU work";
}

TEST(Comparison, RenamedKernelsAreMatchedAndSaidToBe) {
    run_profile base = profile({{"forward", "kernels", 4e6}});
    run_profile changed = base;
    base.kernels = {{"void gemm<float, 4>(float*)", 100, 1}, {"triton_poi_fused_add_3", 50, 1}, {"gone()", 10, 1}};
    changed.kernels = {{"void gemm<__half, 8>(__half*)", 40, 1}, {"triton_poi_fused_add_7", 60, 1}, {"added()", 5, 1}};
    const comparison found = compare({base}, {changed}, {});
    ASSERT_EQ(found.kernels.size(), 4U);
    EXPECT_EQ(found.kernels[0].old_name, "void gemm<float, 4>(float*)");
    EXPECT_EQ(found.kernels[0].how, name_match::template_arguments);
    EXPECT_EQ(found.kernels[0].new_amount, 40);
    for (const compared_cost& kernel : found.kernels) {
        if (kernel.name == "triton_poi_fused_add_7") {
            EXPECT_EQ(kernel.how, name_match::numbers);
        }
        if (kernel.name == "gone()") {
            EXPECT_FALSE(kernel.is_in_new);
        }
        if (kernel.name == "added()") {
            EXPECT_FALSE(kernel.is_in_base);
        }
    }
}

TEST(Comparison, TestsOfATableAreCorrected) {
    std::mt19937 random(9);
    std::normal_distribution<double> noise(1, 0.01);
    std::size_t called = 0;
    for (int i = 0; i < 40; ++i) {
        const auto group = [&] {
            std::vector<run_profile> out;
            for (int run = 0; run < 5; ++run) {
                run_profile& one = out.emplace_back(profile({{"forward", "kernels", 4e6 * noise(random)}}));
                for (int range = 0; range < 40; ++range) {
                    one.ranges.push_back({"range " + std::to_string(range), 1e5 * noise(random), 1});
                }
            }
            return out;
        };
        for (const compared_cost& range : compare(group(), group(), {}).ranges) called += range.is_changed() ? 1 : 0;
    }
    EXPECT_LE(called, 8U) << "of 1,600 ranges without a change; uncorrected there would be 80";
}

TEST(Comparison, StepsAreNotComparedWithARecordingWithoutSteps) {
    run_profile without = profile({{"", "kernels", 1e6}});
    without.has_steps = false;
    EXPECT_THROW(compare({profile({{"", "kernels", 1e6}})}, {without}, {}), error);
}

TEST(Comparison, FactsThatDifferStandThereMachineFirst) {
    run_profile base = profile({{"", "kernels", 1e6}});
    run_profile changed = base;
    base.facts = {{"GPU", "NVIDIA H200"}, {"command", "train --batch 8"}, {"host", "a"}};
    changed.facts = {{"GPU", "NVIDIA H100"}, {"command", "train --batch 16"}, {"host", "a"}};
    const comparison found = compare({base}, {changed}, {});
    ASSERT_EQ(found.differences.size(), 2U);
    EXPECT_EQ(found.differences[0].what, "GPU");
    EXPECT_EQ(found.differences[1].changed, "train --batch 16");
}

}  // namespace
}  // namespace prof
