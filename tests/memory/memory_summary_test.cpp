// SPDX-License-Identifier: Apache-2.0
// What held memory, on captures worked by hand.
#include "memory/memory_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/block_account.hpp"
#include "memory/simulated_allocator.hpp"
#include "record/label.hpp"

namespace prof::memory_summary_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

memory_summary measured(const timeline& data, const memory_options& options = {}) {
    return measure_memory(data, attribute(data), options);
}
memory_device only(const memory_summary& of) {
    EXPECT_EQ(of.devices.size(), 1U);
    return of.devices.empty() ? memory_device{} : of.devices.front();
}

// "activations forward 4000": the use, the path and the bytes of each row that has any.
std::vector<std::string> rows_of(const memory_device& of, std::int64_t memory_row::*bytes) {
    std::vector<std::string> out;
    for (const memory_row& row : of.rows) {
        if (row.*bytes == 0) continue;
        out.push_back(std::string(to_string(row.use)) + (row.path.empty() ? "" : " " + row.path) + ' ' +
                      std::to_string(row.*bytes / 1024));
    }
    std::sort(out.begin(), out.end());
    return out;
}

constexpr std::uint64_t kib = 1024;

// Steps of 1000 ns; forward until 300, backward until 600 on a thread of autograd's, optimizer until 900.
class training {
public:
    explicit training(bool is_late = false)
        : main(capture.thread("python")), autograd(capture.thread("pt_autograd_0")), domain_(capture.domain("prof")) {
        gpu.writes = !is_late;
        weight_ = gpu.take(main, 10, 100 * kib);
    }

    void step() {
        const std::uint64_t at = 1000 * ++count_;
        main.step(at, count_ - 1, domain_);
        main.push(at + 1, "forward").launch(at + 2, 10 * count_);
        capture.kernel(10 * count_, at + 3, at + 5);
        const std::uint64_t activation = gpu.take(main, at + 10, 40 * kib);
        gpu.free(main, at + 30, gpu.take(main, at + 20, 8 * kib));
        if (leaks) (void)gpu.take(main, at + 40, 2 * kib);
        main.pop(at + 300);
        main.push(at + 301, "backward");
        const std::uint64_t gradient = gpu.take(autograd, at + 310, 100 * kib);
        const std::uint64_t workspace = gpu.take(autograd, at + 320, 16 * kib);
        gpu.free(autograd, at + 330, workspace);
        gpu.free(autograd, at + 340, activation);
        main.pop(at + 600);
        main.push(at + 601, "optimizer");
        if (state_ == 0) state_ = gpu.take(main, at + 610, 200 * kib);
        gpu.free(main, at + 620, gradient);
        main.pop(at + 900);
    }
    void end() { main.step(1000 * (count_ + 1), count_, domain_); }

    capture_builder capture;
    thread_script& main;
    thread_script& autograd;
    simulated_allocator gpu;
    bool leaks = false;

private:
    std::uint16_t domain_;
    std::uint64_t count_ = 0;
    std::uint64_t weight_ = 0;
    std::uint64_t state_ = 0;
};

TEST(MemorySummary, SaysWhatHeldThePeak) {
    training program;
    for (int i = 0; i < 4; ++i) program.step();
    program.end();
    const memory_device of = only(measured(program.capture.build()));
    EXPECT_THAT(rows_of(of, &memory_row::at_peak),
                ElementsAre("activations forward 40", "gradients backward 100", "optimizer state optimizer 200",
                            "parameters 100", "workspace backward 16"));
    ASSERT_EQ(of.steps.size(), 3U) << "the first is the warm-up";
    const memory_step& step = of.steps[of.highest];
    EXPECT_EQ(step.peak, 456 * kib);
    EXPECT_EQ(step.peak_ns, 2320);
    EXPECT_EQ(step.peak_path, "backward");
    EXPECT_EQ(step.growth, 0);
    EXPECT_EQ(step.churn, 164 * kib);
    EXPECT_EQ(step.births, 4U);
    EXPECT_EQ(of.growth, 0);
    EXPECT_EQ(of.before, 0U);
    EXPECT_THAT(rows_of(of, &memory_row::at_end), ElementsAre("optimizer state optimizer 200", "parameters 100"));
}

