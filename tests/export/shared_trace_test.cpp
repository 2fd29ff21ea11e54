// SPDX-License-Identifier: Apache-2.0
// Several captures in one Chrome trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "export/chrome/chrome_trace.hpp"
#include "export/example_captures.hpp"

namespace prof::shared_trace_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class string_sink final : public byte_sink {
public:
    void write(std::string_view bytes) override { text += bytes; }
    std::string text;
};

struct written_trace {
    std::string text;
    json whole;
    trace_counts counts;

    std::vector<json> events(const std::string& phase) const {
        std::vector<json> out;
        for (const json& event : whole["traceEvents"]) {
            if (event["ph"] == phase) out.push_back(event);
        }
        return out;
    }
    // What the metadata `name` says, by pid.
    std::map<std::int64_t, json> of_processes(const std::string& name, const std::string& key) const {
        std::map<std::int64_t, json> out;
        for (const json& event : events("M")) {
            if (event["name"] == name) out[event["pid"]] = event["args"][key];
        }
        return out;
    }
};

written_trace write_trace(const std::vector<timeline>& captures) {
    std::vector<attribution> attributed;
    for (const timeline& data : captures) attributed.push_back(attribute(data));
    std::vector<traced_capture> traced;
    for (std::size_t i = 0; i < captures.size(); ++i) traced.push_back({captures[i], attributed[i]});
    string_sink sink;
    written_trace out;
    out.counts = write_chrome_trace(traced, sink, "shared");
    out.text = sink.text;
    out.whole = json::parse(sink.text);
    return out;
}

// All values of an argument, split by whether they stand in the first capture's part of the trace.
std::pair<std::set<std::uint64_t>, std::set<std::uint64_t>> values_of(const written_trace& trace, const char* key,
                                                                      const std::set<std::int64_t>& first_pids) {
    std::pair<std::set<std::uint64_t>, std::set<std::uint64_t>> out;
    for (const json& event : trace.whole["traceEvents"]) {
        if (!event.contains("args") || !event["args"].contains(key)) continue;
        (first_pids.contains(event["pid"]) ? out.first : out.second).insert(event["args"][key].get<std::uint64_t>());
    }
    return out;
}

std::set<std::uint64_t> in_both(const std::pair<std::set<std::uint64_t>, std::set<std::uint64_t>>& values) {
    std::set<std::uint64_t> out;
    std::set_intersection(values.first.begin(), values.first.end(), values.second.begin(), values.second.end(),
                          std::inserter(out, out.end()));
    return out;
}

TEST(SharedTrace, GivesEachCaptureNumbersOfItsOwn) {
    for (const timeline& data : {eventful_capture(), graph_capture(), edge_capture()}) {
        const written_trace alone = write_trace({data});
        const written_trace trace = write_trace({data, data});

        const auto names = trace.of_processes("process_name", "name");
        EXPECT_EQ(names.size(), 2 * alone.of_processes("process_name", "name").size());
        std::set<std::pair<std::int64_t, std::int64_t>> rows;
        for (const json& event : trace.events("M")) {
            if (event["name"] == "thread_name") {
                EXPECT_TRUE(rows.emplace(event["pid"], event["tid"]).second) << event;
            }
        }
        for (const char* phase : {"X", "s", "f", "b", "e", "i"}) {
            EXPECT_EQ(trace.events(phase).size(), 2 * alone.events(phase).size()) << phase;
        }
        EXPECT_EQ(trace.counts.flows, 2 * alone.counts.flows);
        EXPECT_EQ(trace.counts.host_ranges, 2 * alone.counts.host_ranges);

        std::set<std::int64_t> first;
        for (const json& event : alone.whole["traceEvents"]) first.insert(event["pid"].get<std::int64_t>());
        EXPECT_THAT(in_both(values_of(trace, "External id", first)), IsEmpty());
        EXPECT_THAT(in_both(values_of(trace, "correlation", first)), IsEmpty());
        for (const char* phase : {"s", "f", "b", "e"}) {
            std::set<std::uint64_t> ids;
            for (const json& event : trace.events(phase)) {
                EXPECT_TRUE(ids.insert(event["id"].get<std::uint64_t>()).second) << event;
            }
        }
        std::map<std::uint64_t, bool> starts_in_first;
        for (const json& event : trace.events("s")) starts_in_first[event["id"]] = first.contains(event["pid"]);
        for (const json& event : trace.events("f")) {
            EXPECT_EQ(starts_in_first.at(event["id"]), first.contains(event["pid"])) << "no arrow joins captures";
        }
    }
}

