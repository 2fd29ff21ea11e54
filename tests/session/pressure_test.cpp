// SPDX-License-Identifier: Apache-2.0
// More than libprof can keep, or than CUPTI can do (pressure_victim.cpp): what is kept is right, and the rest is
// counted.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "support/profiled_program.hpp"
#include "support/sanitized.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

const std::string victim = PROF_TEST_VICTIM;

using environment = std::map<std::string, std::string>;

struct Pressure : testing::Test, profiled_program {
    // The program's outcome is what it is without libprof.
    process_result run(const environment& e, std::vector<std::string> words) const {
        const auto result = profiled_program::run(std::move(words), e);
        EXPECT_EQ(result.exit_code(), 3) << result.err;
        EXPECT_EQ(result.out, "done\n");
        EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        return result;
    }
};

std::uint64_t dropped(const timeline& data, drop_cause cause) {
    const auto found = data.quality.dropped.find(std::string{to_string(cause)});
    return found == data.quality.dropped.end() ? 0 : found->second;
}

std::uint64_t launches(const timeline& data) {
    return static_cast<std::uint64_t>(std::count_if(data.api_calls.begin(), data.api_calls.end(),
                                                    [](const auto& c) { return c.kind == api_class::launch; }));
}

// How many operations belong to a range of that name.
std::uint64_t operations_of(const timeline& data, const std::string& range) {
    const attribution att = attribute(data);
    std::uint64_t count = 0;
    for (const range_id owner : att.owner) {
        if (is_range(owner) && data.name(data.ranges[owner].name) == range) ++count;
    }
    return count;
}