TEST(MemorySummary, FindsWhatGrowsFromStepToStep) {
    training program;
    program.leaks = true;
    for (int i = 0; i < 9; ++i) program.step();
    program.end();
    const memory_device of = only(measured(program.capture.build()));
    EXPECT_EQ(of.growth, 2 * kib);
    EXPECT_EQ(of.steps.back().growth, static_cast<std::int64_t>(2 * kib));
    const auto grows =
        std::count_if(of.rows.begin(), of.rows.end(), [](const memory_row& row) { return row.growth > 0; });
    EXPECT_EQ(grows, 1);
    const auto row =
        std::find_if(of.rows.begin(), of.rows.end(), [](const memory_row& each) { return each.growth > 0; });
    EXPECT_EQ(row->path, "forward");
    EXPECT_EQ(row->use, memory_use::other);
}

// A block without a stack has the line of the latest one before it of its place and size.
TEST(MemorySummary, HasTheLinesThatAskedForBlocks) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    std::uint64_t at = 100;
    const auto take = [&](std::uint64_t bytes, std::uint32_t line) {
        at += 10;
        const std::uint64_t address = gpu.take(main, at, bytes);
        if (line == 0) return;
        main.add({.ticks = at,
                  .value = address,
                  .name = capture.name("forward\nmodel.py"),
                  .color = line,
                  .category = 1U << 16,
                  .kind = record_kind::code_line,
                  .flags = static_cast<std::uint8_t>(stack_role::birth)});
    };
    take(8 * kib, 0);  // before any is known: the first that is
    take(8 * kib, 7);
    take(8 * kib, 0);
    take(8 * kib, 9);
    take(8 * kib, 0);
    take(16 * kib, 0);  // of a size of its own: none
    gpu.fail(main, at + 10, 5);
    const memory_summary found = measured(capture.build());
    EXPECT_TRUE(found.has_lines);
    const memory_device of = only(found);
    ASSERT_EQ(of.lines.size(), 3U);
    const auto by_line = [&](const std::string& line) {
        return *std::find_if(of.lines.begin(), of.lines.end(),
                             [&](const memory_line& each) { return each.line == line; });
    };
    EXPECT_EQ(by_line("model.py:7").at_end, static_cast<std::int64_t>(24 * kib));
    EXPECT_EQ(by_line("model.py:7").known, 1U);
    EXPECT_EQ(by_line("model.py:7").code, "forward");
    EXPECT_EQ(by_line("model.py:9").at_end, static_cast<std::int64_t>(16 * kib));
    EXPECT_EQ(by_line("").at_end, static_cast<std::int64_t>(16 * kib));
    ASSERT_EQ(of.rows.size(), 1U);
    EXPECT_EQ(of.rows.front().line, "model.py:7") << "that with the most bytes";
    EXPECT_EQ(of.failures.front().line, "");
}

