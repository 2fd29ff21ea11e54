// SPDX-License-Identifier: Apache-2.0
// The account of PyTorch's caching allocator in a whole program: each scene of torch_allocator_victim.cpp is run
// without libprof and with it. What is expected is what the allocator itself says at that moment
// (tests/fakes/torch/fake_c10.h).
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/memory_summary.hpp"
#include "report/make_reports.hpp"
#include "report/memory_answer.hpp"
#include "report/reports.hpp"
#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

// A line that the victim prints: "step 3 peak 1 allocated 2 reserved 3".
struct told {
    std::uint64_t peak = 0;
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
};
std::map<std::string, told> told_in(const std::string& text) {
    std::map<std::string, told> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::string what, number, word;
        told of;
        if (in >> what >> number >> word >> of.peak >> word >> of.allocated >> word >> of.reserved) {
            out[what + ' ' + number] = of;
        }
    }
    return out;
}

memory_device only_device(const timeline& data) {
    memory_summary found = measure_memory(data, attribute(data));
    EXPECT_EQ(found.doubtful, 0U);
    EXPECT_EQ(found.devices.size(), 1U);
    return found.devices.empty() ? memory_device{} : std::move(found.devices.front());
}

std::int64_t sum(const memory_device& of, std::int64_t memory_row::*bytes) {
    return std::accumulate(of.rows.begin(), of.rows.end(), std::int64_t{0},
                           [&](std::int64_t total, const memory_row& row) { return total + row.*bytes; });
}
std::int64_t sum_of_use(const memory_device& of, memory_use use, std::int64_t memory_row::*bytes) {
    std::int64_t out = 0;
    for (const memory_row& row : of.rows) out += row.use == use ? row.*bytes : 0;
    return out;
}

// The rows add up to the total, to the byte.
void expect_conserved(const memory_device& of) {
    EXPECT_EQ(sum(of, &memory_row::at_end), static_cast<std::int64_t>(of.end_allocated));
    if (!of.steps.empty()) {
        EXPECT_EQ(sum(of, &memory_row::at_peak), static_cast<std::int64_t>(of.steps[of.highest].peak));
        EXPECT_EQ(sum(of, &memory_row::at_median), static_cast<std::int64_t>(of.steps[of.median].peak));
    }
    if (!of.failures.empty()) {
        EXPECT_EQ(sum(of, &memory_row::at_failure), static_cast<std::int64_t>(of.failures.back().allocated));
    }
}

struct TorchAllocator : bare_and_profiled {
    // The scene's output, which is the same without libprof.
    std::map<std::string, told> play(const std::string& scene, int status = exited(3), environment e = {}) {
        e.insert({"PROF_ALLOCATIONS", "on"});
        EXPECT_EQ(same_with_and_without(scene, status, e), "");
        return told_in(run(scene, false, e).out);
    }
    // Each step's peak and what is allocated at its end are those of the allocator.
    static void expect_steps(const memory_device& of, const std::map<std::string, told>& told_by) {
        ASSERT_TRUE(of.has_steps);
        ASSERT_FALSE(of.steps.empty());
        for (const memory_step& step : of.steps) {
            // The line after a step says what its peak was; the first step of prof_step is number 0.
            const auto after = told_by.find("step " + std::to_string(step.number + 1));
            ASSERT_NE(after, told_by.end()) << step.number;
            EXPECT_EQ(step.peak, after->second.peak) << step.number;
            EXPECT_EQ(step.reserved, after->second.reserved) << step.number;
            const auto before = told_by.find("step " + std::to_string(step.number));
            ASSERT_NE(before, told_by.end());
            EXPECT_EQ(step.growth, static_cast<std::int64_t>(after->second.allocated - before->second.allocated));
        }
    }
};

TEST_F(TorchAllocator, TrainingHasThePeaksOfTheAllocator) {
    const auto told_by = play("train");
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    expect_steps(of, told_by);
    expect_conserved(of);
    // 6 layers: 4 MiB of parameters, 8 of state; activations of 6 to 11. The peak is in backward's first layer: one
    // gradient of 4, a workspace of 3.
    EXPECT_EQ(sum_of_use(of, memory_use::parameters, &memory_row::at_peak), 24 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::optimizer_state, &memory_row::at_peak), 48 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::activations, &memory_row::at_peak), 51 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::gradients, &memory_row::at_peak), 4 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::workspace, &memory_row::at_peak), 3 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum(of, &memory_row::at_peak), 130 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(of.steps[of.highest].peak_path, "backward/layer 5");
    EXPECT_EQ(of.growth, 0);
    EXPECT_TRUE(memory_findings(measure_memory(data, attribute(data))).empty());
    // Of the GPU of the tests.
    EXPECT_TRUE(of.limit.has_value());
    EXPECT_TRUE(data.quality.dropped.empty());
    EXPECT_EQ(data.property("allocator"), "pytorch");
}

