// SPDX-License-Identifier: Apache-2.0
// Memory as a figure of runs and as a limit, with values worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "compare/baseline.hpp"
#include "compare/comparison.hpp"
#include "compare/limits.hpp"
#include "memory/training_program.hpp"
#include "support/scratch_directory.hpp"

namespace prof::memory_figures_test {
namespace {

using testing::Contains;
using testing::Eq;
using testing::IsEmpty;
using testing::Not;

constexpr double mb = 1e6;

// Runs with these peaks, and half of each in the median step; 0: no allocation was recorded.
std::vector<run_profile> runs(const std::string& name, const std::vector<double>& peaks) {
    std::vector<run_profile> out;
    for (const double peak : peaks) {
        run_profile& run = out.emplace_back();
        run.files = {name + std::to_string(out.size()) + ".prof"};
        run.has_steps = true;
        run.step_ns = 1e6;
        run.step_lengths_ns = {1e6};
        run.peak_bytes = peak;
        run.median_peak_bytes = peak / 2;
    }
    return out;
}
std::vector<gated_figure> gated(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                                const std::string& limit) {
    return gate(base, changed, {*parse_gate_limit(limit)});
}
run_profile profiled(const training_options& options) {
    return profile_of(training_program(options).capture.build(), "a.prof", projection_options{}, selection_request{},
                      nullptr);
}

TEST(MemoryFigures, ARunHasItsHighestAndItsMedianStep) {
    const run_profile of = profiled({});
    // 6 layers of 27 and 154 are 316 of parameters, and twice that of the optimizer's; activations are 6 of 150 and
    // 400, a quarter more in the long step; one gradient and 32 of workspace.
    EXPECT_EQ(of.peak_bytes, (3 * 316 + 1300 * 5 / 4 + 27 + 32) * 1048576.0);
    EXPECT_EQ(of.median_peak_bytes, (3 * 316 + 1300 + 27 + 32) * 1048576.0);
}

TEST(MemoryFigures, TheFullestGpuCounts) {
    // The second GPU has 77 more of parameters, and twice that of the optimizer's.
    EXPECT_EQ(profiled({.gpus = 2}).peak_bytes, (3 * (316 + 77) + 1300 * 5 / 4 + 27 + 32) * 1048576.0);
}

TEST(MemoryFigures, ARunWithoutAllocationsHasNone) {
    capture_builder capture;
    capture.thread("python").push(10, "forward").launch(20, 1).pop(30);
    capture.kernel(1, 40, 50);
    const run_profile of = profile_of(capture.build(), "a.prof", projection_options{}, selection_request{}, nullptr);
    EXPECT_EQ(of.peak_bytes, 0);
    EXPECT_EQ(of.median_peak_bytes, 0);
}

double sum_of(const std::vector<named_cost>& costs, const std::string& use) {
    double out = 0;
    for (const named_cost& cost : costs) out += cost.name.starts_with(use) ? cost.amount : 0;
    return out;
}

// The numbers of ARunHasItsHighestAndItsMedianStep, by use.
TEST(MemoryFigures, ARunHasItsPeakByUseAndPlace) {
    constexpr double mib = 1048576;
    const run_profile of = profiled({});
    EXPECT_EQ(sum_of(of.memory, ""), of.peak_bytes);
    EXPECT_EQ(sum_of(of.memory, "parameters"), 316 * mib);
    EXPECT_EQ(sum_of(of.memory, "optimizer state"), 2 * 316 * mib);
    EXPECT_EQ(sum_of(of.memory, "activations"), 1300 * 5 / 4 * mib);
    EXPECT_EQ(sum_of(of.memory, "gradients"), 27 * mib);
    EXPECT_EQ(sum_of(of.memory, "workspace"), 32 * mib);
    for (const named_cost& cost : of.memory) EXPECT_EQ(cost.name.find_first_of("0123456789"), std::string::npos);
}

TEST(MemoryFigures, PlacesAreComparedWhereEachRunHasThem) {
    std::vector<run_profile> base = runs("base", {100 * mb, 104 * mb});
    std::vector<run_profile> changed = runs("new", {150 * mb, 150 * mb});
    base[0].memory = {{"activations of layer.#", 70 * mb, 7}, {"parameters of layer.#", 30 * mb, 3}};
    base[1].memory = {{"activations of layer.#", 74 * mb, 7}, {"parameters of layer.#", 30 * mb, 3}};
    for (run_profile& run : changed) {
        run.memory = {{"parameters of layer.#", 30 * mb, 3},
                      {"activations of head", 20 * mb, 1},
                      {"activations of layer.#", 100 * mb, 10}};
    }
    const comparison of = compare(base, changed, {});
    ASSERT_EQ(of.memory.size(), 3U);
    EXPECT_EQ(of.memory[0].name, "activations of layer.#");
    EXPECT_EQ(of.memory[0].base_amount, 72 * mb);
    EXPECT_EQ(of.memory[0].new_amount, 100 * mb);
    EXPECT_EQ(of.memory[0].new_count, 10);
    EXPECT_EQ(of.memory[1].name, "activations of head");
    EXPECT_FALSE(of.memory[1].is_in_base);
    EXPECT_EQ(of.memory[2].base_amount, of.memory[2].new_amount);

    changed[1].memory.clear();
    const comparison without = compare(base, changed, {});
    EXPECT_THAT(without.memory, IsEmpty());
    EXPECT_THAT(without.notes, Contains(testing::HasSubstr("what holds the memory is not compared")));
}

TEST(MemoryFigures, OfAJobTheHighestProcessCounts) {
    std::vector<run_profile> ranks = runs("rank", {300 * mb, 500 * mb, 400 * mb});
    const run_profile of = merged(ranks);
    EXPECT_EQ(of.peak_bytes, 500 * mb);
    EXPECT_EQ(of.median_peak_bytes, 250 * mb);
}

// Peaks of 100, 102, 98 and 100 MB beside 5 % more of each: in logarithms the difference is ln 1.05 = 0.04879, and each
// side has the standard deviation 0.016333, so that the error is 0.016333 √(2/4) = 0.011549, with 6 degrees of freedom.
TEST(MemoryFigures, AreJudgedLikeOthers) {
    const std::vector<double> peaks = {100 * mb, 102 * mb, 98 * mb, 100 * mb};
    std::vector<double> grown;
    for (const double peak : peaks) grown.push_back(1.05 * peak);
    const comparison of = compare(runs("base", peaks), runs("new", grown), {});
    ASSERT_EQ(of.figures.size(), 3U);
    EXPECT_EQ(of.figures[1].name, "memory peak");
    EXPECT_EQ(of.figures[2].name, "memory peak, median step");
    EXPECT_TRUE(of.figures[1].is_memory);
    EXPECT_FALSE(of.figures[0].is_memory);
    const judged_figure& judged = of.figures[1].judged;
    EXPECT_DOUBLE_EQ(judged.base, 100 * mb);
    EXPECT_NEAR(judged.change, 0.05, 1e-12);
    EXPECT_EQ(judged.found, verdict::slower);
    constexpr double t = 2.446912;  // Student's, 97.5 %, of 6 degrees
    ASSERT_TRUE(judged.at);
    EXPECT_NEAR(judged.at->low, std::expm1(std::log(1.05) - t * 0.0115488), 2e-5);
    EXPECT_NEAR(judged.at->high, std::expm1(std::log(1.05) + t * 0.0115488), 2e-5);
}

TEST(MemoryFigures, ALimitHoldsOrFails) {
    const std::vector<double> peaks = {100 * mb, 100.1 * mb, 99.9 * mb, 100 * mb};
    std::vector<double> grown;
    for (const double peak : peaks) grown.push_back(1.05 * peak);
    const auto base = runs("base", peaks);
    const auto changed = runs("new", grown);
    EXPECT_EQ(gated(base, changed, "memory=2%")[0].found, gate_result::fails);
    EXPECT_NEAR(gated(base, changed, "memory=2%")[0].change.value(), 0.05, 1e-12);
    EXPECT_EQ(gated(base, changed, "memory=6%")[0].found, gate_result::holds);
    EXPECT_EQ(gated(base, base, "memory=1%")[0].found, gate_result::holds);
    EXPECT_EQ(gated(changed, base, "memory=1%")[0].found, gate_result::holds) << "less is no failure";
    EXPECT_EQ(gated(base, changed, "memory-median=2%")[0].found, gate_result::fails);
}

// The allocator of the same program gives out the same, so that runs often do not spread at all.
TEST(MemoryFigures, RunsThatDoNotSpreadAreTold) {
    const auto base = runs("base", {100 * mb, 100 * mb});
    EXPECT_EQ(gated(base, runs("new", {103 * mb, 103 * mb}), "memory=2%")[0].found, gate_result::fails);
    EXPECT_EQ(gated(base, runs("new", {103 * mb, 103 * mb}), "memory=4%")[0].found, gate_result::holds);
    EXPECT_EQ(gated(base, base, "memory=0.1")[0].found, gate_result::holds);
}

TEST(MemoryFigures, TheMedianStepHasALimitOfItsOwn) {
    auto base = runs("base", {100 * mb, 100 * mb});
    auto changed = base;
    for (run_profile& run : changed) run.median_peak_bytes *= 1.1;
    EXPECT_EQ(gated(base, changed, "memory=2%")[0].found, gate_result::holds);
    EXPECT_EQ(gated(base, changed, "memory-median=2%")[0].found, gate_result::fails);
}

TEST(MemoryFigures, WhatWasNotRecordedIsNeverPassed) {
    const auto with = runs("with", {100 * mb, 100 * mb});
    const auto without = runs("without", {0, 0});
    const auto some = runs("some", {100 * mb, 0, 100 * mb});
    const std::string how = ": `prof run --allocations on` records those of PyTorch";
    const auto why = [](const std::vector<gated_figure>& of) {
        EXPECT_EQ(of[0].found, gate_result::inconclusive);
        EXPECT_FALSE(of[0].change);
        return of[0].why;
    };
    EXPECT_EQ(why(gated(with, without, "memory=2%")),
              "no allocation was recorded in without1.prof and 1 more run" + how);
    EXPECT_EQ(why(gated(some, with, "memory-median=2%")), "no allocation was recorded in some2.prof" + how);
    EXPECT_EQ(why(gated(without, without, "memory=2%")),
              "no allocation was recorded in without1.prof and 3 more runs" + how);
    EXPECT_EQ(unknown_figure(without, without, *parse_gate_limit("memory=2%")), "") << "the name is not wrong";

    const std::string note = "memory is not compared: not every run has recorded allocations (--allocations on)";
    EXPECT_THAT(compare(with, some, {}).notes, Contains(Eq(note)));
    EXPECT_EQ(compare(with, some, {}).figures.size(), 1U);
    EXPECT_THAT(compare(without, without, {}).notes, Not(Contains(Eq(note))));
    EXPECT_THAT(compare(with, with, {}).notes, Not(Contains(Eq(note))));
}

TEST(MemoryFigures, LimitsAreWrittenSo) {
    EXPECT_EQ(parse_gate_limit("memory=2%")->of, "memory");
    EXPECT_EQ(parse_gate_limit("memory=2%")->most, 0.02);
    EXPECT_EQ(parse_gate_limit("memory-median=1")->of, "memory-median");
    EXPECT_FALSE(parse_gate_limit("memory:x=2%"));
    EXPECT_FALSE(parse_gate_limit("memory"));
    EXPECT_FALSE(parse_gate_limit("memory-highest=2%"));
}

TEST(MemoryFigures, ABaselineKeepsThem) {
    const test::scratch_directory scratch;
    const std::string path = scratch.path + "/b.json";
    const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
    std::vector<run_profile> kept = runs("base", {100 * mb, 0});
    kept[0].memory = {{"activations of layer.#", 100 * mb, 7}};
    const std::string text = baseline_text(baseline_of(kept, false));
    EXPECT_THAT(text, testing::StartsWith("{\"prof_baseline\": 2"));
    EXPECT_THAT(text, testing::HasSubstr("\"peak_bytes\": null, \"median_peak_bytes\": null"));
    write(text);
    const baseline read = read_baseline(path);
    EXPECT_EQ(read.runs.at(0).peak_bytes, 100 * mb);
    EXPECT_EQ(read.runs.at(0).median_peak_bytes, 50 * mb);
    EXPECT_EQ(read.runs.at(1).peak_bytes, 0);
    ASSERT_EQ(read.runs.at(0).memory.size(), 1U);
    EXPECT_EQ(read.runs.at(0).memory[0].name, "activations of layer.#");
    EXPECT_EQ(read.runs.at(0).memory[0].amount, 100 * mb);
    EXPECT_EQ(read.runs.at(0).memory[0].count, 7);
    EXPECT_THAT(read.runs.at(1).memory, IsEmpty());

    // One of version 1 has no memory, and a limit on it cannot be told.
    std::string old = text;
    old.replace(old.find(": 2"), 3, ": 1");
    for (std::size_t at = 0; (at = old.find(" \"peak_bytes\"")) != std::string::npos;) {
        old.erase(at, old.find(",\n", at) + 1 - at);
    }
    write(old);
    EXPECT_EQ(read_baseline(path).runs.at(0).peak_bytes, 0);
    EXPECT_EQ(gated(read_baseline(path).runs, runs("new", {100 * mb, 100 * mb}), "memory=2%")[0].found,
              gate_result::inconclusive);
    old.replace(old.find(": 1"), 3, ": 3");
    write(old);
    EXPECT_THROW(read_baseline(path), error);
}

}  // namespace
}  // namespace prof::memory_figures_test
