// SPDX-License-Identifier: Apache-2.0
// Traces of torch.profiler as timelines, worked by hand. tests/golden/kineto_test.py compares whole traces.
#include <zlib.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "support/scratch_directory.hpp"
#include "timeline/kineto/json_scanner.hpp"
#include "timeline/kineto/trace_calls.hpp"
#include "timeline/kineto/trace_event.hpp"
#include "timeline/load.hpp"

namespace prof::kineto_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string zipped(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(text.size() + 1024, '\0');
    std::string in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

class Kineto : public testing::Test {
protected:
    std::string write(const std::string& text, const std::string& name = "trace.json") const {
        std::string path = folder_ / name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    timeline load(const std::string& text) const { return load_timeline(write(text)); }
    // A trace of these events, each an object's text.
    static std::string trace(const std::vector<std::string>& events, const std::string& head = "") {
        std::string out = "{\n" + head + "\"traceEvents\": [";
        for (const std::string& event : events) out.append(out.back() == '[' ? "\n  " : ",\n  ").append(event);
        return out + "\n]}";
    }
    static std::string host(const std::string& category, const std::string& name, const std::string& ts,
                            const std::string& dur, const std::string& args = "", int tid = 1) {
        return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 1, "tid": )" +
               std::to_string(tid) + R"(, "ts": )" + ts + R"(, "dur": )" + dur + R"(, "args": {)" + args + "}}";
    }
    static std::string kernel(const std::string& name, const std::string& ts, const std::string& dur, int correlation) {
        return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" + ts +
               R"(, "dur": )" + dur + R"(, "args": {"device": 0, "context": 1, "stream": 7, "correlation": )" +
               std::to_string(correlation) +
               R"(, "grid": [4, 2, 1], "block": [128, 1, 1], "registers per thread": 40}})";
    }
    static std::string called(int correlation, const std::string& more = "") {
        return "\"cbid\": 211, \"correlation\": " + std::to_string(correlation) + more;
    }
    static std::vector<std::string> open_at(const timeline& data, const timeline_api_call& call) {
        std::vector<std::string> out;
        for (std::uint32_t node = call.open; node != npos; node = data.open_nodes[node].below) {
            out.emplace_back(data.name(data.ranges[data.open_nodes[node].range].name));
        }
        return out;
    }

    const test::scratch_directory folder_;
};

// Of operators that multiply matrices alone, each distinct list of arguments once; odd ones do no harm.
TEST_F(Kineto, ShapesOfMultiplications) {
    const std::string shapes =
        R"("Input Dims": [[2, 3], [3, 4], []], "Input type": ["c10::Half", "c10::Half", "Scalar"],
        "Concrete Inputs": ["", "", "1"])";
    const timeline data = load(trace({
        host("cpu_op", "aten::mm", "10", "5", shapes),
        host("cpu_op", "aten::relu", "16", "1", R"("Input Dims": [[2, 3]])"),
        host("cpu_op", "aten::mm", "20", "5.5", shapes, 2),
        host("cpu_op", "aten::bmm", "30", "5",
             R"("Input Dims": [[[2, 3], [4]], [1, -2], [1,1,1,1,1,1,1,1,1], 7, ["x"]])"),
        host("cpu_op", "aten::mm", "40", "5"),
        host("user_annotation", "aten::mm", "50", "5", shapes),
    }));
    const matrix_calls& found = data.multiplications;
    ASSERT_EQ(found.list.size(), 4U);
    ASSERT_EQ(found.arguments.size(), 3U);
    const matrix_call& third = found.list[1];
    EXPECT_EQ(third.arguments, found.list[0].arguments);
    EXPECT_EQ(data.threads[third.thread].tid, 2U);
    EXPECT_EQ(third.end_ns - third.start_ns, 5'500);
    EXPECT_EQ(third.start_ns - found.list[0].start_ns, 10'000);
    const operator_argument half{.type = "c10::Half", .dims = {2, 3}};
    EXPECT_EQ(found.arguments[0].op, matrix_operator::mm);
    EXPECT_EQ(found.arguments[0].list[0], half);
    EXPECT_EQ(found.arguments[0].list[2], (operator_argument{.type = "Scalar", .value = "1"}));
    std::vector<std::vector<std::int64_t>> odd;
    for (const operator_argument& argument : found.arguments[1].list) odd.push_back(argument.dims);
    EXPECT_EQ(odd, (std::vector<std::vector<std::int64_t>>{{-1}, {-1}, {-1}, {}, {-1}}));
    EXPECT_TRUE(found.arguments[2].list.empty());
}

TEST_F(Kineto, MicrosecondsBecomeExactNanoseconds) {
    EXPECT_EQ(nanoseconds("4784592445156.325"), 4784592445156325);
    EXPECT_EQ(nanoseconds("1712195495519695"), 1712195495519695000) << "a double would lose its last digits";
    EXPECT_EQ(nanoseconds("1712195495519695.8"), 1712195495519695800);
    EXPECT_EQ(nanoseconds("0.0004"), 0);
    EXPECT_EQ(nanoseconds("0.0005"), 1);
    EXPECT_EQ(nanoseconds("1.9996"), 2000);
    EXPECT_EQ(nanoseconds("-1.5"), -1500);
    EXPECT_EQ(nanoseconds("1.5e3"), 1500000);
    for (const char* bad : {"", "x", "1x", "nan", "1e300", "99999999999999999999", "--1"}) {
        EXPECT_EQ(nanoseconds(bad), std::nullopt) << bad;
    }
}

TEST_F(Kineto, CallsAreKnownByIdAndByName) {
    const auto kind = [](api_domain domain, const char* name, std::int64_t cbid = -1) {
        return call_of(domain, name, cbid).kind;
    };
    EXPECT_EQ(call_of(api_domain::runtime, "cudaLaunchKernel", 211).cbid, 211U);
    EXPECT_TRUE(call_of(api_domain::runtime, "cudaLaunchKernel", 211).launches_kernel);
    EXPECT_EQ(call_of(api_domain::runtime, "cudaLaunchKernel", 20).cbid,
              call_of(api_domain::runtime, "cudaLaunchKernel", -1).cbid)
        << "the name decides where the id has another one";
    EXPECT_TRUE(call_of(api_domain::driver, "cuLaunchKernelEx", -1).launches_kernel);
    EXPECT_EQ(kind(api_domain::runtime, "cudaMemcpy"), api_class::blocking_launch);
    EXPECT_EQ(kind(api_domain::runtime, "cudaMemcpyAsync"), api_class::launch);
    EXPECT_EQ(kind(api_domain::runtime, "cudaStreamSynchronize"), api_class::wait);
    EXPECT_EQ(kind(api_domain::runtime, "cudaMalloc"), api_class::blocking_allocation);
    EXPECT_EQ(kind(api_domain::runtime, "cudaMallocAsync"), api_class::allocation);
    EXPECT_EQ(kind(api_domain::runtime, "cudaStreamBeginCapture"), api_class::begins_graph_capture);
    EXPECT_FALSE(call_of(api_domain::runtime, "cudaGetDevice", 17).is_recorded);
    EXPECT_TRUE(call_of(api_domain::runtime, "hipExtModuleLaunchKernel", -1).launches_kernel);
    EXPECT_EQ(kind(api_domain::runtime, "hipMemcpyWithStream"), api_class::blocking_launch);
    EXPECT_EQ(kind(api_domain::runtime, "hipDeviceSynchronize"), api_class::wait);
}

TEST_F(Kineto, AStepWithItsLaunchesIsRead) {
    const std::string head =
        R"("deviceProperties": [{"id": 0, "name": "GPU A", "numSms": 132}, {"id": 1, "name": "GPU B", "numSms": 1}],
           "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "cuda_runtime_version": 12090,
           "cuda_driver_version": 13000, "baseTimeNanoseconds": 1000000000000, )";
    const timeline data =
        load(trace({host("user_annotation", "ProfilerStep#7", "10", "90"),
                    host("cuda_runtime", "cudaLaunchKernel", "30.125", "2", called(5)),
                    host("cpu_op", "aten::mm", "25", "10", R"("Sequence number": 9)"),
                    host("user_annotation", "forward", "20", "30"), kernel("gemm", "40.001", "7.25", 5),
                    host("cuda_runtime", "cudaGetDevice", "50", "1", R"("cbid": 17, "correlation": 6)")},
                   head));
    ASSERT_EQ(data.ranges.size(), 3U);
    EXPECT_EQ(data.name(data.ranges[0].name), "ProfilerStep#7");
    EXPECT_EQ(data.ranges[0].start_ns, 1000000010000);
    EXPECT_EQ(data.ranges[0].end_ns, 1000000100000);
    EXPECT_EQ(data.ranges[1].parent, 0U);
    EXPECT_TRUE(data.ranges[2].is_operator);
    EXPECT_EQ(data.ranges[2].sequence, 9);
    ASSERT_EQ(data.api_calls.size(), 1U) << "libprof does not record cudaGetDevice";
    EXPECT_EQ(data.api_calls[0].start_ns, 1000000030125);
    EXPECT_EQ(data.api_calls[0].end_ns, 1000000032125);
    EXPECT_THAT(open_at(data, data.api_calls[0]), ElementsAre("forward", "ProfilerStep#7"));
    EXPECT_EQ(data.name(data.api_calls[0].kernel_name), "gemm");
    ASSERT_EQ(data.ops.size(), 1U);
    EXPECT_EQ(data.ops[0].launch, 0U);
    EXPECT_EQ(data.ops[0].start_ns, 1000000040001);
    EXPECT_EQ(data.ops[0].end_ns, 1000000047251);
    ASSERT_EQ(data.devices.size(), 1U) << "the host's second GPU was not used";
    EXPECT_EQ(data.name(name_id(data.devices[0].name)), "GPU A");
    EXPECT_EQ(data.devices[0].multiprocessors, 132U);
    EXPECT_EQ(data.number("rank"), 3);
    EXPECT_EQ(data.number("world_size"), 8);
    EXPECT_EQ(data.property("trace"), "read from a trace of torch.profiler (CUDA 12.9, driver 13.0)");
    EXPECT_THAT(data.quality.damage, IsEmpty());
    EXPECT_TRUE(data.quality.ended);
}

// Of modules in a trace the calls around make the path. The number of the next node is that of the next operator.
TEST_F(Kineto, CallsOfModulesArePathsWithNumbers) {
    const auto module = [](const char* name, const char* ts, const char* dur) {
        return host("python_function", name, ts, dur);
    };
    const auto op = [](const char* ts, const std::string& number, const std::string& forward_thread = "0") {
        return host("cpu_op", "aten::op", ts, "0.5",
                    "\"Sequence number\": " + number + ", \"Fwd thread id\": " + forward_thread);
    };
    const timeline data = load(trace({
        module("nn.Module: Net_0", "10", "40"),
        module("model.py(5): forward", "11", "38"),
        module("nn.Module: Linear_0", "20", "10"),
        op("21", "5"),
        op("22", "900", "1"),  // a backward node: its number is its own
        module("nn.Module: Linear_11", "31", "4"),
        module("nn.Module: odd name", "36", "3"),
        module("nn.Module: _2", "37", "1"),
        op("41", "7"),
        op("60", "8"),
        module("nn.Module: Net_1", "70", "4"),
        module("nn.Module: ", "80", "4"),
    }));
    std::vector<std::string> lines;
    for (const timeline_range& range : data.ranges) {
        if (!range.is_module) continue;
        const bool has_first = range.payload_kind == payload_type::u64;
        lines.push_back(std::string(data.name(range.name)) + ' ' +
                        (has_first ? std::to_string(range.payload) : std::string("-")) + ' ' +
                        std::to_string(range.sequence) + ' ' + std::to_string(range.end_ns - range.start_ns));
    }
    EXPECT_THAT(lines, ElementsAre("Net_0 (Net) 5 8 40000", "Net_0.Linear_0 (Linear) 5 7 10000",
                                   "Net_0.Linear_11 (Linear) 7 7 4000", "Net_0.odd name (odd name) 7 7 3000",
                                   "Net_0.odd name._2 (_2) 7 7 1000", "Net_1 (Net) - -1 4000"));
    EXPECT_THAT(data.quality.notes, testing::Contains(HasSubstr("1 Python function call is not used")));
}

// A trace of libprof whose head is damaged reads as one of torch.profiler.
TEST_F(Kineto, CallsOfModulesWithoutANameAreLeftOut) {
    const timeline data = load(trace({host("module", "", "10", "40"), host("module", "Net", "12", "9"),
                                      R"({"ph": "X", "cat": "module", "pid": 1, "tid": 1, "ts": 13, "dur": 2})"}));
    ASSERT_EQ(data.ranges.size(), 1U);
    EXPECT_EQ(data.name(data.ranges[0].name), "Net (Net)");
}

// Paths of a recursion do not grow with its depth, nor with the length of names.
TEST_F(Kineto, PathsOfModulesAreBounded) {
    std::vector<std::string> events;
    for (int i = 0; i < 300; ++i) {
        events.push_back(host("python_function", "nn.Module: Tree_0", std::to_string(i), std::to_string(1000 - 2 * i)));
    }
    events.push_back(host("python_function", "nn.Module: " + std::string(5000, 'x'), "2000", "5"));
    events.push_back(host("python_function", "nn.Module: Tree_0", "2001", "1"));
    const timeline data = load(trace(events));
    ASSERT_EQ(data.ranges.size(), 65U);
    EXPECT_EQ(data.name(data.ranges.back().name), "Tree_0 (Tree)");
    for (const timeline_range& range : data.ranges) EXPECT_LT(data.name(range.name).size(), 600U);
}

TEST_F(Kineto, OfRangesThatBeginTogetherTheLongerContainsTheOther) {
    const timeline data = load(trace({host("user_annotation", "inner", "10", "5"),
                                      host("cuda_runtime", "cudaLaunchKernel", "10", "9", called(5)),
                                      host("user_annotation", "outer", "10", "9"), kernel("k", "30", "1", 5)}));
    ASSERT_EQ(data.ranges.size(), 2U);
    EXPECT_EQ(data.name(data.ranges[0].name), "outer");
    EXPECT_EQ(data.ranges[1].parent, 0U);
    EXPECT_EQ(data.ranges[1].style, range_style::push_pop);
    EXPECT_THAT(open_at(data, data.api_calls[0]), ElementsAre("inner", "outer"));
}

TEST_F(Kineto, OfTheRuntimesAndTheDriversCallTheOuterOneCounts) {
    const timeline data = load(trace({host("cuda_driver", "cuLaunchKernelEx", "11", "1", R"("correlation": 5)"),
                                      host("cuda_runtime", "cudaLaunchKernelExC", "10", "3", R"("correlation": 5)"),
                                      host("cuda_driver", "cuLaunchKernel", "20", "1", R"("correlation": 6)"),
                                      kernel("a", "30", "1", 5), kernel("b", "32", "1", 6)}));
    ASSERT_EQ(data.api_calls.size(), 2U);
    EXPECT_EQ(data.api_calls[0].domain, api_domain::runtime);
    EXPECT_EQ(data.api_calls[1].domain, api_domain::driver);
    EXPECT_EQ(data.ops[0].launch, 0U);
    EXPECT_EQ(data.ops[1].launch, 1U);
}

TEST_F(Kineto, AutogradsThreadIsKnownByItsNameOrItsWork) {
    const auto named = [](const std::string& name, int tid) {
        return R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": )" + std::to_string(tid) +
               R"(, "args": {"name": ")" + name + "\"}}";
    };
    const std::string node = "autograd::engine::evaluate_function: MulBackward0";
    const timeline data = load(
        trace({host("cpu_op", "aten::mul", "10", "5"), host("cpu_op", node, "20", "5", "", 2),
               host("cpu_op", "MulBackward0", "21", "2", "\"Sequence number\": 1", 2),
               host("cpu_op", "aten::add", "30", "5", "", 3), named("thread 1 (python)", 1),
               named("thread 2 (python)", 2), named("thread 3 (python)", 3), named("thread 3 (pt_autograd_0)", 3)}));
    ASSERT_EQ(data.threads.size(), 3U);
    EXPECT_EQ(data.threads[0].system_name, "python");
    EXPECT_EQ(data.threads[1].system_name, "pt_autograd_0");
    EXPECT_EQ(data.threads[1].name, "python");
    EXPECT_EQ(data.threads[2].system_name, "pt_autograd_0") << "the later of its names";
    EXPECT_THAT(data.quality.notes, testing::Contains(HasSubstr("1 thread is taken for autograd's")));
}

