// SPDX-License-Identifier: Apache-2.0
// Nsight's reports on captures worked by hand: its definitions are in docs/reference/reports.md.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/tables.hpp"
#include "report/reports.hpp"
#include "report/tables/diagnosis_tables.hpp"
#include "report/tables/nvtx_projection.hpp"
#include "support/capture_builder.hpp"

namespace prof::nsight_reports_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

table report(const char* name, const timeline& data, kernel_name_style names = kernel_name_style::full,
             const domain_filter& domains = {}) {
    const report_kind* const kind = find_report(name);
    if (kind == nullptr) {
        ADD_FAILURE() << name;
        return {};
    }
    const report_part made =
        kind->make({.data = data,
                    .names = names,
                    .hidden = hidden_domains(data, domains),
                    .call_name = [](const timeline_api_call& call) { return "call" + std::to_string(call.cbid); }});
    EXPECT_EQ(made.name, name);
    const auto* const found = block_in<findings_block>(made);
    return found == nullptr ? *block_in<table>(made) : findings_table(found->found);
}

// One step: a copy, two kernels side by side in forward, one of autograd's thread in backward.
capture_builder step() {
    capture_builder capture;
    capture.parts().properties["pid"] = "4711";
    capture.thread("python")
        .push(100, "iteration 1")
        .push(101, "data")
        .enter(102, 1)
        .exit(104, 1)
        .pop(105)
        .push(106, "forward")
        .launch(107, 2)
        .launch(109, 3)
        .pop(111)
        .push(112, "backward")
        .pop(120)
        .pop(121);
    capture.thread("pt_autograd_0").launch(113, 4);
    capture.transfer({.start_ns = 105,
                      .end_ns = 109,
                      .correlation = 1,
                      .bytes = 3'000'000,
                      .kind = transfer_kind::memcpy,
                      .copy_kind = 1});
    capture.kernel(2, 110, 120, {}, "_Z4gemmIfEvPT_").kernel(3, 115, 125, {.stream = 9}, "relu");
    capture.kernel(4, 130, 160, {}, "_Z4gemmIdEvPT_");
    return capture;
}

TEST(NvtxGpuProjSum, HasNsightsColumnsAndTheLaunchingThreadsWorkOnly) {
    const table t = report("nvtx_gpu_proj_sum", step().build());
    EXPECT_EQ(header_of(t),
              "Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),Proj Med (ns),"
              "Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,Avg Range Lvl,Avg Num Child");
    // iteration: 105 to 125; forward: 110 to 125; data: 105 to 109. backward launched nothing itself.
    EXPECT_THAT(rows_of(t, {"Range", "Style", "Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances",
                            "Total GPU Ops", "Avg Range Lvl", "Avg Num Child"}),
                ElementsAre(":iteration 1 PushPop 20 21 1 3 0 2", ":forward PushPop 15 5 1 2 1 0",
                            ":data PushPop 4 4 1 1 1 0"));
}

TEST(NvtxGpuProjSum, MergesInstancesOfOneNameAcrossThreads) {
    capture_builder capture;
    capture.thread("a").push(1, "f").launch(2, 1).pop(4).push(5, "f").pop(9).push(10, "f").launch(11, 2).pop(13);
    capture.thread("b").push(1, "g").push(2, "f").launch(3, 3).launch(5, 4).pop(7).pop(8);
    capture.kernel(1, 20, 30).kernel(2, 30, 50).kernel(3, 40, 45).kernel(4, 60, 80, {.device = 1});
    const table t = report("nvtx_gpu_proj_sum", capture.build());
    // f: 10, 20 and 40 to 80, over devices and streams; the instance without GPU work is left out.
    EXPECT_THAT(rows_of(t, {"Range", "Range Instances", "Total Proj Time (ns)", "Total Range Time (ns)",
                            "Proj Med (ns)", "Proj Min (ns)", "Proj Max (ns)", "Avg Range Lvl", "Avg Num Child"}),
                ElementsAre(":f 3 70 11 20 10 40 0.333333 0", ":g 1 40 7 40 40 40 0 1"));
    EXPECT_THAT(rows_of(t, {"Proj Avg (ns)", "Proj StdDev (ns)", "Avg GPU Ops"}),
                ElementsAre("23.3333 15.2753 1.33333", "40 0 2"));
}

TEST(NvtxGpuProjSum, EndsWithTheOperationThatEndsLast) {
    capture_builder capture;
    capture.thread("main").push(1, "f").launch(2, 1).launch(4, 2).pop(6);
    capture.kernel(1, 20, 100).kernel(2, 30, 40, {.stream = 9});
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_sum", capture.build()), {"Range", "Total Proj Time (ns)"}),
                ElementsAre(":f 80"));
}

