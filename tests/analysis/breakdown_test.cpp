// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/step_breakdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::breakdown_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr cuda_function synchronize{api_domain::runtime, 165, api_class::wait};
constexpr cuda_function copy_and_wait{api_domain::runtime, 31, api_class::blocking_launch};
constexpr cuda_function copy_async{api_domain::runtime, 41, api_class::launch};
constexpr cuda_function allocate{api_domain::runtime, 20, api_class::blocking_allocation};

struct Breakdown : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    thread_script& main = capture.thread("python");

    void mark_step(std::uint64_t ns, std::uint64_t number) { main.step(ns, number, own); }
    void copy(std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns, std::uint8_t source_kind) {
        transfer_record t = transfer_between(transfer_kind::memcpy, start_ns, end_ns, correlation, 64, {});
        t.copy_kind = 1;
        t.source_kind = source_kind;
        t.destination_kind = 3;
        capture.transfer(t);
    }
    std::optional<step_breakdown> made() const {
        const timeline data = capture.build();
        return break_down(data, attribute(data));
    }
    // "idle, host code, forward: 12": total times.
    static std::vector<std::string> rows_of(const step_breakdown& of) {
        std::vector<std::string> out;
        for (const breakdown_row& row : of.rows) {
            std::string text(to_string(row.use));
            if (row.use == time_use::idle) text += ", " + std::string(to_string(row.cause));
            if (!row.part.empty()) text += ", " + row.part;
            text += ": " + std::to_string(row.total_ns);
            if (row.overlapped_ns != 0) text += " beside " + std::to_string(row.overlapped_ns);
            out.push_back(text);
        }
        std::sort(out.begin(), out.end());
        return out;
    }
};

TEST_F(Breakdown, NeedsGpuWork) {
    main.push(0, "forward").pop(10);
    EXPECT_FALSE(made());
}