TEST(SharedTrace, LeavesTheFirstCaptureAsItIsAlone) {
    const json alone = write_trace({eventful_capture()}).whole["traceEvents"];
    const json shared = write_trace({eventful_capture(), edge_capture()}).whole["traceEvents"];
    ASSERT_GT(shared.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
        if (alone[i]["name"] == "process_name") continue;
        EXPECT_EQ(alone[i], shared[i]);
    }
}

TEST(SharedTrace, NamesAndOrdersProcessesByCapture) {
    const written_trace trace = write_trace({steps_capture(0), steps_capture(1)});
    std::map<std::int64_t, std::string> names;
    const auto order = trace.of_processes("process_sort_index", "sort_index");
    for (const auto& [pid, name] : trace.of_processes("process_name", "name")) names[order.at(pid)] = name;
    std::vector<std::string> in_order;
    for (const auto& [place, name] : names) in_order.push_back(name);
    EXPECT_THAT(in_order, ElementsAre("python3.11, rank 0", "GPU 0 NVIDIA H200 of python3.11, rank 0",
                                      "python3.11, rank 1", "GPU 0 NVIDIA H200 of python3.11, rank 1"));
}

TEST(SharedTrace, SaysOfEachCaptureWhereItComesFrom) {
    const written_trace trace = write_trace({eventful_capture(), edge_capture(), eventful_capture()});
    EXPECT_FALSE(trace.whole.contains("distributedInfo")) << "it is no rank's";
    EXPECT_EQ(trace.whole["deviceProperties"].size(),
              write_trace({eventful_capture()}).whole["deviceProperties"].size());
    ASSERT_EQ(trace.whole["libprof"]["captures"].size(), 3U);
    EXPECT_EQ(trace.whole["libprof"]["captures"][0]["dropped"]["ring_full"], 12);
    EXPECT_EQ(trace.whole["libprof"]["captures"][1]["dropped"].size(), 0U);
    EXPECT_EQ(trace.whole["libprof"]["captures"][2]["capture"]["command"], "python train.py");
}

TEST(SharedTrace, CountsFromTheEarliestMoment) {
    const timeline late = dense_capture();
    const timeline early = eventful_capture();
    ASSERT_GT(trace_heading_of(late).earliest_ns, trace_heading_of(early).earliest_ns);
    const written_trace trace = write_trace({late, early});
    EXPECT_EQ(trace.whole["baseTimeNanoseconds"], trace_heading_of(early).earliest_ns);
    const json alone = write_trace({early}).whole;
    const auto times = [](const json& whole, const char* name) {
        for (const json& event : whole["traceEvents"]) {
            if (event["name"] == name && event["ph"] == "X") return event["ts"];
        }
        return json();
    };
    EXPECT_EQ(times(trace.whole, "forward"), times(alone, "forward"));
}

// Ranks may be large: one is loaded after another, for its heading and then for its events.
TEST(SharedTrace, NeedsOneCaptureAtATime) {
    std::vector<trace_heading> headings;
    for (const unsigned rank : {0U, 1U}) headings.push_back(trace_heading_of(steps_capture(rank)));
    string_sink sink;
    chrome_trace trace(sink, "shared");
    trace.begin(headings);
    for (const unsigned rank : {0U, 1U}) {
        const timeline data = steps_capture(rank);
        EXPECT_GT(trace.add(data, attribute(data)).gpu_ops, 0U);
    }
    trace.end();
    EXPECT_EQ(sink.text, write_trace({steps_capture(0), steps_capture(1)}).text);
}

TEST(SharedTrace, OfNoCaptureIsATrace) {
    const written_trace trace = write_trace({});
    EXPECT_THAT(trace.whole["traceEvents"], IsEmpty());
    EXPECT_THAT(trace.whole["libprof"]["captures"], IsEmpty());
}

}  // namespace
}  // namespace prof::shared_trace_test