TEST(NvtxGpuProjTrace, ListsEachRangeWithItsPlace) {
    const table t = report("nvtx_gpu_proj_trace", step().build());
    EXPECT_EQ(header_of(t),
              "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,"
              "NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack");
    // Times count from the capture's first moment: here 0, the clock's snapshot.
    EXPECT_THAT(
        rows_of(t, {"Name", "Projected Start (ns)", "Projected Duration (ns)", "Orig Start (ns)", "Orig Duration (ns)",
                    "Style", "PID", "TID", "NumGPUOps", "Lvl", "NumChild", "RangeId", "ParentId", "RangeStack"}),
        ElementsAre(":iteration 1 105 20 100 21 PushPop 4711 1001 3 0 2 1  :1",
                    ":data 105 4 101 4 PushPop 4711 1001 1 1 0 2 1 :1:2",
                    ":forward 110 15 106 5 PushPop 4711 1001 2 1 0 3 1 :1:3"));
}

TEST(NvtxGpuProjTrace, PutsARangeUnderTheInnermostThatOutlastsIt) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("main")
        .push(1, "step")
        .push(2, "comm", nccl)
        .launch(3, 1)
        .push(4, "inner")
        .launch(5, 2)
        .pop(7)
        .pop(8)
        .launch(9, 3)
        .pop(11, nccl);
    capture.kernel(1, 20, 30).kernel(2, 30, 40).kernel(3, 40, 50);
    // comm is pushed in step and outlasts it, so nothing is around it; comm is around inner.
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_trace", capture.build()),
                        {"Name", "NumGPUOps", "Lvl", "NumChild", "ParentId", "RangeStack"}),
                ElementsAre(":step 2 0 0  :1", "NCCL:comm 3 0 1  :2", ":inner 1 1 0 2 :2:3"));
}

TEST(NvtxGpuProj, CountsStartEndRangesOfTheirOwnThread) {
    capture_builder capture;
    capture.thread("one")
        .start(1, "request", 71)
        .launch(2, 1)
        .start(4, "request", 72)
        .launch(5, 2)
        .end(7, 71)
        .launch(8, 3)
        .end(10, 72)
        .start(11, "moved", 73)
        .launch(12, 5)
        .start(14, "open", 74)
        .launch(15, 6);
    capture.thread("two").launch(3, 4).end(20, 73);
    for (std::uint64_t i = 1; i <= 6; ++i) capture.kernel(i, 100 * i, 100 * i + 10);
    const timeline data = capture.build();
    // request: 100 to 210 and 200 to 310. moved ended on another thread, open never; nobody else's launches count.
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_sum", data), {"Range", "Style", "Range Instances", "Total Proj Time (ns)",
                                                            "Total GPU Ops", "Avg Range Lvl"}),
                ElementsAre(":request StartEnd 2 220 4 0"));
    EXPECT_THAT(rows_of(report("nvtx_kern_sum", data), {"NVTX Range", "Style", "NVTX Inst", "Kern Inst"}),
                ElementsAre(":request StartEnd 2 4"));
}

// The ended ranges have no GPU work. They are more than the number of ranges that may be open at once.
TEST(NvtxGpuProj, FollowsStartEndRangesAfterManyEndedOnes) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    std::uint64_t ns = 10;
    for (std::uint64_t id = 1; id <= 1100; ++id, ns += 2) main.start(ns, "idle", id).end(ns + 1, id);
    main.start(ns, "epoch", 5000);
    for (std::uint64_t i = 1; i <= 100; ++i, ns += 30) {
        main.start(ns + 1, "batch", 5000 + i).launch(ns + 2, i).end(ns + 4, 5000 + i);
        capture.kernel(i, ns + 10, ns + 20);
    }
    main.end(ns, 5000);
    const timeline data = capture.build();
    // epoch: 100 kernels, one in 30 ns, from the start of the first to the end of the last.
    const table sum = report("nvtx_gpu_proj_sum", data);
    EXPECT_THAT(rows_of(sum, {"Range", "Range Instances", "Total Proj Time (ns)", "Total GPU Ops"}),
                ElementsAre(":epoch 1 2980 100", ":batch 100 1000 100"));
    EXPECT_THAT(sum.notes, IsEmpty());
    EXPECT_EQ(report("nvtx_gpu_proj_trace", data).rows.size(), 101U);
    EXPECT_THAT(rows_of(report("nvtx_kern_sum", data), {"NVTX Range", "NVTX Inst", "Kern Inst", "Total Time (ns)"}),
                ElementsAre(":batch 100 100 1000", ":epoch 1 100 1000"));
}

