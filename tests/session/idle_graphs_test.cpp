// SPDX-License-Identifier: Apache-2.0
// Graphs that were captured while nothing was recorded, or in an earlier recording of the process: whole programs on
// the simulated GPU (idle_graphs_victim.cpp). Each kernel's name says which row it belongs to, so what is checked comes
// from the program alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

constexpr std::size_t kernels_a_step = 8;

struct SessionIdleGraphs : testing::Test, profiled_program {
    SessionIdleGraphs()
        : profiled_program(
              way_in::injected,
              {{"PROF_AUTOSTART", "0"}, {"PROF_RINGS", "memory"}, {"PROF_MEMORY", "4G"}, {"FAKE_GPU_CLOCK", ""}}) {}

    // Returns what the program printed.
    std::string run(const std::string& scene, bool observes, environment more = {}) {
        more.emplace("PROF_IDLE_GRAPH_NODES", observes ? "1" : "0");
        const auto result = profiled_program::run({scene}, more);
        const bool is_killed = scene == "killed";
        EXPECT_EQ(result.exit_code(), is_killed ? -1 : 0) << result.err;
        EXPECT_EQ(result.signal(), is_killed ? SIGKILL : 0) << result.err;
        printed = result.err;
        return result.out;
    }

    std::vector<timeline> record(const std::string& scene, bool observes, const environment& more = {}) {
        EXPECT_EQ(run(scene, observes, more), "done\n");
        std::vector<timeline> captures = all_captures();
        std::sort(captures.begin(), captures.end(),
                  [](const timeline& a, const timeline& b) { return a.start_ns < b.start_ns; });
        return captures;
    }
    std::string printed;
};

// Sum of what ran under each kernel's name.
std::map<std::string, std::int64_t> sums_by_name(const timeline& data) {
    std::map<std::string, std::int64_t> sums;
    for (const gpu_op& op : data.ops) sums[std::string(data.kernel_symbol(op))] += op.end_ns - op.start_ns;
    return sums;
}

// All work of the iterations that were recorded stands where its name says; so much of it was replayed.
void expect_split(const timeline& data, std::size_t iterations, std::size_t replays,
                  const std::string& below = "iteration #/") {
    const projection p = project(data, {.fold = {.mode = fold_mode::all}});  // iterations begin anew at 0
    ASSERT_EQ(p.total_ops, (iterations + replays) * kernels_a_step);
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    std::map<std::string, std::int64_t> found;
    std::uint64_t replayed = 0;
    std::int64_t self_ns = 0;
    for (const projection_row& row : p.rows) {
        self_ns += row.gpu_self_ns;
        if (row.gpu_self_ns == 0) continue;
        ASSERT_TRUE(row.path.starts_with(below)) << row.path;
        found[row.path.substr(below.size())] += row.gpu_self_ns;
        if (!row.is_captured) continue;
        replayed += row.self_ops;
        EXPECT_EQ(row.host_ns, 0) << row.path;
    }
    std::map<std::string, std::int64_t> expected = sums_by_name(data);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(replayed, replays * kernels_a_step);
    EXPECT_EQ(self_ns, p.total_gpu_ns);
    EXPECT_TRUE(data.quality.dropped.empty()) << data.quality.dropped.begin()->first;
    EXPECT_TRUE(data.quality.notes.empty()) << data.quality.notes.front();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
}

// What was open while nothing was recorded is no row and no time of its own.
void expect_nothing_of_the_time_between(const timeline& data) {
    for (const projection_row& row : project(data).rows) {
        EXPECT_EQ(row.path.find("elsewhere"), std::string::npos) << row.path;
        EXPECT_EQ(row.path.find("prepare"), std::string::npos) << row.path;
    }
    EXPECT_TRUE(data.marks.empty());
    for (const timeline_range& range : data.ranges) {
        const bool in_window = std::any_of(data.windows.begin(), data.windows.end(), [&](const timeline_window& w) {
            return w.start_ns <= range.start_ns && range.start_ns <= w.end_ns;
        });
        EXPECT_EQ(range.style != range_style::graph_context, in_window) << data.name(range.name);
    }
}

