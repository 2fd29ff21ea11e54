// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/chrome_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "export/example_captures.hpp"

namespace prof::chrome_trace_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;

class text_sink final : public byte_sink {
public:
    void write(std::string_view bytes) override { text_ += bytes; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// A trace, parsed again by somebody else's parser (which refuses what is not JSON, and text that is not UTF-8).
class parsed_trace {
public:
    explicit parsed_trace(const timeline& data) {
        text_sink sink;
        counts_ = write_chrome_trace(data, attribute(data), sink, "the trace");
        text_ = sink.text();
        whole_ = json::parse(text_);
    }

    const json& whole() const { return whole_; }
    const std::string& text() const { return text_; }
    const trace_counts& counts() const { return counts_; }

    std::vector<json> events(const std::string& phase, const std::string& category = {}) const {
        std::vector<json> out;
        for (const json& event : whole_["traceEvents"]) {
            if (event["ph"] == phase && (category.empty() || event["cat"] == category)) out.push_back(event);
        }
        return out;
    }
    json event(const std::string& category, const std::string& name) const {
        for (const json& e : whole_["traceEvents"]) {
            if (e.contains("cat") && e["cat"] == category && e["name"] == name) return e;
        }
        return {};
    }
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> row_names() const {
        std::map<std::pair<std::int64_t, std::int64_t>, std::string> out;
        for (const json& e : events("M")) {
            if (e["name"] == "thread_name") out[{e["pid"], e["tid"]}] = e["args"]["name"];
        }
        return out;
    }

private:
    std::string text_;
    json whole_;
    trace_counts counts_;
};

const parsed_trace& eventful() {
    static const parsed_trace trace(eventful_capture());
    return trace;
}

std::int64_t ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

TEST(ChromeTrace, HasTheOriginInItsHeader) {
    const json& whole = eventful().whole();
    EXPECT_EQ(whole["schemaVersion"], 1);
    EXPECT_EQ(whole["displayTimeUnit"], "ms");
    EXPECT_EQ(whole["baseTimeNanoseconds"], eventful_capture().start_ns);
    EXPECT_EQ(whole["traceName"], "the trace");
    EXPECT_EQ(whole["deviceProperties"][0]["name"], "NVIDIA H200");
    EXPECT_EQ(whole["deviceProperties"][0]["numSms"], 132);
    EXPECT_EQ(whole["distributedInfo"]["rank"], 3);
    EXPECT_EQ(whole["distributedInfo"]["world_size"], 8);
    EXPECT_NE(eventful().text().find("\"rank\": 3"), std::string::npos) << "HTA wants the blank";
    EXPECT_EQ(whole["libprof"]["dropped"]["ring_full"], 12);
    EXPECT_EQ(whole["libprof"]["capture"]["command"], "python train.py");
}

TEST(ChromeTrace, CountsWhatItWrote) {
    const trace_counts& counts = eventful().counts();
    EXPECT_EQ(counts.host_ranges, 7U);
    EXPECT_EQ(counts.process_ranges, 1U);
    EXPECT_EQ(counts.gpu_ops, 11U);
    EXPECT_EQ(counts.flows, 9U);  // two operations have no launch
    // A mark, a launch that did not complete, dropped records, a counter's value that is no number.
    EXPECT_EQ(counts.instants, 4U);
    EXPECT_EQ(counts.counters, 2U);
    EXPECT_EQ(eventful().events("X", "user_annotation").size(), counts.host_ranges);
    EXPECT_EQ(eventful().events("X", "cuda_runtime").size() + eventful().events("X", "cuda_driver").size(),
              counts.api_calls);
    EXPECT_EQ(eventful().events("X", "kernel").size() + eventful().events("X", "gpu_memcpy").size() +
                  eventful().events("X", "gpu_memset").size(),
              counts.gpu_ops);
    EXPECT_EQ(eventful().events("X", "gpu_user_annotation").size(), counts.projected_ranges);
    EXPECT_EQ(eventful().events("s", "ac2g").size(), counts.flows);
    EXPECT_EQ(eventful().events("f", "ac2g").size(), counts.flows);
    EXPECT_EQ(eventful().events("b").size(), counts.process_ranges);
    EXPECT_EQ(eventful().events("e").size(), counts.process_ranges);
    EXPECT_EQ(eventful().events("i").size(), counts.instants);
    EXPECT_EQ(eventful().events("C").size(), counts.counters);
}

TEST(ChromeTrace, WritesTheValuesOfCounters) {
    std::vector<double> values;
    for (const json& event : eventful().events("C")) {
        EXPECT_EQ(event["name"], "loss");
        values.push_back(event["args"]["value"]);
    }
    EXPECT_THAT(values, ElementsAre(0.75, 0.5));
}

TEST(ChromeTrace, WritesEveryAttributeOfARange) {
    const json forward = eventful().event("user_annotation", "forward");
    EXPECT_EQ(forward["pid"], 4711);
    EXPECT_EQ(forward["tid"], 1001);
    EXPECT_EQ(ns(forward["ts"]), 1100);
    EXPECT_EQ(ns(forward["dur"]), 1900);
    EXPECT_EQ(forward["args"]["payload"], 0.5);
    EXPECT_EQ(forward["args"]["color"], "#FF00FF7F");
    EXPECT_EQ(forward["args"]["category"], "9");
    EXPECT_EQ(eventful().event("user_annotation", "batch")["args"]["domain"], "data \"loader\"");
}

TEST(ChromeTrace, WritesWaitsAndAllocationsBesideLaunches) {
    const auto enter = [](std::uint64_t ns, std::uint64_t key, std::uint32_t cbid, api_domain domain, api_class kind) {
        return record{.ticks = ns,
                      .value = key,
                      .category = cbid,
                      .domain = static_cast<std::uint16_t>(domain),
                      .kind = record_kind::api_enter,
                      .flags = static_cast<std::uint8_t>(kind)};
    };
    capture_builder capture;
    thread_script& main = capture.thread("python");
    main.add({.ticks = 100,
              .value = 4096,
              .name = capture.name("ncclAllReduce"),
              .kind = record_kind::range_push,
              .flags = static_cast<std::uint8_t>(payload_type::bytes)});
    main.add(enter(200, 1, 131, api_domain::runtime, api_class::wait)).exit(700, 1);
    main.add(enter(800, 2, 598, api_domain::driver, api_class::allocation)).exit(850, 2);
    main.pop(900);
    const parsed_trace trace(capture.build());
    const json range = trace.event("user_annotation", "ncclAllReduce");
    EXPECT_EQ(range["args"]["bytes"], 4096);
    EXPECT_FALSE(range["args"].contains("payload"));
    const json wait = trace.event("cuda_runtime", "cudaStreamSynchronize");
    EXPECT_EQ(ns(wait["dur"]), 500);
    EXPECT_EQ(wait["args"]["External id"], range["args"]["External id"]);
    EXPECT_EQ(ns(trace.event("cuda_driver", "cuMemAllocAsync")["dur"]), 50);
    EXPECT_TRUE(trace.events("s").empty()) << "they lead to no work";
}

TEST(ChromeTrace, WritesAKernelInKinetosDialect) {
    const json gemm = eventful().event("kernel", "gemm(float*)");
    EXPECT_EQ(gemm["pid"], 0);
    EXPECT_EQ(gemm["tid"], 7);
    const json& args = gemm["args"];
    EXPECT_EQ(args["device"], 0);
    EXPECT_EQ(args["context"], 1);
    EXPECT_EQ(args["stream"], 7);
    EXPECT_EQ(args["correlation"], 1);
    EXPECT_EQ(args["grid"], json({264, 1, 1}));
    EXPECT_EQ(args["block"], json({256, 1, 1}));
    EXPECT_EQ(args["registers per thread"], 32);
    EXPECT_EQ(args["shared memory"], 1016);
    EXPECT_EQ(args["blocks per SM"], 2.0);
    EXPECT_EQ(args["warps per SM"], 16.0);
    EXPECT_EQ(args["est. achieved occupancy %"], 25);
    EXPECT_EQ(args["External id"], eventful().event("user_annotation", "forward")["args"]["External id"]);
    EXPECT_FALSE(args.contains("adopted"));
    EXPECT_EQ(eventful().event("kernel", "backward_kernel")["args"]["adopted"], true);
    EXPECT_EQ(eventful().event("kernel", "graph_a")["args"]["graph id"], 5);
}

TEST(ChromeTrace, WritesTransfersInKinetosDialect) {
    const json copy = eventful().event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)");
    EXPECT_EQ(copy["args"]["bytes"], 4'000'000);
    EXPECT_EQ(copy["args"]["memory bandwidth (GB/s)"], 2000.0);  // 4 MB in 2 us
    const json set = eventful().event("gpu_memset", "Memset (Device)");
    EXPECT_EQ(ns(set["dur"]), 0);
    EXPECT_EQ(set["args"]["memory bandwidth (GB/s)"], 0.0);
    EXPECT_TRUE(eventful().event("gpu_memcpy", "Memcpy PtoP (Device -> Device)")["args"].contains("toDevice"));
}

// A launch, one by a function that the runtime does not use, and a copy; recorded as PROF_API_CALLS says.
parsed_trace trace_of_driver_calls(const char* api_calls) {
    const auto enter = [](std::uint64_t ns, std::uint64_t key, std::uint32_t cbid) {
        return record{.ticks = ns,
                      .value = key,
                      .category = cbid,
                      .domain = static_cast<std::uint16_t>(api_domain::driver),
                      .kind = record_kind::api_enter};
    };
    capture_builder capture;
    capture.parts().properties = {{"api_calls", api_calls}, {"cuda_runtime", "program"}};
    capture.thread("python")
        .add(enter(100, 1, 307))
        .exit(200, 1)
        .add(enter(300, 2, 220))
        .exit(400, 2)
        .add(enter(500, 3, 277))
        .exit(600, 3);
    return parsed_trace(capture.build());
}

TEST(ChromeTrace, NamesDriverCallsAfterTheRuntimeAndKeepsTheirOwnName) {
    const parsed_trace trace = trace_of_driver_calls("driver");
    const json launch = trace.event("cuda_runtime", "cudaLaunchKernel");
    EXPECT_EQ(launch["args"]["call"], "cuLaunchKernel");
    EXPECT_EQ(launch["args"]["cbid"], 307) << "of what was observed";
    EXPECT_EQ(ns(launch["dur"]), 100);
    EXPECT_EQ(trace.event("cuda_runtime", "cudaMemcpyAsync")["args"]["call"], "cuMemcpyHtoDAsync");
    const json set = trace.event("cuda_driver", "cuMemsetD32Async");
    EXPECT_EQ(set["args"]["cbid"], 220);
    EXPECT_FALSE(set["args"].contains("call"));
}

TEST(ChromeTrace, KeepsDriverNamesWhenRuntimeCallsWereRecorded) {
    const parsed_trace trace = trace_of_driver_calls("runtime");
    const json launch = trace.event("cuda_driver", "cuLaunchKernel");
    EXPECT_EQ(launch["args"]["cbid"], 307);
    EXPECT_FALSE(launch["args"].contains("call"));
    EXPECT_TRUE(trace.events("X", "cuda_runtime").empty());
}

TEST(ChromeTrace, NamesCallsAndKeepsThemOffStreams) {
    EXPECT_EQ(eventful().event("cuda_runtime", "cudaLaunchKernel")["args"]["cbid"], 211);
    EXPECT_EQ(eventful().event("cuda_driver", "cuLaunchKernel")["args"]["correlation"], 5);
    EXPECT_EQ(eventful().event("cuda_runtime", "runtime call 99999")["args"]["cbid"], 99'999);
    const std::vector<json> calls = eventful().events("X", "cuda_runtime");
    for (const json& call : calls) EXPECT_FALSE(call["args"].contains("stream"));
    EXPECT_TRUE(std::any_of(calls.begin(), calls.end(),
                            [](const json& call) { return call["args"].value("kernel", "") == "lost_kernel"; }));
    EXPECT_TRUE(std::any_of(calls.begin(), calls.end(),
                            [](const json& call) { return !call["args"].value("returned", true); }));
}

TEST(ChromeTrace, GivesEachCallOfEachAttachmentACorrelationOfItsOwn) {
    std::vector<std::uint64_t> correlations;
    for (const char* category : {"cuda_runtime", "cuda_driver"}) {
        for (const json& call : eventful().events("X", category)) correlations.push_back(call["args"]["correlation"]);
    }
    std::sort(correlations.begin(), correlations.end());
    EXPECT_EQ(std::adjacent_find(correlations.begin(), correlations.end()), correlations.end());
    EXPECT_EQ(eventful().event("kernel", "late_kernel")["args"]["correlation"], 4'294'967'297U);
}

// The slice at whose row and within which an arrow's end lies, with the correlation it should have.
bool lies_in(const json& end, const json& slice) {
    return slice["pid"] == end["pid"] && slice["tid"] == end["tid"] && ns(slice["ts"]) <= ns(end["ts"]) &&
           ns(end["ts"]) <= ns(slice["ts"]) + ns(slice["dur"]);
}

TEST(ChromeTrace, DrawsAFlowFromEachCallToItsWork) {
    std::map<std::uint64_t, json> starts;
    for (const json& start : eventful().events("s")) {
        EXPECT_TRUE(starts.emplace(start["id"], start).second) << "one id, two arrows";
    }
    // An arrow stands right behind its slice in the file; that is how viewers know it.
    std::map<std::uint64_t, std::uint64_t> from;
    std::map<std::uint64_t, std::uint64_t> to;
    json slice;
    for (const json& event : eventful().whole()["traceEvents"]) {
        if (event["ph"] == "X") slice = event;
        if (event["ph"] == "s" || event["ph"] == "f") {
            ASSERT_TRUE(lies_in(event, slice)) << event;
            (event["ph"] == "s" ? from : to)[event["id"]] = slice["args"]["correlation"];
        }
    }
    EXPECT_EQ(from.size(), 9U);
    EXPECT_EQ(from, to);
}

TEST(ChromeTrace, ProjectsRangesOnTheStreamsTheyUsed) {
    // forward launched gemm [2000, 5000) and, with batch and decode open, the graph [5000, 7000) on stream 7, and the
    // copy [2500, 4500) on stream 20.
    std::vector<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>> found;
    for (const json& e : eventful().events("X", "gpu_user_annotation")) {
        EXPECT_FALSE(e["args"].contains("stream")) << "HTA takes what has a stream for GPU work";
        const std::string name = e["name"];
        if (name == "forward" || name == "decode" || name == "backward" || name == "checkpoint recompute") {
            found.emplace_back(name, e["args"].value("ops", 0), ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]));
        }
    }
    EXPECT_THAT(
        found, testing::UnorderedElementsAre(std::tuple("forward", 4, 2000, 7000), std::tuple("forward", 1, 2500, 4500),
                                             std::tuple("decode", 3, 5000, 7000), std::tuple("backward", 1, 7000, 8000),
                                             std::tuple("checkpoint recompute", 1, 7000, 8000)));
}

// A captured range has no slice on the host that would say so.
TEST(ChromeTrace, GivesTheDomainOfARangeOnTheGpu) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("python")
        .begin_capture(1, 90)
        .push(2, "sum", nccl)
        .node(3, 77)
        .pop(4, nccl)
        .push(10, "step")
        .launch(11, 1)
        .push(13, "copy", nccl)
        .launch(14, 2)
        .pop(16, nccl)
        .pop(17);
    capture.kernel(1, 100, 110, {.graph_node = 77}).kernel(2, 110, 120);
    const parsed_trace trace(capture.build());
    std::vector<std::string> found;
    for (const json& e : trace.events("X", "gpu_user_annotation")) {
        found.push_back(e["name"].get<std::string>() + ' ' + e["args"].value("domain", "-") +
                        (e["args"].contains("captured") ? " captured" : ""));
    }
    EXPECT_THAT(found, testing::UnorderedElementsAre("step -", "sum NCCL captured", "copy NCCL"));
}