TEST(NvtxGpuProj, CountsStartEndRangesBeyondItsLimit) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    for (std::uint64_t id = 1; id <= 1030; ++id) main.start(id, "request", id);
    main.launch(2000, 1);
    for (std::uint64_t id = 1; id <= 1030; ++id) main.end(3000 + id, id);
    capture.kernel(1, 2010, 2020);
    const timeline data = capture.build();
    for (const char* name : {"nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "nvtx_kern_sum"}) {
        EXPECT_THAT(report(name, data).notes, ElementsAre(testing::HasSubstr("6 start/end ranges were left out")))
            << name;
    }
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_sum", data), {"Range", "Range Instances"}), ElementsAre(":request 1024"));
}

// A pool's thread works for forward, between its launches 1 and 4.
timeline worker_loop() {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("python").push(1, "forward").here(2, 71).pop(50);
    capture.thread("pool")
        .push(3, "worker loop")
        .push(4, "comm", nccl)
        .launch(5, 1)
        .adopt(10, 71)
        .launch(11, 2)
        .push(13, "chunk")
        .launch(14, 3)
        .pop(16, nccl)  // comm, which is set aside
        .push(17, "part")
        .launch(18, 4)
        .pop(20)
        .pop(21)
        .leave(22)
        .launch(23, 5)
        .pop(25);
    for (std::uint64_t i = 1; i <= 5; ++i) capture.kernel(i, 100 * i, 100 * i + i);
    return capture.build();
}

TEST(NvtxGpuProj, CountsWorkForTheLaunchingThread) {
    const timeline data = worker_loop();
    // worker loop: 100 to 505, comm: 100 to 303, chunk: 300 to 404; forward launched nothing itself.
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_trace", data),
                        {"Name", "Projected Duration (ns)", "NumGPUOps", "Lvl", "NumChild", "RangeStack"}),
                ElementsAre(":worker loop 405 5 0 2 :2", "NCCL:comm 203 3 1 0 :2:3", ":chunk 104 2 1 1 :2:4",
                            ":part 4 1 2 0 :2:4:5"));
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_sum", data), {"Range", "Total Proj Time (ns)", "Total GPU Ops"}),
                ElementsAre(":worker loop 405 5", "NCCL:comm 203 3", ":chunk 104 2", ":part 4 1"));
    EXPECT_THAT(rows_of(report("nvtx_kern_sum", data), {"NVTX Range", "Kern Inst", "Total Time (ns)"}),
                ElementsAre(":chunk 2 7", ":part 1 4", ":worker loop 5 15", "NCCL:comm 3 6"));
}

// A CUDA graph recorded as a whole is GPU work, and no kernel.
TEST(NvtxGpuProj, CountsAGraphRecordedAsAWhole) {
    capture_builder capture;
    capture.thread("main").push(1, "replay").launch(2, 1, "").pop(4);
    capture.graph(1, 10, 30, 5);
    const timeline data = capture.build();
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_sum", data), {"Range", "Total Proj Time (ns)", "Total GPU Ops"}),
                ElementsAre(":replay 20 1"));
    EXPECT_THAT(rows_of(report("nvtx_gpu_proj_trace", data), {"Name", "Projected Duration (ns)", "NumGPUOps"}),
                ElementsAre(":replay 20 1"));
    EXPECT_THAT(rows_of(report("kernels", data), {"name", "total_ns"}), ElementsAre("CUDA graph 5 20"));
    for (const char* name : {"nvtx_kern_sum", "cuda_gpu_kern_sum", "cuda_kern_exec_sum"}) {
        EXPECT_THAT(report(name, data).rows, IsEmpty()) << name;
    }
}

TEST(NvtxGpuProj, LeavesHiddenDomainsOut) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("main")
        .push(1, "step")
        .push(2, "comm", nccl)
        .push(3, "inner")
        .launch(4, 1)
        .pop(6)
        .pop(7, nccl)
        .pop(8);
    capture.kernel(1, 20, 30);
    const timeline data = capture.build();
    EXPECT_THAT(
        rows_of(report("nvtx_gpu_proj_trace", data, kernel_name_style::full, {.include = {}, .exclude = {"NC*"}}),
                {"Name", "Lvl", "NumChild", "RangeStack"}),
        ElementsAre(":step 0 1 :1", ":inner 1 0 :1:3"));
    EXPECT_THAT(rows_of(report("nvtx_pushpop_sum", data, kernel_name_style::full, {.include = {"NCCL"}, .exclude = {}}),
                        {"Range"}),
                ElementsAre("NCCL:comm"));
}