// One step, [1 ms, 2 ms), in which two kernels, a communication and a copy overlap: times in microseconds
//   compute    100–200 (forward), 150–300 (backward)
//   NCCL       250–400
//   copy       390–500
TEST_F(Breakdown, CountsEachInstantOnce) {
    mark_step(1'000'000, 1);
    main.push(1'001'000, "forward", phases).launch(1'002'000, 1).pop(1'003'000, phases);
    main.push(1'004'000, "backward", phases).launch(1'005'000, 2).launch(1'006'000, 3, "ncclDevKernel_AllReduce");
    main.pop(1'007'000, phases).call(1'008'000, 1'009'000, 4, copy_async);
    mark_step(2'000'000, 2);
    capture.kernel(1, 1'100'000, 1'200'000).kernel(2, 1'150'000, 1'300'000, {.stream = 8});
    capture.kernel(3, 1'250'000, 1'400'000, {.stream = 9}, "ncclDevKernel_AllReduce");
    copy(4, 1'390'000, 1'500'000, 2);
    const auto of = made();
    ASSERT_TRUE(of);
    EXPECT_EQ(of->steps, 1U);
    EXPECT_EQ(of->wall_ns, 1'000'000);
    // Before the first kernel: 1 µs outside ranges, 1 in forward, 1 ns in the call, the rest without a known reason.
    EXPECT_THAT(rows_of(*of),
                ElementsAre("communication, backward: 100000 beside 50000", "compute, backward: 100000",
                            "compute, forward: 100000", "copies, Memcpy HtoD (Pinned -> Device): 100000 beside 10000",
                            "idle, host code, forward: 1000", "idle, host code: 501000",
                            "idle, launched, not started: 97999", "idle, launching, forward: 1"));
    EXPECT_EQ(of->total_of(time_use::idle), 600'000);
}

// Two steps of 10 ms. In each the GPU is idle for 6 ms of 8 ms of host code, of which the thread was looked at 16
// times.
TEST_F(Breakdown, SaysWhatTheThreadDidInHostCode) {
    constexpr std::uint64_t ms = 1'000'000;
    const auto account = [&](std::uint64_t ns, std::uint64_t correlation, std::uint32_t looks, std::uint32_t ran) {
        main.add({.ticks = ns,
                  .value = correlation,
                  .name = capture.name("reading a pipe"),
                  .color = ran,
                  .category = looks,
                  .kind = record_kind::thread_time});
    };
    for (const std::uint64_t step : {1U, 2U}) {
        const std::uint64_t at = step * 10 * ms;
        mark_step(at, step);
        main.push(at, "forward", phases).launch(at, 2 * step);
        capture.kernel(2 * step, at + 10'000, at + 2 * ms);
        account(at + 8 * ms, 2 * step + 1, 16, UINT16_MAX / 4);
        main.launch(at + 8 * ms, 2 * step + 1).pop(at + 8 * ms + 2, phases);
        capture.kernel(2 * step + 1, at + 8 * ms + 10'000, at + 10 * ms);
    }
    mark_step(30 * ms, 3);
    const auto of = made();
    ASSERT_TRUE(of);
    std::size_t known = 0;
    for (const breakdown_row& row : of->rows) {
        if (!row.did.is_known()) continue;
        ++known;
        EXPECT_EQ(row.cause, idle_cause::host_code);
        EXPECT_EQ(row.part, "forward");
        EXPECT_EQ(row.total_ns, 12 * ms);
        EXPECT_NEAR(row.did.ran, 0.25, 1e-4);
        EXPECT_NEAR(row.did.blocked, 0.75, 1e-4);
        EXPECT_EQ(shares_text(row.did), "ran for 25 % of it, was blocked for 75 % (reading a pipe)");
    }
    EXPECT_EQ(known, 1U);
    EXPECT_NEAR(of->did.blocked, 0.75, 1e-4);
}

// A step of 10 ms; each gap has the causes in its comment.
TEST_F(Breakdown, GivesEachMicrosecondOfIdleTimeItsCause) {
    const auto us = [](std::uint64_t of) { return of * 1'000; };
    mark_step(us(10'000), 1);
    // 10000–10510: data 300, outside ranges 100, forward 100, in the launch 10, latency 10 at 10520.
    main.push(us(10'000), "data", phases).pop(us(10'300), phases);
    main.push(us(10'400), "forward", phases).push(us(10'450), "layer 1").call(us(10'500), us(10'510), 1, {}, "kernel");
    capture.kernel(1, us(10'520), us(10'600));
    // 10600–10700: synchronized until 10640, which drained the queue; the next launch, 60 later, is one of many.
    main.call(us(10'520), us(10'640), 2, synchronize).call(us(10'695), us(10'700), 3, {}, "kernel");
    capture.kernel(3, us(10'700), us(10'800));
    main.pop(us(10'801)).pop(us(10'801), phases);
    // 10800–11800: allocation of 500, a pageable copy whose call begins 400 earlier, 60 in host code outside ranges.
    main.call(us(10'860), us(11'360), 4, allocate).call(us(11'400), us(11'900), 5, copy_async);
    copy(5, us(11'800), us(11'900), 1);
    // 11900–12400: a copy that blocks, from pinned memory.
    main.call(us(11'900), us(12'450), 6, copy_and_wait);
    copy(6, us(12'400), us(12'450), 2);
    // 12450–12490: two queued kernels with a gap of 40; then nothing until the step ends.
    main.launch(us(12'450), 7).launch(us(12'451), 8);
    capture.kernel(7, us(12'460), us(12'470)).kernel(8, us(12'510), us(12'520));
    mark_step(us(20'000), 2);
    const auto of = made();
    ASSERT_TRUE(of);
    std::map<std::string, std::int64_t> idle;
    std::int64_t after_wait_ns = 0;
    for (const breakdown_row& row : of->rows) {
        if (row.use != time_use::idle) continue;
        idle[std::string(to_string(row.cause)) + '|' + row.part] += row.total_ns;
        after_wait_ns += row.after_wait_ns;
    }
    const std::map<std::string, std::int64_t> expected = {
        {"data loader|", 300'000},
        {"host code|", 100'000 + 7'480'000},
        {"host code|forward", 50'000},
        {"host code|forward/layer #", 50'000},
        {"launching|forward/layer #", 10'000 + 55'000 + 5'000},
        {"waiting|forward/layer #", 40'000},
        // 10'800 to 10'860 after a launch that ended at 10'700, and 11'360 to 11'400.
        {"allocating|", 500'000},
        {"pageable copy|", 400'000},
        {"blocking copy|", 500'000},
        {"launch latency|", 10'000 + (10'000 - 1)},
        {"kernel to kernel|", 40'000},
    };
    auto all = expected;
    all["host code|forward/layer #"] += 1'000;  // until the ranges end: the next call is 160 away
    all["host code|"] += 59'000;
    all["launching|"] = 40'000 + 1;  // between two calls, and in the launch of kernel 7
    EXPECT_EQ(idle, all);
    EXPECT_EQ(after_wait_ns, 100'000);
}

// The autograd thread has no range of its own: until `backward` begins, the trainer was at work.
TEST_F(Breakdown, FollowsAutogradsThreadToItsTrainer) {
    thread_script& autograd = capture.thread("pt_autograd_0");
    mark_step(1'000'000, 1);
    main.push(1'000'000, "forward", phases).launch(1'000'001, 1).pop(1'200'000, phases);
    main.wait(1'250'000, 1'300'000, 50).push(1'400'000, "backward", phases);
    autograd.launch(1'600'000, 2);
    main.pop(1'700'000, phases);
    mark_step(2'000'000, 2);
    capture.kernel(1, 1'000'010, 1'100'000).kernel(2, 1'600'010, 2'000'000);
    const auto of = made();
    ASSERT_TRUE(of);
    std::vector<std::string> rows = rows_of(*of);
    EXPECT_THAT(rows,
                ElementsAre("compute, backward: 399990", "compute, forward: 99990", "idle, host code, backward: 200000",
                            "idle, host code, forward: 100001", "idle, host code: 150000", "idle, launch latency: 17",
                            "idle, launching, backward: 1", "idle, launching, forward: 1", "idle, waiting: 50000"))
        << testing::PrintToString(rows);
}

// A range of the program around a step's phases is no place, and one around a single phase is.
TEST_F(Breakdown, PlacesAreWithoutTheProgramsRangeAroundPhases) {
    mark_step(1'000'000, 1);
    main.push(1'000'000, "iteration 7").push(1'000'000, "forward", phases).launch(1'000'001, 1).pop(1'200'000, phases);
    main.push(1'400'000, "mine").push(1'400'000, "optimizer", phases).launch(1'600'000, 2).pop(1'700'000, phases);
    main.pop(1'700'000).push(1'700'000, "backward", phases).pop(1'700'001, phases).pop(1'800'000);
    main.push(1'800'000, "outer").push(1'800'000, "zero_grad", phases).launch(1'900'000, 3).pop(1'900'001, phases);
    main.pop(1'900'001);
    mark_step(2'000'000, 2);
    capture.kernel(1, 1'000'010, 1'100'000).kernel(2, 1'600'010, 1'800'000).kernel(3, 1'900'010, 2'000'000);
    const auto of = made();
    ASSERT_TRUE(of);
    std::vector<std::string> host;
    for (const std::string& row : rows_of(*of)) {
        if (row.starts_with("idle, host code")) host.push_back(row);
    }
    // In forward 1 ns before its launch, too; from 1.2 ms to 1.4 ms in "iteration 7" alone.
    EXPECT_THAT(host, ElementsAre("idle, host code, forward: 100001", "idle, host code, mine/optimizer: 200000",
                                  "idle, host code, outer/zero_grad: 100000", "idle, host code: 200000"))
        << testing::PrintToString(host);
}

// The program's own ranges around phases may be nested.
TEST_F(Breakdown, PlacesAreWithoutTheProgramsRangesAroundItsRangesAroundPhases) {
    mark_step(1'000'000, 1);
    main.push(1'000'000, "iteration 7").push(1'000'000, "forward").push(1'000'000, "forward", phases);
    main.launch(1'200'000, 1).pop(1'200'010, phases).pop(1'200'020);
    main.push(1'200'020, "mine").push(1'200'020, "backward", phases).launch(1'400'000, 2).pop(1'400'010, phases);
    main.pop(1'400'020).pop(1'500'000);
    mark_step(2'000'000, 2);
    capture.kernel(1, 1'200'010, 1'300'000).kernel(2, 1'400'010, 1'900'000);
    const auto of = made();
    ASSERT_TRUE(of);
    std::vector<std::string> host;
    for (const std::string& row : rows_of(*of)) {
        if (row.starts_with("idle, host code, ")) host.push_back(row);
    }
    EXPECT_THAT(host, ElementsAre("idle, host code, forward: 200000", "idle, host code, mine/backward: 100000"))
        << testing::PrintToString(host);
}

// Ten stretches of 150 us a step between two launches are what launching costs; one of 2 ms is not.
TEST_F(Breakdown, ScatteredCodeIsLaunching) {
    std::uint64_t at = 1'000'000;
    std::uint64_t correlation = 0;
    const auto launch = [&] {
        main.launch(at, ++correlation);
        capture.kernel(correlation, at + 10, at + 20);
    };
    for (std::uint64_t step = 1; step <= 4; ++step) {
        mark_step(at, step);
        main.push(at, "forward", phases);
        for (int i = 0; i < 10; ++i, at += 150'000) launch();
        main.pop(at - 149'900, phases);
        main.push(at - 149'900, "optimizer", phases);
        at += 2'000'000;
        launch();
        main.pop(at + 100, phases);
        at += 1'000;
    }
    mark_step(at, 5);
    const auto of = made();
    ASSERT_TRUE(of);
    std::int64_t launching_ns = 0;
    for (const breakdown_row& row : of->rows) {
        if (row.use != time_use::idle) continue;
        const bool is_launching = row.cause == idle_cause::launching;
        if (row.part == "forward" && is_launching) launching_ns += row.total_ns;
        // From the last launch of forward to the one of the optimizer it is a long stretch, of which 100 ns are here.
        EXPECT_FALSE(row.part == "forward" && row.cause == idle_cause::host_code && row.total_ns > 4 * 100);
        EXPECT_FALSE(row.part == "optimizer" && is_launching && row.total_ns > 100'000);
    }
    EXPECT_GT(launching_ns, 4 * 9 * 140'000);
}

// Steps of 10 ms with 1 ms of GPU work each, which the host launched in 0.1 ms a step.
TEST_F(Breakdown, TakesTheGpusStepsIfTheHostRanAhead) {
    for (std::uint64_t i = 0; i < 10; ++i) {
        mark_step(1'000'000 + i * 100'000, i + 1);
        main.launch(1'000'010 + i * 100'000, i + 1);
        capture.kernel(i + 1, 2'000'000 + i * 10'000'000, 2'000'000 + i * 10'000'000 + 9'000'000);
    }
    mark_step(2'000'000, 11);
    const auto of = made();
    ASSERT_TRUE(of);
    EXPECT_TRUE(of->by_gpu);
    EXPECT_EQ(of->step_median_ns, 10'000'000);
    EXPECT_EQ(of->total_of(time_use::compute), 90'000'000);
}

// The parts of a step on the GPU are by the ranges at the launch, although the GPU's steps begin later than these.
TEST_F(Breakdown, OfTheGpusStepsHasThePartsOfTheLaunches) {
    std::uint64_t gpu_ns = 1'000'000;
    for (std::uint64_t i = 0; i < 10; ++i) {
        const std::uint64_t at = 900'000 + i * 2'000'000;
        main.push(at, "iteration " + std::to_string(i));
        for (std::uint64_t k = 0; k < 4; ++k) {
            main.push(at + 10 + k * 500'000, k < 3 ? "forward" : "backward");
            main.launch(at + 20 + k * 500'000, 1 + 4 * i + k).pop(at + 400'000 + k * 500'000);
            capture.kernel(1 + 4 * i + k, gpu_ns, gpu_ns + 999'000);
            gpu_ns += 1'000'000;
        }
        main.pop(at + 1'999'000);
    }
    const auto of = made();
    ASSERT_TRUE(of);
    ASSERT_TRUE(of->by_gpu);
    const auto steps = static_cast<std::int64_t>(of->steps);
    EXPECT_THAT(rows_of(*of), testing::IsSupersetOf({"compute, forward: " + std::to_string(steps * 3 * 999'000),
                                                     "compute, backward: " + std::to_string(steps * 999'000)}));
    EXPECT_EQ(of->total_of(time_use::compute), steps * 4 * 999'000);
}

// From the call that begins it to the last one that is captured.
TEST_F(Breakdown, NamesTheCaptureOfAGraph) {
    main.launch(0, 1).begin_capture(1'000'000, 2);
    for (std::uint64_t i = 0; i < 10; ++i) {
        const std::uint64_t at = 1'100'000 + i * 200'000;
        main.enter(at, 10 + i, "kernel").node(at + 10, (1ULL << 32) + i).exit(at + 1'000, 10 + i);
    }
    main.launch(5'000'000, 3);
    capture.kernel(1, 100, 1'000'000).kernel(3, 5'000'100, 5'001'000);
    const auto of = made();
    ASSERT_TRUE(of);
    std::int64_t capturing_ns = 0;
    for (const breakdown_row& row : of->rows) {
        if (row.use == time_use::idle && row.cause == idle_cause::capturing) capturing_ns += row.total_ns;
    }
    EXPECT_EQ(capturing_ns, 1'100'000 + 9 * 200'000 + 1'000 - 1'000'000);
}

TEST_F(Breakdown, NamesSlowSteps) {
    std::uint64_t at = 1'000'000;
    for (std::uint64_t i = 1; i <= 20; ++i) {
        mark_step(at, i);
        main.push(at + 10, "data", phases).pop(at + (i == 7 ? 6'000'000 : 1'000'000), phases);
        at += i == 7 ? 7'000'000 : 2'000'000;
        main.launch(at - 500'000, i);
        capture.kernel(i, at - 490'000, at - 100'000);
    }
    mark_step(at, 21);
    const auto of = made();
    ASSERT_TRUE(of);
    ASSERT_EQ(of->slow_count, 1U);
    EXPECT_EQ(of->slow.front().number, 7U);
    EXPECT_EQ(of->slow.front().length_ns, 7'000'000);
    EXPECT_EQ(of->slow.front().excess_ns, 5'000'000);
    EXPECT_EQ(of->rows[of->slow.front().row].cause, idle_cause::loader);
}

TEST_F(Breakdown, OfACaptureWithoutStepsIsOfItsWindows) {
    main.push(5, "once").launch(10, 1).pop(20);
    capture.kernel(1, 12, 30);
    const auto of = made();
    ASSERT_TRUE(of);
    EXPECT_FALSE(of->has_steps);
    std::int64_t sum_ns = 0;
    for (const breakdown_row& row : of->rows) sum_ns += row.total_ns;
    EXPECT_EQ(sum_ns, of->wall_ns);
    EXPECT_EQ(of->total_of(time_use::compute), 18);
}

// Every nanosecond of random programs is judged by itself.
TEST(BreakdownOracle, AgreesOnEachNanosecond) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        thread_script& main = capture.thread("python");
        struct work {
            std::int64_t called, returned, start, end;
            std::uint32_t device;
            int use;
        };
        std::vector<work> all;
        std::uint64_t now = 100;
        std::uint64_t number = 1;
        for (int i = 0; i < 40; ++i) {
            now += 1 + below(60);
            if (below(5) == 0) {
                main.step(now, number++, own);
                continue;
            }
            const auto correlation = static_cast<std::uint64_t>(i) + 1;
            const std::uint64_t length = 1 + below(20);
            const int use = static_cast<int>(below(3));
            const placement on{.stream = 7 + below(3), .device = below(2)};
            const std::uint64_t start = now + below(100);
            const std::uint64_t end = start + below(120);
            main.call(now, now + length, correlation, copy_async, use == 2 ? "" : "kernel");
            if (use == 2) {
                capture.transfer(transfer_between(transfer_kind::memset, start, end, correlation, 4, on));
            } else {
                capture.kernel(correlation, start, end, on, use == 1 ? "ncclKernel_AllReduce" : "gemm");
            }
            all.push_back({static_cast<std::int64_t>(now), static_cast<std::int64_t>(now + length),
                           static_cast<std::int64_t>(start), static_cast<std::int64_t>(end), on.device, use});
            now += length;
        }
        const timeline data = capture.build();
        const auto of = break_down(data, attribute(data));
        if (!of || !of->has_steps) continue;
        // Uses 0 to 2; 3: not launched yet; 4: launched; 5: nothing follows.
        std::map<int, std::int64_t> expected;
        std::set<std::uint32_t> devices;
        for (const work& w : all) devices.insert(w.device);
        // Where steps lie in time is for tests/analysis/step_times_test.cpp. Warm-up may be left out.
        whole_steps steps = find_whole_steps(data, attribute(data));
        leave_out_warm_up(steps);
        const std::int64_t first = steps.steps.front().from_ns();
        const std::int64_t last = steps.steps.back().to_ns();
        ASSERT_EQ(of->wall_ns, (last - first) * static_cast<std::int64_t>(devices.size())) << seed;
        for (const std::uint32_t device : devices) {
            for (std::int64_t t = first; t < last; ++t) {
                int use = 3;
                const work* next = nullptr;
                for (const work& w : all) {
                    if (w.device != device) continue;
                    if (w.start <= t && t < w.end) use = std::min(use, w.use);
                    if (w.start <= t) continue;
                    // Of those that begin at one time, the one that ends first.
                    const bool is_first =
                        next == nullptr || std::pair(w.start, w.end) < std::pair(next->start, next->end);
                    if (is_first) next = &w;
                }
                if (use == 3) use = next == nullptr ? 5 : t < std::min(next->returned, next->start) ? 3 : 4;
                ++expected[use];
            }
        }
        std::map<int, std::int64_t> found;
        std::int64_t sum_ns = 0;
        for (const breakdown_row& row : of->rows) {
            sum_ns += row.total_ns;
            if (row.use != time_use::idle) {
                found[static_cast<int>(row.use)] += row.total_ns;
            } else {
                const bool is_launched = row.cause == idle_cause::latency || group_of(row.cause) != idle_group::starved;
                found[is_launched ? 4 : 3] += row.total_ns;
            }
        }
        ASSERT_EQ(sum_ns, of->wall_ns) << seed;
        for (const int use : {0, 1, 2, 4}) ASSERT_EQ(found[use], expected[use]) << "seed " << seed << " use " << use;
        ASSERT_EQ(found[3], expected[3] + expected[5]) << seed;
    }
}

}  // namespace
}  // namespace prof::breakdown_test