TEST(ChromeTrace, HasNoPartlyOverlappingSlices) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
    for (const json& e : eventful().events("X")) {
        rows[{e["pid"], e["tid"]}].emplace_back(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]));
    }
    for (const auto& [row, slices] : rows) {
        for (const auto& a : slices) {
            for (const auto& b : slices) {
                EXPECT_FALSE(a.first < b.first && b.first < a.second && a.second < b.second)
                    << row.first << '/' << row.second << ": " << a.first << '-' << a.second << ", " << b.first;
            }
        }
    }
}

TEST(ChromeTrace, PutsOverlappingSlicesOnSpillRows) {
    const json batch = eventful().event("user_annotation", "batch");
    EXPECT_EQ(batch["tid"], 10'001'001);
    EXPECT_EQ(eventful().event("user_annotation", "decode")["tid"], 10'001'001);
    const auto names = eventful().row_names();
    EXPECT_EQ(names.at({4711, 1001}), "python");
    EXPECT_EQ(names.at({4711, 10'001'001}), "python (ranges 2)");
    EXPECT_EQ(names.at({0, 7}), "stream 7");
    std::vector<std::string> streams_of_graph_b;
    for (const json& e : eventful().events("X", "kernel")) {
        if (e["name"] != "graph_b") continue;
        EXPECT_EQ(e["args"]["stream"], 7);
        streams_of_graph_b.push_back(names.at({0, e["tid"]}));
    }
    EXPECT_THAT(streams_of_graph_b, ElementsAre("stream 7", "stream 7 (concurrent 2)"));
}