TEST_F(Kineto, TransfersHaveTheirKinds) {
    const auto copy = [](const std::string& category, const std::string& name, int correlation) {
        return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 2, "tid": 9, "ts": )" +
               std::to_string(correlation) +
               R"(, "dur": 1, "args": {"device": 2, "context": 1, "stream": 9, "bytes": 4096, "correlation": )" +
               std::to_string(correlation) + "}}";
    };
    const timeline data = load(trace({copy("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1),
                                      copy("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 2),
                                      copy("gpu_memset", "Memset (Device)", 3), copy("gpu_memset", "Memset", 4)}));
    ASSERT_EQ(data.ops.size(), 4U);
    ASSERT_EQ(data.transfers.size(), 4U);
    const auto at = [&](std::size_t i) { return data.transfers[data.ops[i].detail]; };
    EXPECT_EQ(at(0).copy_kind, 1);
    EXPECT_EQ(at(0).source_kind, 2);
    EXPECT_EQ(at(0).destination_kind, 3);
    EXPECT_EQ(at(1).copy_kind, 2);
    EXPECT_EQ(at(1).destination_kind, 1);
    EXPECT_EQ(data.ops[2].kind, op_kind::memset);
    EXPECT_EQ(at(2).destination_kind, 3);
    EXPECT_EQ(at(2).bytes, 4096U);
    EXPECT_THAT(data.quality.damage, ElementsAre(HasSubstr("no CUDA calls, so the work is in no range")));
}

// As torch.profiler writes them, and as libprof does.
TEST_F(Kineto, CollectivesAreThoseOfTheirKernels) {
    const auto with = [](std::string event, const std::string& more) {
        return event.insert(event.size() - 2, ", " + more);
    };
    const timeline data = load(
        trace({host("cuda_runtime", "cudaLaunchKernel", "1000", "2", called(1)),
               host("cuda_runtime", "cudaLaunchKernel", "1010", "2", called(2)),
               host("cuda_runtime", "cudaLaunchKernel", "1020", "2", called(3)),
               host("cuda_runtime", "cudaLaunchKernel", "1030", "2", called(4)),
               with(kernel("ncclDevKernel_AllReduce", "1100", "5", 1),
                    R"("Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "Group size": 4,
                 "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg",
                 "Process Group Ranks": "[0, 1, 2, 3]", "Seq": 17)"),
               with(kernel("ncclDevKernel_ReduceScatter", "1110", "5", 2),
                    R"("Collective name": "_reduce_scatter_base", "In msg nelems": 400, "Out msg nelems": 100,
                 "Group size": 4, "dtype": "Float", "Process Group Name": "0")"),
               with(kernel("ncclDevKernel_SendRecv", "1120", "5", 3),
                    R"("Collective name": "send", "In msg nelems": 8, "Dst Rank": 3, "dtype": "Long",
                 "Process Group Name": "pp", "communicator": "ab12", "Rank": 1, "Seq": 0)"),
               kernel("own", "1130", "5", 4)}));
    ASSERT_EQ(data.collectives.size(), 3U);
    const collective_call& first = data.collectives[0];
    EXPECT_EQ(first.function, collective_function::all_reduce);
    EXPECT_EQ(first.bytes, 200U);
    EXPECT_EQ(first.sequence, 17U);
    EXPECT_EQ(first.source, collective_source::kineto);
    EXPECT_EQ(data.kernel_symbol(data.ops[first.op]), "ncclDevKernel_AllReduce");
    EXPECT_EQ(data.api_calls[first.call].start_ns, first.time_ns);
    const collective_call& second = data.collectives[1];
    EXPECT_EQ(second.function, collective_function::reduce_scatter);
    EXPECT_EQ(second.bytes, 400U);
    EXPECT_EQ(second.sequence, no_sequence);
    EXPECT_EQ(second.communicator, first.communicator);
    const collective_call& third = data.collectives[2];
    EXPECT_EQ(third.peer, 3);
    EXPECT_EQ(third.source, collective_source::plugin);
    ASSERT_EQ(data.communicators.size(), 2U);
    EXPECT_EQ(data.communicators[0].name, "0");
    EXPECT_EQ(data.communicators[0].ranks, 4U);
    EXPECT_EQ(data.communicators[1].id, 0xAB12U);
    EXPECT_EQ(data.communicators[1].rank, 1U);
}

TEST_F(Kineto, OddEventsAreDefined) {
    const timeline data =
        load(trace({host("user_annotation", "zero", "10", "0"), host("user_annotation", "negative", "10", "-1"),
                    R"({"ph": "X", "cat": "user_annotation", "name": "timeless", "pid": 1, "tid": 1, "dur": 1})",
                    host("python_function", "f", "1", "1"), host("blink", "paint", "1", "1"), kernel("k", "20", "1", 5),
                    kernel("k", "20", "1", 5), kernel("k", "20", "2", 5),
                    // Cut off to whole microseconds, the inner one seems to end later; the last really overlaps.
                    host("user_annotation", "outer", "30", "10"), host("user_annotation", "inner", "32", "9"),
                    host("user_annotation", "wide", "50", "50"), host("user_annotation", "across", "60", "100"),
                    host("cpu_op", "aten::across", "70", "100")}));
    std::vector<std::string> names;
    for (const timeline_range& range : data.ranges) names.emplace_back(data.name(range.name));
    EXPECT_THAT(names, ElementsAre("zero", "outer", "inner", "wide", "across"));
    EXPECT_EQ(data.ranges[0].start_ns, data.ranges[0].end_ns);
    EXPECT_EQ(data.ranges[2].parent, 1U);
    EXPECT_EQ(data.ranges[2].end_ns, data.ranges[1].end_ns);
    EXPECT_EQ(data.ranges[4].style, range_style::start_end);
    EXPECT_EQ(data.ranges[4].end_ns - data.ranges[4].start_ns, 100000);
    EXPECT_EQ(data.ops.size(), 2U);
    const auto said = [&](const std::vector<std::string>& lines, const char* words) {
        return std::any_of(lines.begin(), lines.end(),
                           [&](const std::string& line) { return line.find(words) != std::string::npos; });
    };
    EXPECT_TRUE(said(data.quality.damage, "1 event with a negative duration"));
    EXPECT_TRUE(said(data.quality.damage, "1 event without a time"));
    EXPECT_TRUE(said(data.quality.damage, "1 operator that overlaps another one"));
    EXPECT_TRUE(said(data.quality.notes, "1 GPU operation was in the trace twice"));
    EXPECT_TRUE(said(data.quality.notes, "1 range overlaps another one"));
    EXPECT_TRUE(said(data.quality.notes, "1 Python function call is not used"));
    EXPECT_TRUE(said(data.quality.notes, "kinds that are not read: blink (1)") ||
                said(data.quality.notes, "kind that is not read: blink (1)"));
}

TEST_F(Kineto, WhatIsCutOffOrDamagedLosesNoMoreThanThat) {
    std::vector<std::string> events;
    for (int i = 0; i < 100; ++i)
        events.push_back(host("user_annotation", "r" + std::to_string(i), std::to_string(10 * i), "5"));
    const std::string whole = trace(events);
    ASSERT_EQ(load(whole).ranges.size(), 100U);
    const std::size_t second = whole.find("\n  {", whole.find("\n  {") + 1) + 1;
    std::mt19937 random{7};
    for (int round = 0; round < 300; ++round) {
        const std::size_t at = second + random() % (whole.size() - second - 3);
        const std::string cut = whole.substr(0, std::min(at, whole.size() - 3));
        const auto kept = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n')) - 1;
        const timeline data = load(cut);
        EXPECT_GE(data.ranges.size() + 1, kept);
        EXPECT_THAT(data.quality.damage, testing::Contains(HasSubstr("the trace ends early")));
        std::string changed = whole;
        changed[at % (whole.size() - 20) + 20] = static_cast<char>(random() % 256);
        EXPECT_GE(load(changed).ranges.size(), 98U) << at;
    }
    const std::string packed = zipped(whole);
    EXPECT_EQ(load(packed).ranges.size(), 100U);
    EXPECT_EQ(load(packed + packed.substr(0, 0)).ranges.size(), 100U);
    const timeline half = load(packed.substr(0, packed.size() / 2));
    EXPECT_GT(half.ranges.size(), 10U);
    EXPECT_THAT(half.quality.damage, testing::Contains(HasSubstr("the compressed file is cut off")));
}

TEST_F(Kineto, WhatIsNoTraceIsRefusedInALine) {
    const auto refusal = [&](const std::string& text) -> std::string {
        try {
            load(text);
        } catch (const error& failure) {
            return failure.what();
        }
        return "read";
    };
    EXPECT_THAT(refusal("{\"a\": 1}"), HasSubstr("no trace: it has no \"traceEvents\""));
    EXPECT_THAT(refusal(zipped("[1, 2]")), HasSubstr("is compressed JSON, and its list of events is empty"));
    EXPECT_THAT(refusal(zipped("plain text")), HasSubstr("trace.json"));
    EXPECT_THAT(refusal(trace({host("blink", "a", "1", "1")})), HasSubstr("none of its 1 events"));
    EXPECT_THAT(refusal("{\"schemaVersion\": 1, \"trace"), HasSubstr("ends before the events of a trace begin"));
    EXPECT_THAT(refusal("{\"a\" 1}"), HasSubstr("a colon is missing"));
}

// Reads any JSON with the scanner into nlohmann's representation.
nlohmann::json read_value(json_scanner& in) {
    const char next = in.peek();
    if (next == '"') return std::string(in.string());
    if (next == '[') {
        nlohmann::json out = nlohmann::json::array();
        for (in.begin('['); in.next_element();) out.push_back(read_value(in));
        return out;
    }
    if (next != '{') return nlohmann::json::parse(in.word());
    nlohmann::json out = nlohmann::json::object();
    in.begin('{');
    for (std::string_view key; in.next_member(key);) {
        const std::string name(key);
        out[name] = read_value(in);
    }
    return out;
}

class random_json {
public:
    explicit random_json(unsigned seed) : random_(seed) {}

    nlohmann::json value(int depth) {
        switch (random_() % (depth > 4 ? 4 : 7)) {
            case 0:
                return static_cast<std::int64_t>(random_()) - (1LL << 31);
            case 1:
                return random_() % 2 == 0;
            case 2:
                return text();
            case 3:
                return nullptr;
            case 4:
                return static_cast<double>(random_()) / 1024;
            case 5: {
                nlohmann::json out = nlohmann::json::array();
                for (auto i = random_() % 6; i > 0; --i) out.push_back(value(depth + 1));
                return out;
            }
            default: {
                nlohmann::json out = nlohmann::json::object();
                for (auto i = random_() % 6; i > 0; --i) out[text()] = value(depth + 1);
                return out;
            }
        }
    }

private:
    std::string text() {
        static const std::vector<std::string> parts = {"a",          "\"", "\\", "\n", "\u00e9",
                                                       "\U0001F600", "/",  "\t", " ",  "\x01"};
        std::string out;
        for (auto i = random_() % 12; i > 0; --i) out += parts[random_() % parts.size()];
        if (random_() % 64 == 0) out += std::string(random_() % 3'000'000, 'x');  // beyond the scanner's buffer
        return out;
    }
    std::mt19937 random_;
};

TEST_F(Kineto, TheScannerReadsWhatAnotherProgramWrites) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const nlohmann::json value = {random_json(seed).value(0), random_json(seed + 1000).value(0)};
        const std::string written = value.dump(seed % 3 == 0 ? -1 : 2, ' ', seed % 2 == 0);
        trace_text text(write(written));
        json_scanner in(text);
        ASSERT_EQ(read_value(in), value) << seed;
        EXPECT_EQ(in.peek(), '\0');
        trace_text again(write("[" + written + "]"));
        json_scanner skipping(again);
        skipping.begin('[');
        EXPECT_TRUE(skipping.next_element());
        skipping.skip();
        EXPECT_FALSE(skipping.next_element()) << seed;
    }
}

}  // namespace
}  // namespace prof::kineto_test