// At the peak, in the optimizer, there are no activations: what counts is each moment in which there are.
TEST(MemorySummary, TellsHowMuchLargerActivationsCouldBe) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    constexpr std::uint64_t mib = 1024 * kib;
    const std::uint16_t domain = capture.domain("prof");
    (void)gpu.take(main, 10, 1000 * mib);
    for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t at = 1000 * (i + 1);
        main.step(at, i, domain);
        main.push(at + 1, "forward");
        const std::uint64_t activation = gpu.take(main, at + 10, 100 * mib);
        main.pop(at + 30).push(at + 31, "backward");
        const std::uint64_t workspace = gpu.take(main, at + 40, 60 * mib);
        gpu.free(main, at + 50, workspace);
        const std::uint64_t gradient = gpu.take(main, at + 55, 1000 * mib);
        gpu.free(main, at + 60, activation);
        main.pop(at + 70).push(at + 71, "optimizer");
        gpu.free(main, at + 80, gpu.take(main, at + 75, 3000 * mib));
        gpu.free(main, at + 90, gradient);
        main.pop(at + 95);
    }
    main.step(5000, 4, domain);
    capture.h200();
    const memory_device of = only(measured(capture.build()));
    ASSERT_TRUE(of.limit && of.growth_room);
    EXPECT_EQ(of.steps[of.highest].peak, 5000 * mib);
    const auto room = static_cast<double>(*of.limit) / static_cast<double>(mib);
    // Beside the gradient there are 100 MiB of them; before it 160, with less beside.
    EXPECT_NEAR(*of.growth_room, std::min((room - 2000) / 100, (room - 1000) / 160), 1e-6);
}

// Where two lines ask for memory in one place, what grows has the line of what stays.
TEST(MemorySummary, GrowthHasTheLineOfWhatStays) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    const std::uint16_t domain = capture.domain("prof");
    const auto take = [&](std::uint64_t at, std::uint64_t bytes, std::uint32_t line) {
        const std::uint64_t address = gpu.take(main, at, bytes);
        main.add({.ticks = at,
                  .value = address,
                  .name = capture.name("train\ntrain.py"),
                  .color = line,
                  .category = 1U << 16,
                  .kind = record_kind::code_line,
                  .flags = static_cast<std::uint8_t>(stack_role::birth)});
        return address;
    };
    for (std::uint64_t i = 0; i < 9; ++i) {
        const std::uint64_t at = 1000 * (i + 1);
        main.step(at, i, domain);
        const std::uint64_t batch = take(at + 10, 64 * kib, 5);
        (void)take(at + 20, 2 * kib, 8);
        gpu.free(main, at + 30, batch);
    }
    main.step(10'000, 9, domain);
    const memory_device of = only(measured(capture.build()));
    EXPECT_EQ(of.growth, 2 * kib);
    const auto row =
        std::find_if(of.rows.begin(), of.rows.end(), [](const memory_row& each) { return each.growth > 0; });
    ASSERT_NE(row, of.rows.end());
    EXPECT_EQ(row->growth_line, "train.py:8");
}

// A cache that fills in the first steps, and blocks of the last ones, are no growth.
TEST(MemorySummary, WhatStaysOnceDoesNotGrow) {
    training program;
    for (int i = 0; i < 9; ++i) {
        program.leaks = i < 2 || i == 8;
        program.step();
    }
    program.end();
    EXPECT_EQ(only(measured(program.capture.build())).growth, 0);
}