TEST(NvtxKernSum, GroupsKernelsByRangeThreadAndName) {
    capture_builder capture = step();
    capture.thread("other").push(200, "forward").launch(201, 5).launch(203, 6).pop(206);
    capture.kernel(5, 300, 304, {}, "relu").kernel(6, 310, 312, {}, "relu");
    const timeline data = capture.build();
    const table t = report("nvtx_kern_sum", data);
    EXPECT_EQ(header_of(t),
              "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),"
              "StdDev (ns),Kernel Name");
    EXPECT_THAT(rows_of(t, {"NVTX Range", "TID", "NVTX Inst", "Kern Inst", "Total Time (ns)", "Kernel Name"}),
                ElementsAre(":forward 1001 1 1 10 void gemm<float>(float*)", ":forward 1001 1 1 10 relu",
                            ":forward 1003 1 2 6 relu", ":iteration 1 1001 1 1 10 void gemm<float>(float*)",
                            ":iteration 1 1001 1 1 10 relu"));
    EXPECT_THAT(rows_of(t, {"PID", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"}).at(2),
                "4711 3 3 2 4 1.41421");
}

TEST(NvtxPushPopSum, SumsHostTimeByName) {
    capture_builder capture;
    const std::uint16_t ours = capture.domain("prof");
    capture.thread("main").push(0, "a").pop(10).push(20, "a").pop(50).push(60, "b 2", ours).pop(120, ours);
    capture.thread("other").start(0, "never here", 71).end(1000, 71);
    const table t = report("nvtx_pushpop_sum", capture.build());
    EXPECT_EQ(header_of(t), "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Range");
    EXPECT_THAT(rows_of(t, {"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)",
                            "StdDev (ns)", "Range"}),
                ElementsAre("60 60 1 60 60 60 60 0 prof:b 2", "40 40 2 20 20 10 30 14.1421 :a"));
}

TEST(CudaGpuKernSum, SumsByTheRequestedNameStyle) {
    const timeline data = step().build();
    const table t = report("cuda_gpu_kern_sum", data);
    EXPECT_EQ(header_of(t), "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name");
    EXPECT_THAT(rows_of(t, {"Time (%)", "Total Time (ns)", "Instances", "Name"}),
                ElementsAre("60 30 1 void gemm<double>(double*)", "20 10 1 relu", "20 10 1 void gemm<float>(float*)"));
    EXPECT_THAT(rows_of(report("cuda_gpu_kern_sum", data, kernel_name_style::short_form),
                        {"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Name"}),
                ElementsAre("80 40 2 20 gemm", "20 10 1 10 relu"));
    EXPECT_THAT(rows_of(report("cuda_gpu_kern_sum", data, kernel_name_style::mangled), {"Name"}),
                ElementsAre("_Z4gemmIdEvPT_", "_Z4gemmIfEvPT_", "relu"));
}

TEST(CudaGpuMemSums, SumByDirection) {
    capture_builder capture = step();
    capture.transfer({.start_ns = 300, .end_ns = 310, .bytes = 1'000'000, .copy_kind = 1, .source_kind = 2});
    capture.transfer({.start_ns = 320, .end_ns = 326, .bytes = 2'500'000, .kind = transfer_kind::memset});
    capture.transfer(
        {.start_ns = 330, .end_ns = 331, .bytes = 10, .kind = transfer_kind::memcpy_peer, .copy_kind = 10});
    const timeline data = capture.build();
    const table time = report("cuda_gpu_mem_time_sum", data);
    EXPECT_EQ(header_of(time),
              "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation");
    EXPECT_THAT(
        rows_of(time, {"Total Time (ns)", "Count", "Med (ns)", "Operation"}),
        ElementsAre("14 2 7 [CUDA memcpy Host-to-Device]", "6 1 6 [CUDA memset]", "1 1 1 [CUDA memcpy Peer-to-Peer]"));
    const table size = report("cuda_gpu_mem_size_sum", data);
    EXPECT_EQ(header_of(size), "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation");
    EXPECT_THAT(rows_of(size, {"Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)",
                               "Operation"}),
                ElementsAre("4 2 2 2 1 3 1.41421 [CUDA memcpy Host-to-Device]", "2.5 1 2.5 2.5 2.5 2.5 0 [CUDA memset]",
                            "1e-05 1 1e-05 1e-05 1e-05 1e-05 0 [CUDA memcpy Peer-to-Peer]"));
}

// A call as CUPTI tells it.
void call(thread_script& thread, std::uint64_t enter, std::uint64_t exit, std::uint64_t correlation,
          std::uint32_t cbid) {
    thread.add({.ticks = enter,
                .value = correlation,
                .category = cbid,
                .domain = static_cast<std::uint16_t>(api_domain::runtime),
                .kind = record_kind::api_enter});
    if (exit != 0) thread.exit(exit, correlation);
}

TEST(CudaApiSum, SumsCallsThatReturned) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    call(main, 100, 110, 1, 211);
    call(main, 200, 230, 2, 211);
    call(main, 300, 360, 3, 41);
    call(main, 400, 0, 4, 41);
    const table t = report("cuda_api_sum", capture.build());
    EXPECT_EQ(header_of(t), "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name");
    EXPECT_THAT(rows_of(t, {"Time (%)", "Total Time (ns)", "Num Calls", "Name"}),
                ElementsAre("60 60 1 call41", "40 40 2 call211"));
}

TEST(CudaKernExecSum, SeparatesCallQueueAndExecution) {
    capture_builder capture;
    capture.parts().properties["pid"] = "7";
    thread_script& main = capture.thread("main");
    call(main, 100, 110, 1, 211);  // the kernel waits for 10
    call(main, 200, 230, 2, 211);  // the kernel runs before the call is back
    call(main, 300, 310, 3, 311);  // a graph of two
    call(main, 400, 0, 4, 211);    // never back
    capture.kernel(1, 120, 150, {}, "k").kernel(2, 220, 225, {}, "k");
    capture.kernel(3, 312, 320, {}, "k").kernel(3, 330, 331, {}, "k").kernel(4, 500, 600, {}, "k");
    capture.transfer({.start_ns = 700, .end_ns = 800, .correlation = 1, .copy_kind = 1});
    const table t = report("cuda_kern_exec_sum", capture.build());
    EXPECT_EQ(header_of(t),
              "PID,TID,DevId,Count,QCount,TAvg (ns),TMed (ns),TMin (ns),TMax (ns),TStdDev (ns),AAvg (ns),AMed (ns),"
              "AMin (ns),AMax (ns),AStdDev (ns),QAvg (ns),QMed (ns),QMin (ns),QMax (ns),QStdDev (ns),KAvg (ns),"
              "KMed (ns),KMin (ns),KMax (ns),KStdDev (ns),API Name,Kernel Name");
    EXPECT_THAT(
        rows_of(t, {"PID", "TID", "DevId", "Count", "QCount", "TMin (ns)", "TMax (ns)", "AMin (ns)", "AMax (ns)",
                    "QMin (ns)", "QMax (ns)", "KMin (ns)", "KMax (ns)", "API Name", "Kernel Name"}),
        ElementsAre("7 1001 0 2 1 30 50 10 30 10 10 5 30 call211 k", "7 1001 0 2 2 20 31 10 10 2 20 1 8 call311 k"));
}

TEST(CudaKernExecSum, LeavesTheQueueEmptyWhenNothingWaited) {
    capture_builder capture;
    call(capture.thread("main"), 200, 230, 2, 211);
    capture.kernel(2, 220, 225, {}, "k");
    EXPECT_THAT(rows_of(report("cuda_kern_exec_sum", capture.build()), {"QCount", "QAvg (ns)", "QStdDev (ns)"}),
                ElementsAre("0  "));
}

TEST(Reports, HaveNoRowsForAnEmptyTimeline) {
    const timeline nothing;
    for (const report_kind& kind : report_kinds()) {
        const table t = report(std::string(kind.name).c_str(), nothing);
        EXPECT_EQ(t.report, kind.name);
        if (kind.name == "gpu-projection") {
            EXPECT_THAT(rows_of(t, {"path", "ops"}), ElementsAre("(no range) 0", "(ambiguous) 0", "(unmatched) 0"));
        } else if (kind.name == "processes") {
            EXPECT_THAT(rows_of(t, {"program", "ops"}), ElementsAre("a process 0"));
        } else {
            EXPECT_THAT(t.rows, IsEmpty()) << kind.name;
        }
        EXPECT_FALSE(t.columns.empty()) << kind.name;
    }
    EXPECT_EQ(find_report("nvtx_gpu_proj"), nullptr);
}

}  // namespace
}  // namespace prof::nsight_reports_test
