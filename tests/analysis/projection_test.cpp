// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/projection.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/rows.hpp"
#include "support/capture_builder.hpp"

namespace prof::projection_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two iterations: the host passes through forward at once, the GPU works long after.
timeline two_iterations() {
    capture_builder capture;
    capture.thread("python")
        .push(0, "iteration 1")
        .push(10, "forward")
        .launch(11, 1)
        .launch(12, 2)
        .pop(17)
        .launch(18, 3)
        .pop(100)
        .push(200, "iteration 2")
        .push(210, "forward")
        .launch(211, 4)
        .pop(220)
        .pop(300);
    capture.kernel(1, 50, 60).kernel(2, 62, 82).kernel(3, 90, 95).kernel(4, 250, 290);
    return capture.build();
}

TEST(Projection, SumsGpuTimeByPath) {
    const projection p = project(two_iterations());
    EXPECT_THAT(sums(p), ElementsAre("iteration # 75 5", "iteration #/forward 70 70", "(no range) 0 0",
                                     "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(p.total_gpu_ns, 75);
    EXPECT_EQ(p.total_ops, 4U);

    const projection_row iteration = row_at(p, "iteration #");
    EXPECT_EQ(iteration.instances, 2U);
    EXPECT_EQ(iteration.host_ns, 200);
    EXPECT_EQ(iteration.host_self_ns, 200 - 7 - 10);
    EXPECT_EQ(iteration.host_min_ns, 100);
    EXPECT_EQ(iteration.host_max_ns, 100);
    EXPECT_EQ(iteration.gpu_child_ns, 70);
    EXPECT_EQ(iteration.gpu_busy_ns, 75);
    EXPECT_EQ(iteration.gpu_span_ns, (95 - 50) + (290 - 250));
    EXPECT_EQ(iteration.ops, 4U);
    EXPECT_EQ(iteration.self_ops, 1U);
    EXPECT_EQ(iteration.depth, 0U);
    EXPECT_EQ(iteration.parent, npos);

    const projection_row forward = row_at(p, "iteration #/forward");
    EXPECT_EQ(forward.host_ns, 7 + 10);
    EXPECT_EQ(forward.host_self_ns, 7 + 10);
    EXPECT_EQ(forward.host_min_ns, 7);
    EXPECT_EQ(forward.host_median_ns, 8.5);
    EXPECT_EQ(forward.host_max_ns, 10);
    EXPECT_EQ(forward.gpu_span_ns, (82 - 50) + 40);
    EXPECT_EQ(forward.depth, 1U);
    EXPECT_EQ(forward.parent, 0U);
    EXPECT_EQ(forward.name, "forward");
    EXPECT_EQ(forward.instance_min_ns, 30);
    EXPECT_EQ(forward.instance_max_ns, 40);
    EXPECT_EQ(forward.instance_median_ns, 35);
    EXPECT_DOUBLE_EQ(forward.instance_stddev_ns, std::sqrt(50.0));
}

// a of one domain ends before b of another, which was pushed inside it; an autograd thread works at the same time.
TEST(Projection, HasTheHostTimeOutsideInnerRangesOfTheThread) {
    capture_builder capture;
    const std::uint16_t other = capture.domain("other");
    capture.thread("python").push(0, "a").launch(1, 1).push(10, "b", other).pop(30).pop(50, other);
    capture.thread("pt_autograd_0").push(5, "node").launch(6, 2).pop(25);
    capture.kernel(1, 100, 110).kernel(2, 120, 130);
    const projection p = project(capture.build());
    EXPECT_EQ(row_at(p, "a").host_self_ns, 30 - 20);
    EXPECT_EQ(row_at(p, "a/other:b").host_self_ns, 40);
    EXPECT_EQ(row_at(p, "a/node").host_self_ns, 20);
}

TEST(Projection, KeepsNamesApartWhenFoldingIsOff) {
    const projection p = project(two_iterations(), projection_options{.fold = {.mode = fold_mode::none}});
    EXPECT_THAT(sums(p),
                ElementsAre("iteration 1 35 5", "iteration 1/forward 30 30", "iteration 2 40 0",
                            "iteration 2/forward 40 40", "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(row_at(p, "iteration 2/forward").parent, 2U);
}

TEST(Projection, CountsInstancesWithoutGpuWork) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).pop(3).push(4, "a").pop(8).push(9, "b").pop(10);
    capture.kernel(1, 20, 26);
    const projection p = project(capture.build());
    const projection_row a = row_at(p, "a");
    EXPECT_EQ(a.instances, 2U);
    EXPECT_EQ(a.instance_min_ns, 0);
    EXPECT_EQ(a.instance_median_ns, 3);
    EXPECT_EQ(a.gpu_span_ns, 6);
    EXPECT_EQ(row_at(p, "b").host_ns, 1);
    EXPECT_EQ(row_at(p, "b").gpu_sum_ns, 0);
}

TEST(Projection, SeparatesSumBusyAndSpanOnTwoStreams) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).launch(3, 2).launch(4, 3).pop(5);
    capture.kernel(1, 100, 140, {.stream = 7}).kernel(2, 120, 160, {.stream = 9}).kernel(3, 180, 190, {.stream = 7});
    const projection p = project(capture.build());
    const projection_row a = row_at(p, "a");
    EXPECT_EQ(a.gpu_sum_ns, 40 + 40 + 10);
    EXPECT_EQ(a.gpu_busy_ns, (160 - 100) + 10);
    EXPECT_EQ(a.gpu_span_ns, 190 - 100);
    EXPECT_EQ(p.total_busy_ns, 70);
}