TEST_F(SessionIdleGraphs, SplitAsTheEagerStep) {
    const auto eager = record("eager", false);
    ASSERT_EQ(eager.size(), 1U);
    expect_split(eager[0], 3, 0);
    const std::map<std::string, std::int64_t> of_eager = sums_by_name(eager[0]);
    EXPECT_EQ(of_eager.size(), 6U);

    scratch_directory other;
    std::swap(scratch.path, other.path);
    const auto replayed = record("before", true);
    ASSERT_EQ(replayed.size(), 1U);
    expect_split(replayed[0], 0, 3);
    expect_nothing_of_the_time_between(replayed[0]);
    EXPECT_EQ(sums_by_name(replayed[0]), of_eager);
    EXPECT_EQ(printed, "");
    std::swap(scratch.path, other.path);
}

TEST_F(SessionIdleGraphs, MayBeTheBodyOfAConditionalNode) {
    const auto data = record("conditional", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 0, 6);
}

TEST_F(SessionIdleGraphs, MayBeAChildOfAChild) {
    const auto data = record("nested", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 0, 6);
}

TEST_F(SessionIdleGraphs, MayUpdateAnExecutable) {
    const auto data = record("updated", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 0, 9);
}

TEST_F(SessionIdleGraphs, AreUnknownWithoutIdleGraphNodes) {
    const auto data = record("before", false);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(project(data[0]).ops_of_unseen_captures, 3 * kernels_a_step);
    EXPECT_TRUE(data[0].graph_nodes.empty());
}

TEST_F(SessionIdleGraphs, MayBeMadeBetweenTwoWindows) {
    const auto data = record("between", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 3, 3);
    expect_nothing_of_the_time_between(data[0]);
    EXPECT_EQ(data[0].windows.size(), 2U);
    // Of 60,000 ranges those that matter, and the first and last of their threads.
    EXPECT_LT(data[0].ranges.size(), 100U);
}

TEST_F(SessionIdleGraphs, AreUnknownBetweenTwoWindowsWithoutIdleGraphNodes) {
    const auto data = record("between", false);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(project(data[0]).ops_of_unseen_captures, 3 * kernels_a_step);
}