TEST(MemorySummary, OfAnErrorHasWhatWasAliveThen) {
    training program;
    for (int i = 0; i < 3; ++i) program.step();
    program.main.push(4100, "forward");
    const std::uint64_t activation = program.gpu.take(program.main, 4110, 64 * kib);
    program.gpu.fail(program.main, 4120, 3'000'000'123);
    program.gpu.free(program.main, 4130, activation);
    program.main.pop(4140);
    const memory_device of = only(measured(program.capture.build()));
    ASSERT_EQ(of.failures.size(), 1U);
    EXPECT_EQ(of.failures.front().asked, 3'000'000'123U);
    EXPECT_EQ(of.failures.front().allocated, 364 * kib);
    EXPECT_EQ(of.failures.front().path, "forward");
    EXPECT_THAT(rows_of(of, &memory_row::at_failure),
                ElementsAre("optimizer state optimizer 200", "parameters 100", "workspace forward 64"));
}

TEST(MemorySummary, OfALateRecordingHasARowOfWhatWasThere) {
    training program(true);
    const std::uint64_t old = program.gpu.take(program.main, 20, 7 * kib);
    program.gpu.writes = true;
    capture_builder& capture = program.capture;
    program.step();
    program.step();
    program.gpu.free(program.main, 2950, old);
    program.step();
    program.end();
    const memory_device of = only(measured(capture.build()));
    EXPECT_THAT(rows_of(of, &memory_row::at_peak), testing::Contains("before the recording 107"));
    EXPECT_THAT(rows_of(of, &memory_row::at_end), testing::Contains("before the recording 100"));
    EXPECT_EQ(of.before, 107 * kib);
}

// Without its free, the block is alive until its address is given out again; the difference has a row.
TEST(MemorySummary, OfLostRecordsHasARow) {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    simulated_allocator gpu;
    const std::uint64_t first = gpu.take(main, 10, 4 * kib);
    gpu.writes = false;
    gpu.free(main, 20, first);
    gpu.writes = true;
    (void)gpu.take(main, 30, 2 * kib);
    const timeline data = capture.build();
    const memory_device of = only(measured(data));
    EXPECT_FALSE(of.has_steps);
    EXPECT_THAT(rows_of(of, &memory_row::at_end), ElementsAre("lost records -4", "other 6"));
    gpu.take_at(main, 40, first, 8 * kib);
    const memory_summary again = measured(capture.build());
    EXPECT_EQ(again.doubtful, 1U);
    EXPECT_THAT(rows_of(only(again), &memory_row::at_end), ElementsAre("other 10"));
}

// Two threads within the clock's uncertainty: the totals say which came first.
TEST(MemorySummary, NeighboursAreInTheOrderOfTheTotals) {
    capture_builder capture;
    thread_script& one = capture.thread("one");
    thread_script& two = capture.thread("two");
    simulated_allocator gpu;
    const std::uint64_t block = gpu.take(one, 10, 4 * kib);
    gpu.free(one, 1001, block);  // under the lock, but read the clock later
    gpu.take_at(two, 1000, block, 6 * kib);
    const timeline data = capture.build();
    ASSERT_EQ(data.memory.size(), 3U);
    EXPECT_EQ(data.memory[1].kind, memory_kind::freed);
    EXPECT_LE(data.memory[1].time_ns, data.memory[2].time_ns);
    EXPECT_EQ(measured(data).doubtful, 0U);
    EXPECT_EQ(only(measured(data)).end_allocated, 6 * kib);
}

TEST(MemorySummary, CountsRetries) {
    training program;
    program.step();
    program.step();
    const auto call = [&](std::uint64_t ns, std::uint32_t cbid) {
        program.main.call(ns, ns + 1, ns, {api_domain::driver, cbid, api_class::blocking_allocation});
    };
    // In the second step an allocation, as always; then one that fails, and is repeated after a free.
    call(2910, 1);
    (void)program.gpu.take(program.main, 2915, kib);
    call(2920, 1);
    call(2925, 2);
    call(2930, 1);
    (void)program.gpu.take(program.main, 2935, kib);
    program.end();
    memory_options options;
    options.call_kind = [](const timeline_api_call& each) {
        return each.cbid == 1 ? memory_call::allocates : each.cbid == 2 ? memory_call::frees : memory_call::other;
    };
    EXPECT_EQ(only(measured(program.capture.build(), options)).retries, 1U);
    EXPECT_EQ(only(measured(program.capture.build())).retries, 0U);
}

TEST(MemorySummary, TheTraceHasSeries) {
    training program;
    program.step();
    program.end();
    const timeline data = program.capture.build();
    ASSERT_EQ(data.series.size(), 2U);
    EXPECT_EQ(data.series[0].name, "allocated");
    EXPECT_EQ(data.series[0].source, series_source::memory);
    EXPECT_EQ(data.series[0].device, 0U);
    ASSERT_EQ(data.series[0].samples.size(), data.memory.size());
    EXPECT_EQ(data.series[0].samples.front().value, 100 * kib);
    EXPECT_EQ(data.series[1].name, "reserved");
    // The most of it: weight, gradient and state together.
    EXPECT_EQ(data.series[1].samples.back().value, 400 * kib);
}

TEST(MemorySummary, OfACaptureWithoutAllocationsIsEmpty) {
    capture_builder capture;
    capture.thread("python").push(10, "forward").pop(20);
    const timeline data = capture.build();
    EXPECT_THAT(measured(data).devices, IsEmpty());
    EXPECT_THAT(data.series, IsEmpty());
}

// --- the uses -------------------------------------------------------------------------------------------------------

struct use_case {
    const char* what;
    block_life_facts of;
    memory_use use;
};

TEST(MemoryUse, FollowsFromBirthAndEnd) {
    using enum phase_role;
    const std::vector<use_case> cases = {
        {"a weight", {.birth = {-1, other}}, memory_use::parameters},
        {"a weight made in startup", {.birth = {-1, startup}}, memory_use::parameters},
        {"initialisation", {.birth = {-1, startup}, .end = {-1, startup}, .has_ended = true}, memory_use::other},
        {"the first batch", {.birth = {-1, other}, .end = {0, forward}, .has_ended = true}, memory_use::other},
        {"saved for backward",
         {.birth = {3, forward}, .end = {3, backward}, .has_ended = true},
         memory_use::activations},
        {"the output", {.birth = {3, forward}, .end = {4, forward}, .has_ended = true}, memory_use::activations},
        {"of the last step", {.birth = {9, forward}, .was_last_step = true}, memory_use::activations},
        {"kept for long", {.birth = {3, forward}, .end = {8, forward}, .has_ended = true}, memory_use::other},
        {"temporary", {.birth = {3, forward}, .end = {3, forward}, .has_ended = true}, memory_use::workspace},
        {"a leak", {.birth = {9, forward}, .was_last_step = true, .grows = true}, memory_use::other},
        {"a gradient", {.birth = {3, backward}, .end = {4, other}, .has_ended = true}, memory_use::gradients},
        {"a gradient that is kept", {.birth = {0, backward}}, memory_use::gradients},
        {"within backward", {.birth = {3, backward}, .end = {3, backward}, .has_ended = true}, memory_use::workspace},
        {"momentum", {.birth = {0, optimizer}}, memory_use::optimizer_state},
        {"an update", {.birth = {3, optimizer}, .end = {3, optimizer}, .has_ended = true}, memory_use::workspace},
        {"a batch", {.birth = {3, other}, .end = {4, other}, .has_ended = true}, memory_use::other},
    };
    for (const use_case& each : cases) EXPECT_EQ(use_of(each.of), each.use) << each.what;
}

// --- records --------------------------------------------------------------------------------------------------------

TEST(MemoryRecords, HoldWhatTheyAreGiven) {
    for (const std::uint64_t bytes :
         {std::uint64_t{512}, std::uint64_t{513}, (std::uint64_t{1} << 41) - 512, std::uint64_t{1} << 41, UINT64_MAX}) {
        for (const bool is_freed : {false, true}) {
            const memory_change change{0x7F12'3456'7890, bytes, 1024, 2048, is_freed};
            record r;
            pack(r, change);
            const memory_change back = unpacked(r);
            EXPECT_EQ(back.address, change.address);
            EXPECT_EQ(back.bytes, bytes);
            EXPECT_EQ(back.is_freed, is_freed);
            const bool is_short = bytes % 512 == 0 && bytes / 512 <= UINT32_MAX;
            EXPECT_EQ((r.flags & memory_totals_follow) != 0, !is_short);
            EXPECT_EQ(back.allocated, is_short ? 1024U : 0U);
            EXPECT_EQ(back.reserved, is_short ? 2048U : 0U);
        }
    }
}

}  // namespace
}  // namespace prof::memory_summary_test