TEST(Projection, AddsBusyTimeOverDevices) {
    capture_builder capture;
    capture.thread("main").push(1, "a").launch(2, 1).launch(3, 2).pop(5);
    capture.kernel(1, 100, 140, {.device = 0}).kernel(2, 120, 160, {.device = 1});
    EXPECT_EQ(row_at(project(capture.build()), "a").gpu_busy_ns, 80);
}

TEST(Projection, ShowsUnmatchedWorkAndWorkOutsideRanges) {
    capture_builder capture;
    capture.thread("main").launch(2, 1).push(3, "a").pop(4);
    capture.kernel(1, 100, 140).kernel(77, 150, 155);
    const projection p = project(capture.build());
    EXPECT_THAT(sums(p), ElementsAre("a 0 0", "(no range) 40 40", "(ambiguous) 0 0", "(unmatched) 5 5"));
    EXPECT_EQ(row_at(p, "(no range)").kind, row_kind::no_range);
    EXPECT_EQ(row_at(p, "(unmatched)").kind, row_kind::unmatched);
    EXPECT_EQ(row_at(p, "(unmatched)").gpu_busy_ns, 5);
    EXPECT_EQ(row_at(p, "(unmatched)").ops, 1U);
    EXPECT_EQ(row_at(p, "(unmatched)").instances, 0U);
}

