// SPDX-License-Identifier: Apache-2.0
// Who works for whom, and what becomes of ranges that are opened and closed in unusual ways: libprof.so in a program on
// the simulated GPU that names each kernel by the row that is to own it (threads_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "record/api_names.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

struct Threads : testing::Test, profiled_program {
    Threads() : profiled_program(way_in::its_own, {{"FAKE_GPU_DEVICES", "2"}, {"FAKE_GPU_CLOCK", ""}}) {}

    process_result run(const std::vector<std::string>& words, bool autostart = true,
                       const char* calls = "driver") const {
        return profiled_program::run(words, {{"PROF_AUTOSTART", autostart ? "1" : "0"}, {"PROF_API_CALLS", calls}});
    }
    timeline captured(const std::vector<std::string>& words, bool autostart = true,
                      const char* calls = "driver") const {
        const process_result result = run(words, autostart, calls);
        EXPECT_EQ(result.exit_code(), 0) << result.err;
        return only_capture();
    }
};

const projection_row* find_row(const projection& p, const std::string& path) {
    const auto found = std::find_if(p.rows.begin(), p.rows.end(), [&](const auto& row) { return row.path == path; });
    return found == p.rows.end() ? nullptr : &*found;
}
projection_row row_of(const projection& p, const std::string& path) {
    const projection_row* row = find_row(p, path);
    EXPECT_NE(row, nullptr) << path;
    return row == nullptr ? projection_row{} : *row;
}

// Each row's self time is that of the kernels named after it, to the nanosecond, and every kernel has its row.
void expect_each_kernel_in_its_row(const timeline& data, std::size_t kernels) {
    std::map<std::string, std::int64_t> named_ns;
    for (const gpu_op& op : data.ops) {
        if (op.kind == op_kind::kernel) named_ns[std::string{data.kernel_symbol(op)}] += op.end_ns - op.start_ns;
    }
    EXPECT_EQ(data.ops.size(), kernels);
    const projection p = project(data);
    for (const projection_row& row : p.rows) EXPECT_EQ(row.gpu_self_ns, named_ns[row.path]) << row.path;
    for (const auto& [path, ns] : named_ns) EXPECT_NE(find_row(p, path), nullptr) << path;
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
}

TEST_F(Threads, GiveWorkToTheirExplicitParent) {
    const timeline data = captured({"parents"});
    expect_each_kernel_in_its_row(data, 5);
    const projection p = project(data);
    EXPECT_EQ(row_of(p, "step/forward").adopted_ops, 2U);
    EXPECT_EQ(row_of(p, "step/forward").ops, 3U);
    EXPECT_EQ(row_of(p, "worker loop").adopted_ops, 0U);
    EXPECT_THAT(data.quality.dropped, UnorderedElementsAre(Pair("pop_without_push", 1U), Pair("unknown_parent", 1U)));
    projection_options off;
    off.attribution.adopt_pattern.clear();
    EXPECT_EQ(row_of(project(data, off), "step/forward").adopted_ops, 2U) << "the pattern has no say in it";
}

TEST_F(Threads, MakeAutogradsWorkAmbiguousOnASharedStream) {
    const timeline data = captured({"trainers"});
    expect_each_kernel_in_its_row(data, 6);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
}

TEST_F(Threads, AreDistinguishedByTheirStreams) { expect_each_kernel_in_its_row(captured({"two_streams"}), 5); }

TEST_F(Threads, PutRecomputedForwardAndReductionsUnderBackward) {
    const timeline data = captured({"backward"});
    expect_each_kernel_in_its_row(data, 6);
    const projection p = project(data);
    EXPECT_EQ(row_of(p, "iteration #/backward").ops, 5U);
    EXPECT_EQ(row_of(p, "iteration #/backward").adopted_ops, 5U);
    EXPECT_EQ(row_of(p, "iteration #/backward/forward").ops, 2U) << "NCCL's second outlived it";
}

TEST_F(Threads, RecordEachKindOfCall) {
    const timeline data = captured({"calls"}, true, "runtime");
    std::map<std::string, std::vector<api_class>> by_name;
    for (const timeline_api_call& call : data.api_calls) {
        by_name[std::string{api_name(call.domain, call.cbid)}].push_back(call.kind);
        EXPECT_NE(call.end_ns, 0);
    }
    const auto once = [](api_class kind) { return std::vector<api_class>{kind}; };
    const std::map<std::string, std::vector<api_class>> expected = {
        {"cudaMalloc", {api_class::blocking_allocation, api_class::blocking_allocation}},
        {"cudaMallocManaged", once(api_class::blocking_allocation)},
        {"cudaHostAlloc", once(api_class::blocking_allocation)},
        {"cudaFree", once(api_class::blocking_allocation)},
        {"cudaMallocAsync", once(api_class::allocation)},
        {"cudaFreeAsync", once(api_class::allocation)},
        {"cudaLaunchKernel", {api_class::launch, api_class::launch, api_class::launch}},
        {"cuLaunchKernel", once(api_class::launch)},
        {"cuLaunchKernelEx", once(api_class::launch)},
        {"cuLaunchCooperativeKernel", once(api_class::launch)},
        {"cudaLaunchCooperativeKernel", once(api_class::launch)},
        {"cudaMemcpy", once(api_class::blocking_launch)},
        {"cudaMemcpyAsync", {api_class::launch, api_class::launch}},
        {"cudaMemcpyPeerAsync", once(api_class::launch)},
        {"cudaMemsetAsync", once(api_class::launch)},
        {"cudaEventSynchronize", once(api_class::wait)},
        {"cudaStreamSynchronize", once(api_class::wait)},
        {"cudaDeviceSynchronize", {api_class::wait, api_class::wait}},
        {"cuCtxSynchronize", once(api_class::wait)},
    };
    EXPECT_EQ(by_name, expected) << "and none of queries, records and waits between streams";

    std::map<std::string, std::vector<std::uint64_t>> bytes;
    for (const transfer_record& t : data.transfers) {
        const std::string direction = std::to_string(static_cast<int>(t.kind)) + "/" + std::to_string(t.copy_kind);
        bytes[direction].push_back(t.bytes);
    }
    EXPECT_THAT(bytes, ElementsAre(Pair("1/1", ElementsAre(128U, 90U)), Pair("1/8", ElementsAre(100U)),
                                   Pair("2/0", ElementsAre(70U)), Pair("3/10", ElementsAre(80U))));
    const auto managed =
        std::find_if(data.transfers.begin(), data.transfers.end(), [](const auto& t) { return t.bytes == 90; });
    ASSERT_NE(managed, data.transfers.end());
    EXPECT_EQ(managed->destination_kind, 5) << "managed memory";
    EXPECT_EQ(
        std::count_if(data.ops.begin(), data.ops.end(), [](const gpu_op& op) { return op.kind == op_kind::kernel; }),
        7);
    const projection p = project(data);
    EXPECT_EQ(row_of(p, "calls").ops, 7U + 5U);
    EXPECT_EQ(row_of(p, "(unmatched)").ops, 0U);
}