TEST(ChromeTrace, KeepsHostileNames) {
    const std::string shown = printable(hostile_name);
    EXPECT_EQ(eventful().event("user_annotation", shown)["name"], shown);
    EXPECT_EQ(eventful().event("kernel", shown)["name"], shown);
    EXPECT_EQ(original_bytes(shown), hostile_name);
}

TEST(ChromeTrace, KeepsAMegabyteLongName) {
    capture_builder capture;
    const std::string name(1 << 20, 'T');
    capture.thread("python").push(10, name).pop(20);
    EXPECT_EQ(parsed_trace(capture.build()).event("user_annotation", name)["name"], name);
}

TEST(ChromeTrace, IsValidForAnEmptyTimeline) {
    const parsed_trace empty{timeline{}};
    EXPECT_EQ(empty.whole()["distributedInfo"]["rank"], 0);
    EXPECT_TRUE(empty.events("X").empty());
}

TEST(ChromeTrace, KeepsTheHostApartFromAGpuOfTheSameNumber) {
    capture_builder capture;
    capture.parts().properties["pid"] = "0";
    capture.thread("python").push(0, "forward").launch(10, 1).pop(20);
    capture.kernel(1, 30, 40);
    const parsed_trace trace(capture.build());
    EXPECT_EQ(trace.event("user_annotation", "forward")["pid"], 10'000'000);
    EXPECT_EQ(trace.events("X", "kernel")[0]["pid"], 0);
}