TEST(Projection, DistinguishesARangeFromSpecialRows) {
    capture_builder capture;
    capture.thread("main").push(1, "(no range)").launch(2, 1).pop(3).launch(4, 2);
    capture.kernel(1, 100, 140).kernel(2, 200, 205);
    const projection p = project(capture.build());
    EXPECT_THAT(sums(p), ElementsAre("\\(no range) 40 40", "(no range) 5 5", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(p.rows[0].name, "(no range)");
    EXPECT_EQ(p.rows[0].kind, row_kind::range);
    EXPECT_EQ(p.rows[1].kind, row_kind::no_range);
}

// Of the default domain, libprof's own, NCCL and one that is called "default", as filters call the default one.
TEST(Projection, DistinguishesNamesThatLookLikeADomain) {
    capture_builder capture;
    const std::uint16_t own = capture.domain("prof");
    const std::uint16_t nccl = capture.domain("NCCL");
    const std::uint16_t other = capture.domain("default");
    thread_script& main = capture.thread("main");
    main.push(1, "NCCL:y").launch(2, 1).pop(4).push(5, "y", nccl).launch(6, 2).pop(8, nccl);
    main.push(9, "y", own).launch(10, 3).pop(12, own).push(13, "y", other).launch(14, 4).pop(16, other);
    main.start(20, "NCCL:y", 70).launch(21, 5).end(23, 70).start(24, "y", 71, nccl).launch(25, 6).end(27, 71);
    for (std::uint64_t i = 1; i <= 6; ++i) capture.kernel(i, 100 * i, 101 * i);
    const timeline data = capture.build();
    const projection p = project(data);
    EXPECT_THAT(sums(p), ElementsAre("NCCL\\:y 1 1", "NCCL:y 2 2", "y 3 3", "default:y 4 4", "(no range) 11 11",
                                     "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(p.rows[0].name, "NCCL:y");
    EXPECT_EQ(row_at(p.process_ranges, "NCCL\\:y").gpu_sum_ns, 5);
    EXPECT_EQ(row_at(p.process_ranges, "NCCL:y").gpu_sum_ns, 6);
    projection_options options;
    options.attribution.domains.exclude = {"default"};
    EXPECT_THAT(sums(project(data, options)),
                ElementsAre("NCCL:y 2 2", "y 3 3", "(no range) 16 16", "(ambiguous) 0 0", "(unmatched) 0 0"));
}

// In each of twelve steps two experts, and the layers 1 to 9; and requests of two kinds. With every number folded, what
// may be different things is noted; twelve steps are a counter's. By default the same rows are kept apart.
TEST(Projection, NotesRowsOfFewNamesWithManyInstancesEach) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    std::uint64_t ns = 1;
    const auto range = [&](const std::string& name) {
        main.push(ns, name).pop(ns + 1);
        ns += 2;
    };
    for (int step = 1; step <= 12; ++step) {
        main.push(ns++, "step " + std::to_string(step));
        for (const char* name : {"expert 3 of 8", "expert 3 of 16", "expert 3 of 16", "norm"}) range(name);
        for (int layer = 1; layer <= 9; ++layer) range("layer " + std::to_string(layer));
        range("epoch " + std::to_string(step % 2));
        main.pop(ns++);
        for (const char* name : {"top-1", "top-5"}) {
            main.start(ns, name, ns).end(ns + 1, ns);
            ns += 2;
        }
    }
    const timeline data = capture.build();
    const projection p = project(data, {.fold = {.mode = fold_mode::all}});
    EXPECT_EQ(row_at(p, "step #").merged_names, 0U);
    EXPECT_EQ(row_at(p, "step #/expert # of #").merged_names, 2U);
    EXPECT_EQ(row_at(p, "step #/norm").merged_names, 0U);
    EXPECT_EQ(row_at(p, "step #/layer #").merged_names, 9U);
    EXPECT_EQ(row_at(p, "step #/epoch #").merged_names, 2U) << "six instances each";
    EXPECT_EQ(row_at(p.process_ranges, "top-#").merged_names, 2U);
    for (const projection_row& row : project(data).rows) EXPECT_EQ(row.merged_names, 0U);
    EXPECT_EQ(row_at(project(data), "step #/expert 3 of 16").instances, 24U);
    EXPECT_EQ(row_at(project(data), "step #/layer 9").instances, 12U);
    EXPECT_EQ(row_at(project(data), "step #/epoch 1").instances, 6U);
    EXPECT_EQ(row_at(project(data).process_ranges, "top-5").instances, 12U);
    for (const projection_row& row : project(data, {.fold = {.mode = fold_mode::none}}).rows)
        EXPECT_EQ(row.merged_names, 0U);
}

TEST(Projection, GivesRecursionARowForEachLevel) {
    capture_builder capture;
    capture.thread("main").push(1, "f").launch(2, 1).push(3, "f").launch(4, 2).pop(5).pop(6);
    capture.kernel(1, 10, 20).kernel(2, 20, 25);
    EXPECT_THAT(sums(project(capture.build())),
                ElementsAre("f 15 10", "f/f 5 5", "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(Projection, MergesThreadsAndOrdersSiblingsByTheirFirstStart) {
    capture_builder capture;
    capture.thread("one").push(5, "late").pop(6).push(7, "early").pop(8);
    capture.thread("two").push(1, "early").push(2, "x/y").pop(3).pop(4);
    const projection p = project(capture.build());
    EXPECT_THAT(sums(p), ElementsAre("early 0 0", "early/x\\/y 0 0", "late 0 0", "(no range) 0 0", "(ambiguous) 0 0",
                                     "(unmatched) 0 0"));
    EXPECT_EQ(p.rows[0].instances, 2U);
    EXPECT_EQ(p.rows[1].name, "x/y");
}

TEST(Projection, NamesDomains) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    const std::uint16_t ours = capture.domain("prof");
    capture.thread("main").push(1, "step", ours).push(2, "ncclAllReduce", nccl).pop(3, nccl).pop(4, ours);
    EXPECT_THAT(sums(project(capture.build())), ElementsAre("step 0 0", "step/NCCL:ncclAllReduce 0 0", "(no range) 0 0",
                                                            "(ambiguous) 0 0", "(unmatched) 0 0"));
}

// 4 + 6 ns inside forward (6 of them inside layer), 3 outside any range, and what is no wait or never came back.
TEST(Projection, SumsWaitsOfARangesThread) {
    capture_builder capture;
    capture.thread("main")
        .push(1, "forward")
        .wait(2, 6, 1)
        .push(10, "layer")
        .wait(11, 14, 2, api_class::blocking_launch)
        .wait(15, 18, 3, api_class::blocking_allocation)
        .wait(19, 29, 4, api_class::allocation)
        .launch(30, 5)
        .pop(40)
        .pop(50)
        .wait(60, 63, 6)
        .add({.ticks = 70,
              .value = 7,
              .kind = record_kind::api_enter,
              .flags = static_cast<std::uint8_t>(api_class::wait)});
    capture.thread("pt_autograd_0").push(2, "hook").wait(3, 5, 8).pop(9);
    capture.kernel(5, 100, 110);
    const projection p = project(capture.build());
    EXPECT_EQ(row_at(p, "forward").wait_ns, 10);
    EXPECT_EQ(row_at(p, "forward/layer").wait_ns, 6);
    EXPECT_EQ(row_at(p, "forward/hook").wait_ns, 2) << "adopted, but the wait is its own thread's";
    EXPECT_EQ(row_at(p, "(no range)").wait_ns, 3);
    EXPECT_EQ(p.wait_ns, 15);
}

TEST(Projection, SeparatesCommunicationFromComputing) {
    capture_builder capture;
    capture.thread("main").push(1, "step").launch(2, 1).push(3, "sync").launch(4, 2).pop(5).pop(6).launch(7, 3);
    capture.kernel(1, 100, 110, {}, "gemm")
        .kernel(2, 110, 130, {}, "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE")
        .kernel(3, 130, 160, {}, "ncclKernel_Broadcast_RING_LL_Sum_int8_t");
    const projection p = project(capture.build());
    EXPECT_EQ(row_at(p, "step").communication_ns, 20);
    EXPECT_EQ(row_at(p, "step/sync").communication_ns, 20);
    EXPECT_EQ(row_at(p, "(no range)").communication_ns, 30);
    EXPECT_EQ(p.communication_ns, 50);
}

TEST(Projection, SumsPayloadBytes) {
    const auto bytes = static_cast<std::uint8_t>(payload_type::bytes);
    const auto number = static_cast<std::uint8_t>(payload_type::u64);
    capture_builder capture;
    const std::uint32_t name = capture.name("ncclAllReduce");
    thread_script& main = capture.thread("main");
    main.push(1, "step");
    main.add({.ticks = 2, .value = 1000, .name = name, .kind = record_kind::range_push, .flags = bytes}).pop(3);
    main.add({.ticks = 4, .value = 24, .name = name, .kind = record_kind::range_push, .flags = bytes}).pop(5);
    main.add({.ticks = 6, .value = 7, .name = name, .kind = record_kind::range_push, .flags = number}).pop(7);
    main.pop(8);
    const std::uint32_t absurd = capture.name("absurd");
    main.add({.ticks = 9, .value = UINT64_MAX, .name = absurd, .kind = record_kind::range_push, .flags = bytes})
        .pop(10);
    main.add({.ticks = 11, .value = 2, .name = absurd, .kind = record_kind::range_push, .flags = bytes}).pop(12);
    const projection p = project(capture.build());
    EXPECT_EQ(row_at(p, "absurd").payload_bytes, UINT64_MAX) << "not 1";
    EXPECT_EQ(row_at(p, "step/ncclAllReduce").payload_bytes, 1024U);
    EXPECT_EQ(row_at(p, "step").payload_bytes, 0U) << "the ranges' own word, not that of those inside";
}

TEST(Projection, HasThreeEmptyRowsForAnEmptyTimeline) {
    const projection p = project(timeline{});
    EXPECT_THAT(sums(p), ElementsAre("(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_THAT(p.process_ranges, IsEmpty());
}

TEST(ProcessRanges, CountLaunchesOfAllThreadsWhileOpen) {
    capture_builder capture;
    capture.thread("one").start(1, "request 1", 71).launch(5, 1).launch(12, 2);
    capture.thread("two").launch(6, 3).end(10, 71).launch(20, 4);
    capture.kernel(1, 100, 110).kernel(2, 110, 120).kernel(3, 105, 125, {.stream = 9}).kernel(4, 200, 210);
    const projection p = project(capture.build());

    ASSERT_EQ(p.process_ranges.size(), 1U);
    const projection_row& request = p.process_ranges[0];
    EXPECT_EQ(request.path, "request #");
    EXPECT_EQ(request.instances, 1U);
    EXPECT_EQ(request.host_ns, 9);
    EXPECT_EQ(request.ops, 2U);
    EXPECT_EQ(request.gpu_sum_ns, 30);
    EXPECT_EQ(request.gpu_busy_ns, 25);
    EXPECT_EQ(request.gpu_span_ns, 25);
    EXPECT_EQ(request.gpu_self_ns, 0);
    EXPECT_EQ(row_at(p, "(no range)").gpu_sum_ns, 50) << "they take nothing away from the tree";
}

TEST(ProcessRanges, CountAnOperationOnceForOverlappingInstances) {
    capture_builder capture;
    capture.thread("one")
        .start(1, "request 1", 71)
        .start(4, "request 2", 72)
        .launch(5, 1)
        .end(6, 71)
        .launch(7, 2)
        .end(9, 72);
    capture.thread("two").start(30, "other", 73).end(40, 73);
    capture.kernel(1, 100, 110).kernel(2, 110, 114);
    const projection p = project(capture.build());
    const projection_row request = row_at(p.process_ranges, "request #");
    EXPECT_EQ(request.ops, 2U);
    EXPECT_EQ(request.gpu_sum_ns, 14);
    EXPECT_EQ(request.instance_min_ns, 10);
    EXPECT_EQ(request.instance_max_ns, 14);
    EXPECT_EQ(request.gpu_span_ns, 10 + 14);
    EXPECT_EQ(p.process_ranges[1].path, "other");
    EXPECT_EQ(p.process_ranges[1].gpu_sum_ns, 0);
}

}  // namespace
}  // namespace prof::projection_test