// Some ten million ranges a second, where the machine can.
TEST_F(Pressure, CountsEveryRangeOfThreadsThatFloodTheirRings) {
    constexpr std::uint64_t threads = 4;
    constexpr std::uint64_t each = random_cases(500'000);
    environment e = with();
    e.erase("FAKE_GPU_CLOCK");  // how fast they were is looked at
    run(e, {"flood", std::to_string(threads), std::to_string(each)});
    const timeline data = only_capture();
    EXPECT_EQ(data.ranges.size() + dropped(data, drop_cause::ring_full), threads * each);
    EXPECT_EQ(data.quality.dropped.size(), data.ranges.size() == threads * each ? 0U : 1U);
    const auto by_start = [](const timeline_range& a, const timeline_range& b) { return a.start_ns < b.start_ns; };
    const auto [first, last] = std::minmax_element(data.ranges.begin(), data.ranges.end(), by_start);
    ASSERT_LT(first->start_ns, last->start_ns);
    std::printf("%.1f million ranges a second, %zu of %" PRIu64 " recorded\n",
                1e3 * static_cast<double>(threads * each) / static_cast<double>(last->start_ns - first->start_ns),
                data.ranges.size(), threads * each);
}

TEST_F(Pressure, KeepsTheNameOfEveryRecordedRange) {
    environment e = with();
    e["PROF_MEMORY"] = "16M";
    constexpr std::uint64_t count = random_cases(200'000);
    run(e, {"names", std::to_string(count)});
    const timeline data = only_capture();
    const std::uint64_t lost = dropped(data, drop_cause::ring_full);
    std::uint64_t in_order = 0;
    std::int64_t latest = -1;
    for (const auto& range : data.ranges) {
        const std::string name{data.name(range.name)};
        ASSERT_EQ(name.rfind("name ", 0), 0U) << name;
        const std::int64_t number = std::stoll(name.substr(5));
        in_order += number > latest ? 1 : 0;
        latest = number;
    }
    EXPECT_GT(in_order, 1000U);
    EXPECT_EQ(in_order, data.ranges.size());
    EXPECT_EQ(dropped(data, drop_cause::names_full), 0U);
    // One call waits at the end.
    EXPECT_EQ(lost, (count - data.ranges.size()) + (count + 1 - data.api_calls.size()));
}

TEST_F(Pressure, CountsLossesOfThousandsOfShortThreads) {
    constexpr std::uint64_t threads = 5000;
    run(with(), {"churn", std::to_string(threads)});
    const timeline data = only_capture();
    // Where the drain thread does not get its turn, rings of threads that ended are not free in time for others.
    const std::uint64_t ringless = threads - data.ranges.size();
    EXPECT_LT(ringless, threads - 1000) << "there are that many rings for the first of them";
    EXPECT_GE(dropped(data, drop_cause::no_ring), ringless);
    // Where fifty threads find CUPTI's buffer full at once, each asks for one, and there are twenty.
    const std::uint64_t bufferless = dropped(data, drop_cause::cupti_dropped);
    EXPECT_LT(bufferless, 1000U);
    EXPECT_EQ(data.quality.dropped.empty(), ringless + bufferless == 0) << testing::PrintToString(data.quality.dropped);
    EXPECT_EQ(operations_of(data, "work") + bufferless, data.ranges.size()) << launches(data) << " launches";
}

TEST_F(Pressure, MatchesRecordsOfLateAndReorderedBuffers) {
    constexpr std::uint64_t count = 20'000;
    const auto result = run(with(), {"late", std::to_string(count)});
    const timeline data = only_capture();
    // What found no buffer is counted, by CUPTI itself.
    EXPECT_EQ(data.ops.size() + dropped(data, drop_cause::cupti_dropped), count);
    EXPECT_GT(data.ops.size(), 1000U);
    EXPECT_EQ(operations_of(data, "work"), data.ops.size());
    EXPECT_EQ(data.ranges.size(), count);
}

TEST_F(Pressure, CountsAKernelThatNeverEnds) {
    constexpr std::uint64_t count = 100;
    run(with(), {"never", std::to_string(count)});
    const timeline data = only_capture();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(launches(data), count);
    EXPECT_EQ(operations_of(data, "work"), count - 1);
    EXPECT_EQ(data.ops.size(), count - 1);
    EXPECT_EQ(data.quality.launches_without_completion, 1U);
    EXPECT_EQ(dropped(data, drop_cause::cupti_no_timestamp), 1U);
}

// The ids run from a little before the last to a little after the first. None is mistaken for another.
TEST_F(Pressure, MatchesCorrelationIdsThatWrapAround) {
    environment e = with();
    e["FAKE_GPU_CALLS_BEFORE"] = std::to_string(UINT32_MAX - 500);
    run(e, {"churn", "1000"});  // for so many there are rings, whether or not the drain thread gets its turn
    const timeline data = only_capture();
    const std::uint64_t bufferless = dropped(data, drop_cause::cupti_dropped);  // as above
    EXPECT_EQ(data.ops.size() + bufferless, 1000U);
    EXPECT_EQ(operations_of(data, "work") + bufferless, 1000U);
    EXPECT_EQ(data.quality.dropped.empty(), bufferless == 0) << testing::PrintToString(data.quality.dropped);
    const auto early = std::count_if(data.api_calls.begin(), data.api_calls.end(),
                                     [](const auto& c) { return static_cast<std::uint32_t>(c.correlation) < 1500; });
    EXPECT_GT(early, 250);
    EXPECT_LT(early, 750);
}

#ifdef PROF_TEST_SANITIZED  // programs begin slowly then
const std::vector<std::string> how_often = {""};
#else
const std::vector<std::string> how_often = {"*1", "*3", ""};
#endif

constexpr std::uint64_t some = UINT64_MAX;

struct failing_function {
    std::string name;
    std::uint64_t kept_once;  // of 100 kernels, if it fails once; some: CUPTI's doing
    std::uint64_t kept;       // if it fails for ever
};

// Each function of CUPTI that libprof calls, failing once, three times, and for ever.
TEST_F(Pressure, ReportsErrorsOfEachCuptiFunction) {
    constexpr std::uint64_t count = 100;
    for (const failing_function& function : std::vector<failing_function>{
             {"cuptiGetVersion", 0, 0},
             {"cuptiSubscribe", 0, 0},
             {"cuptiUnsubscribe", count, count},
             {"cuptiEnableCallback", count, 0},
             {"cuptiActivityRegisterCallbacks", 0, 0},
             {"cuptiActivityEnable", 0, 0},
             {"cuptiActivityEnableAndDump", count, count},  // there is the one above
             {"cuptiActivityDisable", count, count},
             {"cuptiActivityFlushAll", count, 0},
             {"cuptiActivityGetNextRecord", some, 0},
             {"cuptiActivityGetNumDroppedRecords", count, count},
             {"cuptiActivitySetAttribute", some, some},
             {"cuptiGetTimestamp", count, count},
             {"cuptiGetResultString", count, count},
             {"cuptiGetStreamIdEx", count, count},
             {"cuptiGetContextId", count, count},
             {"cuptiGetGraphNodeId", count, count},
             {"cuptiFinalize", count, count},
         }) {
        for (const std::string& times : how_often) {
            SCOPED_TRACE(function.name + times);
            environment e = with();
            e["FAKE_CUPTI_FAIL"] = function.name + "=999" + times;
            const auto result = run(e, {"churn", std::to_string(count)});
            const timeline data = only_capture();
            EXPECT_EQ(data.ranges.size(), count);
            EXPECT_TRUE(data.quality.ended);
            const std::uint64_t found = operations_of(data, "work");
            EXPECT_EQ(found, data.ops.size());
            const std::uint64_t expected = times.empty() ? function.kept : times == "*1" ? function.kept_once : some;
            if (expected != some) {
                EXPECT_EQ(found, expected);
            }
            // What is missing is told of: that nothing is recorded, in a line and in the capture; or each launch
            // without a record, and why.
            const bool has_none = data.properties.contains("missing");
            EXPECT_EQ(result.err.empty(), !has_none);
            EXPECT_EQ(launches(data), has_none ? 0 : count);
            EXPECT_EQ(found + data.quality.launches_without_completion, launches(data));
            EXPECT_TRUE(found == count || has_none || !data.quality.dropped.empty());
            std::filesystem::remove_all(scratch.path + "/captures");
        }
    }
}

// The graphs' captures stay unknown. The captured launches are not counted as work that did not complete.
TEST_F(Pressure, KeepsGraphWorkWhenCuptiHidesNodeIds) {
    environment e = with();
    e["FAKE_CUPTI_FAIL"] = "cuptiGetGraphNodeId=999";
    constexpr std::uint64_t count = 50;
    run(e, {"graphs", std::to_string(count)});
    const timeline data = only_capture();
    EXPECT_EQ(data.ops.size(), count);
    EXPECT_EQ(operations_of(data, "work"), count);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
    EXPECT_GE(dropped(data, drop_cause::cupti_error), 2U) << "the one node, and its copy";
    for (const gpu_op& op : data.ops) EXPECT_EQ(op.graph_node, graph_capture_unseen);
}

// A control group of its own, where the kernel lets us make one: version 1's, else version 2's.
struct memory_group {
    memory_group() {
        const std::string name = "/prof-test-" + std::to_string(getpid());
        for (const auto& [parent, limit] : {std::pair{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes"},
                                            std::pair{"/sys/fs/cgroup", "/memory.max"}}) {
            path = parent + name;
            if (mkdir(path.c_str(), 0700) != 0) continue;
            std::ofstream out(path + limit);
            out << "256M" << std::flush;
            if (out && access((path + "/cgroup.procs").c_str(), W_OK) == 0) return;
            rmdir(path.c_str());
        }
        path.clear();
    }
    ~memory_group() {
        if (!path.empty()) rmdir(path.c_str());
    }
    memory_group(const memory_group&) = delete;
    memory_group& operator=(const memory_group&) = delete;

    std::string path;  // empty: none can be made
};

#ifndef PROF_TEST_SANITIZED  // a sanitizer has an allocator of its own
TEST_F(Pressure, KeepsRecordsAfterAnOutOfMemoryKill) {
    const memory_group group;
    if (group.path.empty()) GTEST_SKIP() << "no control group may be made here: no out-of-memory kill is tested";
    constexpr std::uint64_t count = 2000;
    const std::string script = "echo $$ > " + group.path + "/cgroup.procs && exec \"$@\"";
    const auto result =
        run_process({"/bin/sh", "-c", script, "sh", victim, "exhaust", std::to_string(count)}, with(), scratch.path);
    EXPECT_EQ(result.signal(), SIGKILL) << result.err;
    const timeline data = only_capture();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), count);
    EXPECT_EQ(launches(data), count);
    EXPECT_TRUE(data.quality.dropped.empty());
}
#endif

}  // namespace
}  // namespace prof::test
