// SPDX-License-Identifier: Apache-2.0
// The reports named after HTA's functions, worked by hand; tests/golden/hta_equal_test.py compares them with HTA.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/hta/kernel_type.hpp"
#include "analysis/tables.hpp"
#include "report/makers.hpp"
#include "support/capture_builder.hpp"

namespace prof::hta_reports_test {
namespace {

using lines = std::vector<std::string>;

std::string name_of_call(const timeline_api_call& call) {
    return call.cbid == 311 ? "cudaGraphLaunch" : call.cbid == 211 ? "cudaLaunchKernel" : "other";
}

constexpr cuda_function cuda_launch_kernel{api_domain::runtime, 211};
constexpr cuda_function cuda_graph_launch{api_domain::runtime, 311};

struct HtaReports : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    std::uint64_t next = 0;

    // A call from `at` to `at + 10`, and its kernel.
    void run(std::uint64_t at, std::uint64_t start, std::uint64_t end, const placement& on = {},
             const char* name = "kernel_a") {
        main.call(at, at + 10, ++next, cuda_launch_kernel, name);
        capture.kernel(next, start, end, on, name);
    }
    lines rows(table (*make)(const report_input&), const lines& columns) {
        return rows_of(make({.data = capture.build(), .call_name = name_of_call}), columns);
    }
};

// [100, 200) computes, [150, 300) communicates, [400, 500) computes: 100 idle, 50 overlapped.
TEST_F(HtaReports, EveryInstantIsInOneState) {
    run(0, 100, 200);
    run(20, 150, 300, {.stream = 20}, "ncclDevKernel_AllReduce");
    run(30, 400, 500);
    EXPECT_EQ(rows(temporal_breakdown_report, {"scope", "kernel_time_ns", "idle_ns", "compute_ns", "non_compute_ns",
                                               "exposed_communication_ns", "exposed_memory_ns"}),
              (lines{"all 400 100 200 100 100 0", "hta 400 100 200 100 100 0"}));
    EXPECT_EQ(rows(comm_comp_overlap_report, {"scope", "communication_ns", "overlap_ns", "exposed_ns"}),
              (lines{"all 150 50 100", "hta 150 50 100"}));
    EXPECT_EQ(rows(gpu_kernel_types_report, {"scope", "with_memory", "kernel_type", "sum_ns"})[0],
              "all 1 COMPUTATION 150");
}

TEST_F(HtaReports, GpusAreApartAndForHtaOne) {
    run(0, 100, 200);
    run(20, 300, 400, {.device = 1});
    EXPECT_EQ(rows(temporal_breakdown_report, {"scope", "device", "kernel_time_ns", "idle_ns"}),
              (lines{"all 0 100 0", "all 1 100 0", "hta  300 100"}));
}

TEST_F(HtaReports, WordsInNamesMakeNoOtherWork) {
    run(0, 100, 200, {}, "batch_norm_SyncKernel");
    EXPECT_EQ(rows(temporal_breakdown_report, {"scope", "compute_ns", "non_compute_ns"}),
              (lines{"all 100 0", "hta 0 100"}));
    EXPECT_EQ(hta_kernel_type("void ncclKernel_x()"), kernel_type::communication);
    EXPECT_EQ(hta_kernel_type("ncclSymk"), kernel_type::communication);
    EXPECT_EQ(hta_kernel_type("Memset (Device)"), kernel_type::memory);
    EXPECT_EQ(hta_kernel_type("grid_dma_load"), kernel_type::other);
    EXPECT_EQ(hta_kernel_type("gemm"), kernel_type::computation);
}

// The gaps: 20 us with its launch after the end; 4 us, 20 us and 40 us with theirs before.
TEST_F(HtaReports, GapsWaitForTheHostOrTheKernelBefore) {
    constexpr std::uint64_t us = 1000;
    run(0, 1 * us, 10 * us);
    run(11 * us, 30 * us, 40 * us);
    run(11 * us + 20, 44 * us, 50 * us);
    run(11 * us + 40, 70 * us, 80 * us);
    run(11 * us + 60, 120 * us, 130 * us);
    EXPECT_EQ(rows(idle_time_breakdown_report, {"scope", "category", "idle_ns", "gaps"}),
              (lines{"all host_wait 20000 1", "all kernel_wait 4000 1", "all other 60000 2", "hta host_wait 20000 1",
                     "hta kernel_wait 24000 2", "hta other 40000 1"}));
}

// HTA leaves out what was launched after the last step had begun, which it has for HTA only when its first kernel runs:
// at 400.
TEST_F(HtaReports, HtaLeavesOutTheLastStep) {
    main.push(0, "ProfilerStep#1");
    run(10, 100, 200);
    main.pop(90).push(290, "ProfilerStep#2");
    run(300, 400, 500);
    run(420, 600, 700);
    main.pop(450);
    EXPECT_EQ(rows(temporal_breakdown_report, {"scope", "kernel_time_ns", "compute_ns"}),
              (lines{"all 600 300", "hta 400 200"}));
}

// A graph's launch at 0 puts both of its kernels in the queue; HTA knows no graphs.
TEST_F(HtaReports, GraphsAreQueuedAndLaunched) {
    main.call(0, 10, 1, cuda_graph_launch);
    capture.kernel(1, 100, 200, {.graph_node = 5, .graph = 3}, "a");
    capture.kernel(1, 300, 350, {.graph_node = 6, .graph = 3}, "b");
    EXPECT_EQ(rows(queue_length_report, {"scope", "count", "max", "span_ns", "empty_ns", "mean_over_time"}),
              (lines{"all 4 2 300 0 1.33333"}));
    EXPECT_EQ(rows(cuda_kernel_launch_stats_report,
                   {"scope", "with_memory", "launches", "gpu_duration_sum_ns", "launch_delay_median_ns"}),
              (lines{"all 1 1 150 90", "all 0 1 150 90"}));
}

TEST_F(HtaReports, ShortKernelsAreShorterThanTheirCall) {
    run(0, 100, 105);
    run(20, 200, 300);
    EXPECT_EQ(rows(cuda_kernel_launch_stats_report,
                   {"scope", "launches", "short_kernels", "short_share", "launch_delay_min_ns", "launch_delay_max_ns"}),
              (lines{"all 2 1 0.5 90 170", "all 2 1 0.5 90 170", "hta 2 1 0.5 90 170", "hta 2 1 0.5 90 170"}));
    EXPECT_EQ(
        rows(cuda_kernel_launches_report, {"correlation", "cpu_duration_ns", "gpu_duration_ns", "in_hta", "name"}),
        (lines{"1 10 5 1 kernel_a", "2 10 100 1 kernel_a"}));
}

// 1000 bytes in 100 ns and 3000 in 100 ns, half of it at once: 10, then 40, then 30 GB/s.
TEST_F(HtaReports, RatesAddUpWhileCopiesRunAtOnce) {
    capture.transfer(transfer_between(transfer_kind::memcpy, 100, 200, 1, 1000, {.stream = 1}));
    capture.transfer(transfer_between(transfer_kind::memcpy, 150, 250, 2, 3000, {.stream = 2}));
    EXPECT_EQ(rows(memory_bandwidth_report, {"scope", "count", "min", "50%", "max", "bytes", "busy_ns"})[0],
              "all 3 10 30 40 4000 150");
}

TEST_F(HtaReports, NothingIsSaidOfNoWork) {
    main.push(0, "alone").pop(10);
    const report_input input{.data = capture.build(), .call_name = name_of_call};
    for (table (*const make)(const report_input&) :
         {temporal_breakdown_report, comm_comp_overlap_report, idle_time_breakdown_report, gpu_kernel_types_report,
          gpu_kernel_breakdown_report, cuda_kernel_launch_stats_report, cuda_kernel_launches_report,
          queue_length_report, memory_bandwidth_report}) {
        const table made = make(input);
        EXPECT_TRUE(made.rows.empty()) << made.report;
        EXPECT_FALSE(made.instead.empty()) << made.report;
    }
}

}  // namespace
}  // namespace prof::hta_reports_test