TEST_F(SessionIdleGraphs, AreKnownInTheNextRecording) {
    for (const bool observes : {false, true}) {
        SCOPED_TRACE(observes);
        const scratch_directory own;
        const auto data = record("in_first", observes, {{"PROF_OUTPUT_DIR", own.path}});
        std::vector<std::string> files = own.files(".prof");
        std::sort(files.begin(), files.end(),
                  [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
        ASSERT_EQ(files.size(), 2U);
        const timeline second = load_timeline(files[0].size() > files[1].size() ? files[0] : files[1]);
        if (!observes) {
            EXPECT_EQ(project(second).ops_of_unseen_captures, 3 * kernels_a_step);
            continue;
        }
        expect_split(second, 0, 3);
        expect_nothing_of_the_time_between(second);
    }
}

TEST_F(SessionIdleGraphs, AreKnownInTheNextWindow) {
    for (const bool observes : {false, true}) {
        SCOPED_TRACE(observes);
        const scratch_directory own;
        record("in_first_window", observes, {{"PROF_OUTPUT_DIR", own.path}});
        const auto files = own.files(".prof");
        ASSERT_EQ(files.size(), 1U);
        expect_split(load_timeline(files[0]), 0, 3);
    }
}

TEST_F(SessionIdleGraphs, MayBeInstantiatedAgain) {
    const auto data = record("again", true);
    ASSERT_EQ(data.size(), 2U);
    expect_split(data[0], 0, 6);
    expect_split(data[1], 0, 3);
}

// 400 graphs were made, one lives.
TEST_F(SessionIdleGraphs, AreForgottenWhenDestroyed) {
    const auto data = record("many", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 0, 3);
    EXPECT_EQ(data[0].graph_nodes.size(), kernels_a_step);
}

TEST_F(SessionIdleGraphs, MayBeMadeWhileOtherThreadsAreBusy) {
    const auto data = record("busy", true);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(data[0].windows.size(), 4U);
    const projection p = project(data[0], {.fold = {.mode = fold_mode::all}});
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    std::map<std::string, std::int64_t> found;
    for (const projection_row& row : p.rows) {
        if (row.gpu_self_ns != 0) found[row.path] += row.gpu_self_ns;
    }
    std::map<std::string, std::int64_t> expected;
    for (const auto& [name, ns] : sums_by_name(data[0])) expected["iteration #/" + name] = ns;
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(data[0].quality.notes.empty()) << data[0].quality.notes.front();
}

// A plan (a schedule's steps, a capture range or a cudaProfilerStart) makes libprof observe graphs while nothing is
// recorded, too.
TEST_F(SessionIdleGraphs, MayBeMadeWhileAScheduleWaits) {
    const std::map<std::string, std::string> plan = {{"PROF_AUTOSTART", "1"},
                                                     {"PROF_SCHEDULE", "wait=1,warmup=1,active=2,repeat=2"}};
    const auto data = record("steps", true, plan);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(data[0].windows.size(), 2U);
    expect_split(data[0], 0, 4);
}

TEST_F(SessionIdleGraphs, MayBeMadeWhileAScheduleWarmsUp) {
    for (const char* before_cuda : {"1", "0"}) {
        SCOPED_TRACE(before_cuda);
        const scratch_directory own;
        EXPECT_EQ(run("warm_steps", true,
                      {{"PROF_AUTOSTART", before_cuda},
                       {"PROF_OUTPUT_DIR", own.path},
                       {"PROF_SCHEDULE", "warmup=1,active=2,repeat=2"}}),
                  "done\n");
        const auto files = own.files(".prof");
        ASSERT_EQ(files.size(), 1U);
        const timeline data = load_timeline(files[0]);
        EXPECT_EQ(data.windows.size(), 2U);
        expect_split(data, 0, 4);
    }
}

TEST_F(SessionIdleGraphs, MayBeMadeBeforeACaptureRange) {
    const std::map<std::string, std::string> plan = {{"PROF_AUTOSTART", "1"},
                                                     {"PROF_CAPTURE_RANGE", "nvtx"},
                                                     {"PROF_NVTX_CAPTURE", "recorded"},
                                                     {"PROF_CAPTURE_RANGE_END", "repeat"}};
    const auto data = record("ranges", true, plan);
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(data[0].windows.size(), 3U);
    expect_split(data[0], 0, 6, "recorded/iteration #/");
    expect_nothing_of_the_time_between(data[0]);
}

TEST_F(SessionIdleGraphs, MayBeMadeBeforeCudaProfilerStart) {
    for (const std::string each : {"run", "window"}) {
        SCOPED_TRACE(each);
        const scratch_directory own;
        run("profiler_calls", true,
            {{"PROF_AUTOSTART", "1"},
             {"PROF_OUTPUT_DIR", own.path},
             {"PROF_CAPTURE_RANGE", "cudaProfilerApi"},
             {"PROF_CAPTURE_RANGE_END", "repeat"},
             {"PROF_EXPORT_EACH", each}});
        EXPECT_EQ(printed, "");
        const auto files = own.files(".prof");
        ASSERT_EQ(files.size(), each == "run" ? 1U : 3U);
        for (const std::string& file : files) {
            const timeline data = load_timeline(file);
            expect_split(data, 0, 6 / files.size());
            expect_nothing_of_the_time_between(data);
        }
    }
}

using words = std::set<std::string>;

// By a line's first word.
std::map<std::string, words> words_by_line(const std::string& text) {
    std::map<std::string, words> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream parts(line);
        std::string first;
        std::getline(parts, first, ':');
        words& rest = out[first];
        for (std::string word; parts >> word;) rest.insert(word);
    }
    return out;
}

// One subscription has the callbacks that both uses need, and no others.
TEST_F(SessionIdleGraphs, ShareOneSubscriptionWithCudaProfilerStart) {
    const std::map<std::string, std::string> plan = {
        {"PROF_AUTOSTART", "1"}, {"PROF_CAPTURE_RANGE", "cudaProfilerApi"}, {"PROF_CAPTURE_RANGE_END", "repeat"}};
    const words profiler = {"cuProfilerStart", "cuProfilerStop"};
    const words graphs = {"cuGraphInstantiate",
                          "cuGraphInstantiateWithFlags",
                          "cuGraphInstantiateWithParams",
                          "cuGraphInstantiateWithParams_ptsz",
                          "cuGraphInstantiate_v2",
                          "cuStreamBeginCapture",
                          "cuStreamBeginCapture_ptsz",
                          "cuStreamBeginCapture_v2",
                          "cuStreamBeginCapture_v2_ptsz",
                          "cuStreamBeginCaptureToGraph",
                          "cuStreamBeginCaptureToGraph_ptsz",
                          "node_event_13",  // created
                          "node_event_14",  // destroyed
                          "node_event_18",  // an executable graph was created
                          "node_event_20",  // cloned
                          "node_event_22",  // updated
                          "node_event_9"};  // a graph was created
    words both = profiler;
    both.insert(graphs.begin(), graphs.end());
    using lines = std::map<std::string, words>;
    EXPECT_EQ(words_by_line(run("subscription", false, plan)),
              (lines{{"before", profiler}, {"between", profiler}, {"after", {}}, {"done", {}}}));
    auto without_nodes = plan;
    without_nodes["PROF_ACTIVITIES"] = "kernels";
    EXPECT_EQ(words_by_line(run("subscription", true, without_nodes)),
              (lines{{"before", profiler}, {"between", profiler}, {"after", {}}, {"done", {}}}));
    EXPECT_EQ(words_by_line(run("subscription", true, plan)),
              (lines{{"before", both}, {"between", both}, {"after", graphs}, {"done", {}}}));
}

TEST_F(SessionIdleGraphs, AreKnownAfterAFork) {
    const auto data = record("forked", true);
    ASSERT_EQ(data.size(), 1U);
    expect_split(data[0], 0, 3);
}

// Records that were only observed may be in the rings that outlive the process. They do not count as recorded.
TEST_F(SessionIdleGraphs, AreKnownAfterADeath) {
    run("killed", true, {{"PROF_RINGS", scratch.path}, {"PROF_MEMORY", "64M"}});
    const timeline data = only_capture();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_EQ(data.windows.size(), 2U);
    const projection p = project(data);
    EXPECT_EQ(p.total_ops, 6 * kernels_a_step);
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    expect_nothing_of_the_time_between(data);
}

TEST_F(SessionIdleGraphs, LeaveNoFilesWithoutARecording) {
    EXPECT_TRUE(record("not_started", true).empty());
    EXPECT_EQ(printed, "");
    EXPECT_TRUE(scratch.files(".rings").empty());
}

TEST_F(SessionIdleGraphs, ReportAMissingCuptiOnce) {
    const auto data = record("before", true, {{"PROF_CUPTI_LIBRARY", "/nowhere/libcupti.so"}});
    ASSERT_EQ(data.size(), 1U);
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
    EXPECT_NE(printed.find("/nowhere/libcupti.so"), std::string::npos) << printed;
    EXPECT_TRUE(data[0].ops.empty());
}

}  // namespace
}  // namespace prof::test