TEST_F(TorchAllocator, AnImportTableThatIsBoundLaterIsReplacedToo) {
    const process_result result = run_process({PROF_TEST_LAZY_VICTIM, "train"},
                                              {{"PROF_OUTPUT_DIR", scratch.path},
                                               {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                               {"PROF_EXPORT", "none"},
                                               {"PROF_ALLOCATIONS", "on"},
                                               {"LD_PRELOAD", PROF_TEST_LIBRARY}},
                                              scratch.path);
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    expect_steps(only_device(only_capture()), told_in(result.out));
}

TEST_F(TorchAllocator, NothingIsRecordedWithTheOptionOff) {
    play("train", exited(3), {{"PROF_ALLOCATIONS", "off"}});
    const timeline data = only_capture();
    EXPECT_TRUE(data.memory.empty());
    EXPECT_EQ(data.property("allocations"), "");
}

TEST_F(TorchAllocator, ALeakIsFoundWithItsRange) {
    const auto told_by = play("leak");
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    expect_steps(of, told_by);
    expect_conserved(of);
    EXPECT_EQ(of.growth, mib / 2);
    const std::vector<memory_finding> found = memory_findings(measure_memory(data, attribute(data)));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().rule, "memory_growth");
    EXPECT_EQ(found.front().path, "forward/layer 3");
    EXPECT_EQ(found.front().bytes, mib / 2);
}

TEST_F(TorchAllocator, AnErrorNamesTheRangeAndWhatWasAlive) {
    const auto told_by = play("fail");
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    expect_conserved(of);
    ASSERT_EQ(of.failures.size(), 1U);
    const memory_failure& failure = of.failures.front();
    EXPECT_EQ(failure.path, "backward/layer 2");
    EXPECT_EQ(failure.asked, std::uint64_t{3} << 30);
    EXPECT_EQ(failure.allocated, told_by.at("failed 2").allocated);
    EXPECT_EQ(failure.reserved, told_by.at("failed 2").reserved);
    // Layers 5 to 3 have been through backward.
    EXPECT_EQ(sum_of_use(of, memory_use::activations, &memory_row::at_failure),
              (6 + 7 + 8) * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::gradients, &memory_row::at_failure), 16 * static_cast<std::int64_t>(mib));
    // Every report begins with it.
    const report_document document = make_reports(data, "x.prof", {}, std::vector{find_report("kernels")});
    ASSERT_FALSE(document.capture.warnings.empty());
    EXPECT_THAT(document.capture.warnings.front(),
                HasSubstr("out of GPU memory in backward/layer 2: 3.22 GB were asked for, with 114.29 MB allocated"));
}

TEST_F(TorchAllocator, AProcessThatWasKilledAnswersFromItsRings) {
    const auto told_by = play("killed", SIGKILL);
    const timeline data = only_capture();
    EXPECT_FALSE(data.quality.ended);
    const memory_device of = only_device(data);
    EXPECT_EQ(of.end_allocated, told_by.at("killed 1").allocated);
    EXPECT_EQ(sum(of, &memory_row::at_end), static_cast<std::int64_t>(of.end_allocated));
    EXPECT_EQ(sum_of_use(of, memory_use::activations, &memory_row::at_end), (6 + 7) * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::gradients, &memory_row::at_end), 20 * static_cast<std::int64_t>(mib));
    const report_document document = make_reports(data, "x.prof", {}, std::vector{find_report("kernels")});
    EXPECT_THAT(document.capture.facts, testing::Contains(HasSubstr("of GPU memory")));
}

TEST_F(TorchAllocator, FragmentationIsFound) {
    play("fragmented");
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    expect_conserved(of);
    const std::vector<memory_finding> found = memory_findings(measure_memory(data, attribute(data)));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.front().rule, "out_of_memory");
    EXPECT_EQ(found.front().bytes, 4 * mib);
    EXPECT_EQ(found.back().rule, "memory_fragmentation");
    EXPECT_EQ(found.back().path, "cut up");
    EXPECT_EQ(found.back().bytes, 32 * mib);
}