// A double has 53 bits, and a number beyond them is rounded by viewers (perfetto_test.py looks at more).
TEST(ChromeTrace, WritesPayloadsAsTextWhereANumberWouldBeRounded) {
    const parsed_trace trace(edge_capture());
    const auto payload = [&](const char* name) { return trace.event("user_annotation", name)["args"]["payload"]; };
    EXPECT_EQ(payload("largest u64"), "18446744073709551615");
    EXPECT_EQ(payload("smallest i64"), "-9223372036854775808");
    EXPECT_EQ(payload("2^53 + 1"), "9007199254740993");
    EXPECT_EQ(payload("-2^53 - 1"), "-9007199254740993");
    EXPECT_EQ(payload("2^53 - 1"), 9007199254740991);
    EXPECT_EQ(payload("-1"), -1);
    EXPECT_EQ(trace.event("user_annotation", "bytes")["args"]["bytes"], "18446744073709551615");
}

TEST(ChromeTrace, SeparatesStreamsOfContexts) {
    const parsed_trace trace(edge_capture());
    const std::map<std::pair<std::int64_t, std::int64_t>, std::string> rows = trace.row_names();
    EXPECT_EQ(rows.at({0, 7}), "stream 7 of context 1 compute");
    EXPECT_EQ(rows.at({0, 14}), "stream 7 of context 2 copies");
    EXPECT_EQ(rows.at({0, 13}), "stream 13 of context 2 either") << "named by an older libprof";
    EXPECT_EQ(rows.at({1, 7}), "stream 7") << "the names are those of another GPU's streams";
    for (const json& event : trace.events("X", "kernel")) {
        EXPECT_EQ(event["args"]["stream"], event["tid"] == 14 ? json(7) : event["tid"]);
    }
}

