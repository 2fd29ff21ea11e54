// SPDX-License-Identifier: Apache-2.0
// Baselines: what is written is read back, a comparison is the same with it, and damage is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "compare/baseline.hpp"
#include "compare/comparison.hpp"
#include "compare/limits.hpp"
#include "support/scratch_directory.hpp"

namespace prof {
namespace {

using test::scratch_directory;

std::vector<run_profile> runs(std::size_t count, double ns, std::size_t steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<run_profile> out;
    for (std::size_t i = 0; i < count; ++i) {
        run_profile& run = out.emplace_back();
        run.files = {"a \"run\".prof"};
        run.facts = {{"host", "node7"}, {"GPU", "NVIDIA H200"}, {"driver", "580"}, {"command", "train \\x41 \xff"}};
        run.has_steps = true;
        run.is_diagnosed = true;
        run.devices = 1;
        double sum = 0;
        for (std::size_t step = 0; step < steps; ++step) {
            run.step_lengths_ns.push_back(static_cast<double>(std::llround(ns * (1 + 0.01 * normal(random)))));
            sum += run.step_lengths_ns.back();
        }
        run.step_ns = sum / static_cast<double>(steps);
        run.host_ns = run.step_ns / 2;
        run.gpu_sum_ns = run.step_ns / 4;
        run.gpu_busy_ns = run.step_ns / 5;
        run.ops = 12.5;
        run.cells = {{"forward", "kernels", run.step_ns / 4}, {"", "idle: launches", run.step_ns * 3 / 4}};
        run.ranges = {{"step/forward", run.step_ns / 4, 3}};
        if (i != 0) run.ranges.push_back({"step/\xe2\x82", run.step_ns / 8, 1});
        run.kernels = {{"void gemm<\"x\">(float*)", run.step_ns / 4, 3}};
        if (i == 0) run.findings = {{"allocation", "memory is allocated", 1e5}};
    }
    return out;
}

std::string written(const scratch_directory& in, const std::string& text) {
    const std::string path = in.path + "/b.json";
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

TEST(Baseline, IsReadBackAsItWasWritten) {
    const scratch_directory scratch;
    const std::vector<run_profile> base = runs(3, 1e6, 40, 1);
    const std::string path = written(scratch, baseline_text(baseline_of(base, false)));
    ASSERT_TRUE(is_baseline(path));
    const baseline read = read_baseline(path);
    EXPECT_EQ(read.machine, (std::map<std::string, std::string>{{"host", "node7"}, {"GPU", "NVIDIA H200"}}));
    ASSERT_EQ(read.runs.size(), base.size());
    EXPECT_EQ(read.runs[1].facts, base[1].facts);
    EXPECT_EQ(read.runs[1].files, base[1].files);
    EXPECT_EQ(read.runs[1].step_lengths_ns, base[1].step_lengths_ns);
    EXPECT_EQ(read.runs[0].ranges.size(), 1U);
    EXPECT_EQ(read.runs[1].ranges.at(1).name, "step/\xe2\x82");
    EXPECT_EQ(read.runs[0].findings.at(0).title, "memory is allocated");
    EXPECT_TRUE(read.runs[2].findings.empty());

    const std::vector<run_profile> changed = runs(4, 1.05e6, 40, 2);
    const comparison with_runs = compare(base, changed, {});
    const comparison with_file = compare(read.runs, changed, {});
    EXPECT_NEAR(*with_file.step().p, *with_runs.step().p, 1e-6);
    EXPECT_NEAR(with_file.step().change, with_runs.step().change, 1e-8);
    EXPECT_EQ(with_file.parts.base_ns, with_runs.parts.base_ns);
    EXPECT_EQ(with_file.ranges.size(), with_runs.ranges.size());
    EXPECT_TRUE(with_file.differences.empty());
}

TEST(Baseline, LongListsAndManyStepsAreCut) {
    const scratch_directory scratch;
    std::vector<run_profile> base = runs(1, 1e6, 2'500, 3);
    for (int i = 0; i < 1'200; ++i) base[0].kernels.push_back({"kernel " + std::to_string(i), 1000.0 + i, 1});
    const baseline read = read_baseline(written(scratch, baseline_text(baseline_of(base, true))));
    EXPECT_EQ(read.machine.count("host"), 0U);
    EXPECT_EQ(read.runs[0].kernels.size(), 1'000U);
    EXPECT_EQ(read.runs[0].kernels.at(1).name, "kernel 1199");  // those with the least went
    ASSERT_EQ(read.notes.size(), 1U);
    EXPECT_EQ(read.notes[0], "201 of 1201 kernels are not in the baseline, those with the least");
    ASSERT_EQ(read.runs[0].step_lengths_ns.size(), 834U);  // of three steps each
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += base[0].step_lengths_ns[i];
    EXPECT_NEAR(read.runs[0].step_lengths_ns[0], sum / 3, 0.5);
}

TEST(Baseline, AnotherMachineIsNamed) {
    const std::vector<run_profile> here = runs(2, 1e6, 10, 4);
    std::vector<run_profile> there = here;
    EXPECT_EQ(other_machine(baseline_of(here, false), there), "");
    there[1].facts["host"] = "b";
    EXPECT_EQ(other_machine(baseline_of(here, false), there), "its host is node7, and that of the other side b");
    EXPECT_EQ(other_machine(baseline_of(here, true), there), "");
    there[0].facts.erase("GPU");
    EXPECT_EQ(other_machine(baseline_of(here, true), there),
              "its GPU is NVIDIA H200, and that of the other side not known");
    EXPECT_THROW(baseline_of(there, false), error);
}

// Nothing but prof::error comes of a file that ends early or has another byte, and of none a figure below 0.
TEST(Baseline, DamageIsRefused) {
    const scratch_directory scratch;
    const std::string whole = baseline_text(baseline_of(runs(1, 1e6, 3, 5), false));
    std::size_t refused = 0;
    std::mt19937_64 random(6);
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        std::string changed = whole;
        changed[i] = static_cast<char>(random() % 256);
        for (const std::string& text : {whole.substr(0, i), changed}) {
            try {
                const baseline read = read_baseline(written(scratch, text));
                for (const run_profile& run : read.runs) EXPECT_GT(run.step_ns, 0);
            } catch (const error& failure) {
                EXPECT_NE(std::string(failure.what()).find("b.json"), std::string::npos) << failure.what();
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, whole.size() / 7);  // each that ends early, and some of the others
    EXPECT_FALSE(is_baseline(written(scratch, "{\"traceEvents\": []}")));
    EXPECT_FALSE(is_baseline(scratch.path + "/none.json"));
    EXPECT_THROW(read_baseline(written(scratch, "{\"prof_baseline\": 3, \"runs\": []}")), error);
}

}  // namespace
}  // namespace prof