TEST_F(TorchAllocator, ARecordingThatBeginsLateKnowsWhatItDoesNotKnow) {
    const auto told_by = play("late", exited(3), {{"PROF_AUTOSTART", "0"}});
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    expect_steps(of, told_by);
    expect_conserved(of);
    EXPECT_EQ(of.before, 20 * mib);
    EXPECT_EQ(sum_of_use(of, memory_use::before_recording, &memory_row::at_peak), 20 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(sum_of_use(of, memory_use::before_recording, &memory_row::at_end), 10 * static_cast<std::int64_t>(mib));
    EXPECT_EQ(of.end_allocated, told_by.at("late 1").allocated);
}

TEST_F(TorchAllocator, WhatOthersUseOfTheGpuIsKnown) {
    play("crowded");
    const timeline data = only_capture();
    const memory_device of = only_device(data);
    ASSERT_TRUE(of.outside.has_value());
    EXPECT_EQ(of.outside->total, of.limit);
    // The peak is at the large block, just when it was looked at.
    EXPECT_EQ(of.outside->used, 950 * mib);
    EXPECT_EQ(of.outside->at_peak, 900 * mib);
    EXPECT_EQ(of.outside->most, 1000 * mib) << "once a second";
    ASSERT_TRUE(of.outside->at_failure.has_value());
    // The cache went back before the request failed.
    EXPECT_EQ(*of.outside->at_failure, 800 * mib - of.failures.back().reserved);
    EXPECT_EQ(of.outside->latest, *of.outside->at_failure);
    std::vector<std::uint64_t> used;
    for (const gpu_memory_sample& each : data.gpu_memory) used.push_back(each.used / mib);
    ASSERT_GE(used.size(), 4U);
    EXPECT_LE(used.size(), 8U) << "and not at each block";
    EXPECT_EQ(used[0], 702U);
    EXPECT_EQ(used[1], 950U);
    EXPECT_EQ(used.back(), 800U);
    const report_document document = make_reports(data, "x.prof", {}, std::vector{find_report("memory")});
    EXPECT_THAT(document.capture.warnings.front(), HasSubstr("of them in use outside the allocator"));
}

TEST_F(TorchAllocator, ThreadsThatFreeEachOthersBlocks) {
    const process_result result = run("random", true, {{"PROF_ALLOCATIONS", "on"}});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const timeline data = only_capture();
    ASSERT_EQ(data.windows.size(), 2U);
    EXPECT_EQ(data.memory.size(), 2U * 4 * 2'000);
    const memory_device of = only_device(data);
    expect_conserved(of);
    EXPECT_EQ(sum_of_use(of, memory_use::lost, &memory_row::at_end), 0);
    EXPECT_THAT(result.err, HasSubstr("allocated " + std::to_string(of.end_allocated) + ' '));
}

// The process keeps no account of its own of what is alive: the records are all there is, and the reader has the sums.
TEST_F(TorchAllocator, AMillionLiveBlocksTakeNoMemoryOfTheProcess) {
    const auto most_kib = [&](const environment& e) {
        const process_result result = run("million", true, e);
        EXPECT_EQ(result.exit_code(), 3) << result.err;
        const std::size_t at = result.err.find("VmHWM:");
        EXPECT_NE(at, std::string::npos) << result.err;
        return at == std::string::npos ? 0 : std::stol(result.err.substr(at + 6));
    };
    const long without = most_kib({{"PROF_ALLOCATIONS", "off"}});
    constexpr long most = 64L * 1024;
    EXPECT_LE(most_kib({{"PROF_ALLOCATIONS", "on"}}), without + most);
    const environment flight{{"PROF_KEEP", "5s"}, {"PROF_ALLOCATIONS", "off"}};
    const long in_flight = most_kib(flight);
    EXPECT_LE(most_kib({{"PROF_KEEP", "5s"}, {"PROF_ALLOCATIONS", "on"}}), in_flight + most);
}

TEST_F(TorchAllocator, SizesThatFitIntoNoUnits) {
    EXPECT_EQ(same_with_and_without("wide", exited(3), {{"PROF_ALLOCATIONS", "on"}}), "");
    const std::vector<timeline> all = captured(2);
    for (const timeline& data : all) {
        const memory_summary found = measure_memory(data, attribute(data));
        const bool is_child = data.properties.contains("forked_from");
        ASSERT_EQ(found.devices.size(), is_child ? 1U : 2U);
        for (const memory_device& each : found.devices) expect_conserved(each);
        if (is_child) {
            EXPECT_EQ(found.devices[0].before, 512U);
            EXPECT_EQ(found.devices[0].end_allocated, 512 + mib);
        } else {
            EXPECT_EQ(found.devices[1].steps.front().peak, (std::uint64_t{5} << 40) + 512);
            EXPECT_EQ(found.devices[1].end_allocated, mib);
        }
    }
}

}  // namespace
}  // namespace prof::test