// The host's and the GPU's clocks agree to a few microseconds; 40 ms of kernel leave no doubt.
TEST_F(Threads, AreChargedForTheirWaits) {
    const projection p = project(captured({"calls"}));
    const projection_row wait = row_of(p, "calls/wait");
    EXPECT_GE(wait.wait_ns, 30'000'000);
    EXPECT_LE(wait.wait_ns, wait.host_ns);
    EXPECT_GE(row_of(p, "calls").wait_ns, wait.wait_ns);
    EXPECT_EQ(row_of(p, "calls/no wait").wait_ns, 0);
}

TEST_F(Threads, OpenAndCloseRangesInUnusualOrders) {
    const timeline data = captured({"outcomes"}, false);
    expect_each_kernel_in_its_row(data, 5);
    EXPECT_THAT(data.quality.dropped,
                UnorderedElementsAre(Pair("pop_without_push", 2U), Pair("end_without_start", 1U)));
    EXPECT_EQ(data.quality.ranges_open_at_end, 2U) << "left open, never ended";
    ASSERT_EQ(data.marks.size(), 1U);
    EXPECT_EQ(data.name(data.marks[0].name), "a mark");
    EXPECT_EQ(data.ranges.size(), 4U) << "none from before or after the recording";
    const projection p = project(data);
    std::map<std::string, std::uint64_t> process_ops;
    for (const projection_row& row : p.process_ranges) process_ops[row.path] = row.ops;
    EXPECT_THAT(process_ops, ElementsAre(Pair("crosses", 1U), Pair("never ended", 1U), Pair("overlaps", 2U)));
    for (const timeline_range& range : data.ranges) {
        if (data.name(range.name) != "crosses") continue;
        EXPECT_NE(range.end_thread, range.thread) << "another thread ended it";
    }
}

// The first recording counted three pops without a push; the second, killed, one.
TEST_F(Threads, CountDropsOfTheCurrentRecordingOnly) {
    EXPECT_EQ(run({"drops"}, false).signal(), SIGKILL);
    const auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 2U);
    std::map<bool, timeline> by_end;
    for (const std::string& path : found) {
        timeline data = load_timeline(path);
        by_end[data.quality.ended] = std::move(data);
    }
    EXPECT_THAT(by_end[true].quality.dropped, ElementsAre(Pair("pop_without_push", 3U)));
    EXPECT_THAT(by_end[false].quality.dropped, ElementsAre(Pair("pop_without_push", 1U)));
}

TEST_F(Threads, KeepTheBytesOfExtendedPayloads) {
    const timeline data = captured({"payloads"});
    EXPECT_EQ(data.ranges.size(), 12U);
    EXPECT_EQ(data.quality.ranges_open_at_end, 0U);
    ASSERT_EQ(data.marks.size(), 1U);
    EXPECT_EQ(data.marks.front().payload, 7'000'000'000U);
    for (const timeline_range& range : data.ranges) {
        const std::string name{data.name(range.name)};
        const bool has_bytes = name.empty() || name.starts_with("7000000000");
        EXPECT_EQ(range.payload_kind, has_bytes ? payload_type::bytes : payload_type::none) << name;
        EXPECT_EQ(range.payload, has_bytes ? 7'000'000'000U : 0U) << name;
    }
}

// NCCL itself, where it is installed: it tells the size of each collective in a payload.
TEST_F(Threads, RecordTheBytesOfNccl) {
    if (std::string_view{PROF_TEST_NCCL}.empty()) GTEST_SKIP() << "no libnccl.so.2 was found";
    const projection p = project(captured({"nccl", PROF_TEST_NCCL}));
    const projection_row all_reduce = row_of(p, "sync/NCCL:ncclAllReduce");
    EXPECT_EQ(all_reduce.instances, 2U);
    EXPECT_EQ(all_reduce.payload_bytes, 4U * (1024 + 1000));
}

}  // namespace
}  // namespace prof::test