TEST(ChromeTrace, ShowsTheCapturedRangesOfEachReplay) {
    const parsed_trace trace(graph_capture());
    std::vector<std::string> found;
    std::map<std::uint64_t, std::string> by_id;
    for (const json& e : trace.events("X", "gpu_user_annotation")) {
        const bool captured = e["args"].contains("captured");
        found.push_back((captured ? "*" : "") + e["name"].get<std::string>() + ' ' + std::to_string(ns(e["ts"])) + ' ' +
                        std::to_string(ns(e["dur"])));
        EXPECT_TRUE(by_id.emplace(e["args"]["External id"], e["name"]).second) << "each stands for itself";
    }
    EXPECT_THAT(found, ElementsAre("step 1 1100 460", "*forward 1100 150", "*backward 1260 300", "step 2 2100 460",
                                   "*forward 2100 150", "*backward 2260 300", "whole 3100 300"));
    const std::map<std::string, std::string> range_of = {
        {"attention", "forward"}, {"mlp", "forward"}, {"gradients", "backward"}, {"CUDA graph 7", "whole"}};
    const auto kernels = trace.events("X", "kernel");
    ASSERT_EQ(kernels.size(), 7U);
    for (const json& e : kernels) EXPECT_EQ(by_id[e["args"]["External id"]], range_of.at(e["name"])) << e;
}

TEST(ChromeTrace, ShowsAGraphRecordedAsAWholeAsAKernel) {
    const parsed_trace trace(graph_capture());
    const json graph = trace.event("kernel", "CUDA graph 7");
    EXPECT_EQ(ns(graph["ts"]), 3100);
    EXPECT_EQ(ns(graph["dur"]), 300);
    EXPECT_EQ(graph["pid"], 0);
    EXPECT_EQ(graph["tid"], 7);
    EXPECT_EQ(graph["args"]["stream"], 7);
    EXPECT_EQ(graph["args"]["correlation"], 9);
    EXPECT_EQ(graph["args"]["graph id"], 7);
    EXPECT_FALSE(graph["args"].contains("grid"));
}

}  // namespace
}  // namespace prof::chrome_trace_test
