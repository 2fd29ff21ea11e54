// SPDX-License-Identifier: Apache-2.0
// Schedules and capture ranges in a whole program on the simulated GPU (schedule_victim.cpp): exactly the iterations
// that were asked for are in the capture, and nothing of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using words = std::vector<std::string>;
using settings = std::map<std::string, std::string>;

struct SessionSchedule : testing::Test, profiled_program {
    SessionSchedule() : profiled_program(way_in::injected) {}

    process_result run(const words& arguments, const settings& options) const {
        process_result result = profiled_program::run(arguments, options);
        EXPECT_EQ(result.exit_code(), 0) << result.out << result.err;
        EXPECT_TRUE(result.out.ends_with("done\n")) << result.out;
        return result;
    }

    // The captures, by their first steps.
    std::vector<timeline> captures() const {
        std::vector<timeline> out = all_captures();
        std::sort(out.begin(), out.end(), [](const timeline& a, const timeline& b) {
            return a.windows.front().first_step < b.windows.front().first_step;
        });
        return out;
    }

    timeline record(const words& arguments, const settings& options) const {
        const process_result result = run(arguments, options);
        EXPECT_EQ(result.err, "");
        const std::vector<timeline> all = captures();
        EXPECT_EQ(all.size(), 1U);
        return all.empty() ? timeline{} : all.front();
    }
};

// Kernels by name, but those of other threads.
std::map<std::string, int> kernels(const timeline& data) {
    std::map<std::string, int> out;
    for (const gpu_op& op : data.ops) {
        const std::string name(data.kernel_symbol(op));
        if (name != "elsewhere") ++out[name];
    }
    return out;
}

std::map<std::string, int> iterations(const std::vector<int>& which) {
    std::map<std::string, int> out;
    for (const int i : which) out["iteration_" + std::to_string(i)] = 3;
    return out;
}

using window_steps = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
window_steps steps_of_windows(const timeline& data) {
    window_steps out;
    for (const timeline_window& window : data.windows) out.emplace_back(window.first_step, window.last_step);
    return out;
}

// Of work of threads that do not care about windows: without the ranges that began before one, and launches that were
// under way at its end, whose record may then have no end.
std::map<std::string, std::uint64_t> losses(const timeline& data) {
    auto out = data.quality.dropped;
    out.erase("pop_without_push");
    out.erase("cupti_no_timestamp");
    return out;
}

void expect_sound(const timeline& data) {
    EXPECT_TRUE(std::none_of(data.ops.begin(), data.ops.end(), [](const gpu_op& op) { return op.launch == npos; }));
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
    EXPECT_TRUE(data.quality.dropped.empty());
    EXPECT_TRUE(data.quality.ended);
    const projection p = project(data);
    std::int64_t self = 0;
    for (const projection_row& row : p.rows) self += row.gpu_self_ns;
    EXPECT_EQ(self, p.total_gpu_ns);
}

std::size_t ranges_named(const timeline& data, std::string_view name) {
    return static_cast<std::size_t>(std::count_if(data.ranges.begin(), data.ranges.end(),
                                                  [&](const timeline_range& r) { return data.name(r.name) == name; }));
}

// torch's loop calls step() at the end of each iteration: step 0 began with the recording.
TEST_F(SessionSchedule, CountsStepsAsTorchDoes) {
    const timeline data =
        record({"mark", "end"}, {{"PROF_SCHEDULE", "skip_first=2,wait=1,warmup=1,active=2,repeat=1"}});
    EXPECT_EQ(kernels(data), iterations({4, 5}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{4, 5}}));
    EXPECT_EQ(data.properties.at("steps"), "6");
    expect_sound(data);
}

struct SessionScheduleByRange : SessionSchedule, testing::WithParamInterface<const char*> {};

TEST_P(SessionScheduleByRange, CountsTheSameSteps) {
    const timeline data =
        record({"mark", GetParam(), "threads", "2"},
               {{"PROF_SCHEDULE", "skip_first=2,wait=1,warmup=1,active=2,repeat=1"}, {"PROF_STEP_RANGE", "iteration"}});
    EXPECT_EQ(kernels(data), iterations({4, 5}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{4, 5}}));
    EXPECT_EQ(data.properties.at("steps"), "7");  // the one whose beginning ended the window is known of, too
    EXPECT_EQ(losses(data), (std::map<std::string, std::uint64_t>{}));
    const auto inside = std::find_if(data.ranges.begin(), data.ranges.end(),
                                     [&](const timeline_range& r) { return data.name(r.name) == "inside"; });
    ASSERT_NE(inside, data.ranges.end());
    const auto own = std::count_if(data.ranges.begin(), data.ranges.end(), [&](const timeline_range& r) {
        return data.name(r.name) == "iteration" && r.thread == inside->thread;
    });
    EXPECT_EQ(own, 2);
}
INSTANTIATE_TEST_SUITE_P(Marks, SessionScheduleByRange, testing::Values("range", "domain", "registered"));

TEST_F(SessionSchedule, CountsRangesOfTheNamedDomain) {
    const timeline data =
        record({"mark", "domain"},
               {{"PROF_CAPTURE_RANGE", "steps"}, {"PROF_STEPS", "3-4"}, {"PROF_STEP_RANGE", "iteration@app"}});
    EXPECT_EQ(kernels(data), iterations({3, 4}));
    expect_sound(data);
}

TEST_F(SessionSchedule, IgnoresStepRangesOfOtherDomains) {
    const process_result result =
        run({"mark", "domain"},
            {{"PROF_CAPTURE_RANGE", "steps"}, {"PROF_STEPS", "3-4"}, {"PROF_STEP_RANGE", "iteration@other"}});
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(captures().empty());
}

TEST_F(SessionSchedule, BeginsWithTheFirstStep) {
    // The range's first push is step 0; "setup" came before it, while CUPTI was attached already.
    const timeline data =
        record({"mark", "range"}, {{"PROF_SCHEDULE", "active=2,repeat=1"}, {"PROF_STEP_RANGE", "iteration"}});
    EXPECT_EQ(kernels(data), iterations({0, 1}));
    expect_sound(data);
}

TEST_F(SessionSchedule, CountsWorkBeforeProfStepAsStepZero) {
    // prof_step at the beginning of an iteration: iteration 0 is step 1.
    const timeline data = record({"mark", "begin"}, {{"PROF_SCHEDULE", "wait=1,active=2,repeat=1"}});
    EXPECT_EQ(kernels(data), iterations({0, 1}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{1, 2}}));
    expect_sound(data);
}

// Every kind of boundary: close and open with and without warm-up, the next window at once; the end in a window.
TEST_F(SessionSchedule, RepeatsItsCycles) {
    const timeline data = record({"iterations", "12"}, {{"PROF_SCHEDULE", "wait=1,warmup=1,active=2"}});
    EXPECT_EQ(kernels(data), iterations({2, 3, 6, 7, 10, 11}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{2, 3}, {6, 7}, {10, 11}}));
    EXPECT_EQ(data.properties.at("steps"), "12");
    EXPECT_EQ(data.properties.at("plan"), "schedule wait=1,warmup=1,active=2");
    expect_sound(data);
}

TEST_F(SessionSchedule, WarmsUpRightAfterAWindow) {
    const timeline data = record({"iterations", "9"}, {{"PROF_SCHEDULE", "warmup=1,active=2,repeat=3"}});
    EXPECT_EQ(kernels(data), iterations({1, 2, 4, 5, 7, 8}));
    expect_sound(data);
}

TEST_F(SessionSchedule, OpensTheNextWindowAtOnceWithoutAWait) {
    const timeline data = record({"iterations", "6"}, {{"PROF_SCHEDULE", "active=2,repeat=2,skip_first=1"}});
    EXPECT_EQ(kernels(data), iterations({1, 2, 3, 4}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{1, 2}, {3, 4}}));
    expect_sound(data);
}

TEST_F(SessionSchedule, EndsAWindowWithTheProgram) {
    const timeline data = record({"iterations", "4"}, {{"PROF_SCHEDULE", "wait=2,active=5"}});
    std::map<std::string, int> expected = iterations({2, 3});
    expected["teardown"] = 1;
    EXPECT_EQ(kernels(data), expected);
    EXPECT_EQ(steps_of_windows(data), (window_steps{{2, 4}}));
    EXPECT_TRUE(data.quality.ended);
}

TEST_F(SessionSchedule, MayBeSetByTheProgram) {
    const timeline data =
        record({"session", "schedule=wait=2,warmup=1,active=1", "iterations", "8"}, {{"PROF_AUTOSTART", "0"}});
    EXPECT_EQ(kernels(data), iterations({3, 7}));
    expect_sound(data);
}

TEST_F(SessionSchedule, KeepsOtherThreadsWorkOfAWindowWhole) {
    const timeline data =
        record({"iterations", "20", "threads", "3"}, {{"PROF_SCHEDULE", "wait=1,warmup=1,active=1,repeat=6"}});
    EXPECT_EQ(kernels(data), iterations({2, 5, 8, 11, 14, 17}));
    EXPECT_EQ(data.windows.size(), 6U);
    EXPECT_EQ(losses(data), (std::map<std::string, std::uint64_t>{}));
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos) continue;
        const std::int64_t launched = data.api_calls[op.launch].start_ns;
        EXPECT_TRUE(std::any_of(data.windows.begin(), data.windows.end(), [&](const timeline_window& window) {
            return window.start_ns <= launched && launched <= window.end_ns;
        }));
    }
}

TEST_F(SessionSchedule, CountsOnlyTheStepRangeIfThereIsOne) {
    const timeline data =
        record({"mark", "both"}, {{"PROF_SCHEDULE", "wait=2,active=2,repeat=1"}, {"PROF_STEP_RANGE", "iteration"}});
    EXPECT_EQ(kernels(data), iterations({2, 3}));
    EXPECT_EQ(data.properties.at("steps"), "5");
}

// As JAX's annotations are, under `prof run`.
TEST_F(SessionSchedule, CountsThePhasesThatTheProgramMarksAsSteps) {
    const timeline data = record({"mark", "phase"}, {{"PROF_SCHEDULE", "wait=2,active=2,repeat=1"}});
    EXPECT_EQ(kernels(data), iterations({2, 3}));
    EXPECT_EQ(steps_of_windows(data), (window_steps{{2, 3}}));
}

TEST_F(SessionSchedule, LeavesOutWarmUpWorkWithoutLaunches) {
    const timeline data = record({"settled"}, {{"PROF_SCHEDULE", "wait=1,warmup=1,active=2,repeat=2"},
                                               {"PROF_ACTIVITIES", "kernels,no_launches"}});
    EXPECT_EQ(kernels(data), iterations({2, 3, 6, 7}));
}

TEST_F(SessionSchedule, CountsStepsOfManyThreads) {
    const timeline data = record({"steppers", "4"}, {{"PROF_SCHEDULE", "wait=9,active=1"}});
    window_steps expected;
    for (std::uint64_t step = 9; step < 1000; step += 10) expected.emplace_back(step, step);
    EXPECT_EQ(steps_of_windows(data), expected);
    EXPECT_EQ(data.properties.at("steps"), "1000");
    EXPECT_EQ(data.marks.size(), expected.size());
}

TEST_F(SessionSchedule, MakesACaptureOfEachWindow) {
    const process_result result = run(
        {"iterations", "12"},
        {{"PROF_SCHEDULE", "wait=1,warmup=1,active=2"}, {"PROF_EXPORT_EACH", "window"}, {"PROF_EXPORT", "summary"}});
    EXPECT_EQ(result.err, "");
    const std::vector<timeline> all = captures();
    ASSERT_EQ(all.size(), 3U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const int first = static_cast<int>(4 * i) + 2;
        EXPECT_EQ(kernels(all[i]), iterations({first, first + 1}));
        EXPECT_EQ(all[i].windows.size(), 1U);
        EXPECT_EQ(all[i].devices.size(), 1U);
        expect_sound(all[i]);
    }
    EXPECT_EQ(scratch.files(".summary.txt").size(), 3U);
}

TEST_F(SessionSchedule, CompletesTheCaptureWithTheLastCycle) {
    // The program goes on for a while, then dies: the capture was exported long before.
    const timeline data =
        record({"iterations", "30"}, {{"PROF_SCHEDULE", "wait=1,active=1,repeat=2"}, {"PROF_EXPORT", "summary"}});
    EXPECT_EQ(kernels(data), iterations({1, 3}));
    EXPECT_EQ(data.properties.at("steps"), "4");
    EXPECT_EQ(scratch.files(".summary.txt").size(), 1U);
}

// --- capture ranges

TEST_F(SessionSchedule, FollowsCudaProfilerStartAndStop) {
    const timeline data =
        record({"profiler", "3", "5", "profiler", "7", "8", "free"}, {{"PROF_CAPTURE_RANGE", "cudaProfilerApi"}});
    EXPECT_EQ(kernels(data), iterations({3, 4, 5}));
    expect_sound(data);
}

// Starts do not nest, and a stop without one is none.
TEST_F(SessionSchedule, EndsAWindowAtTheFirstCudaProfilerStop) {
    const timeline data = record({"profiler", "99", "1", "profiler", "3", "7", "profiler", "4", "5"},
                                 {{"PROF_CAPTURE_RANGE", "cudaProfilerApi"}});
    EXPECT_EQ(kernels(data), iterations({3, 4, 5}));
    expect_sound(data);
}

TEST_F(SessionSchedule, EndsAWindowWithTheOuterOfTwoNamedRanges) {
    const timeline data = record(
        {"capture", "2", "6", "capture", "3", "4", "capture", "8", "8"},
        {{"PROF_CAPTURE_RANGE", "nvtx"}, {"PROF_NVTX_CAPTURE", "capture@*"}, {"PROF_CAPTURE_RANGE_END", "repeat"}});
    EXPECT_EQ(kernels(data), iterations({2, 3, 4, 5, 6, 8}));
    EXPECT_EQ(data.windows.size(), 2U);
    EXPECT_EQ(ranges_named(data, "capture"), 3U);
    expect_sound(data);
}

TEST_F(SessionSchedule, OpensAWindowAtEachCudaProfilerStart) {
    const timeline data = record({"profiler", "0", "1", "profiler", "4", "4", "profiler", "7", "8", "patient"},
                                 {{"PROF_CAPTURE_RANGE", "cudaProfilerApi"}, {"PROF_CAPTURE_RANGE_END", "repeat"}});
    EXPECT_EQ(kernels(data), iterations({0, 1, 4, 7, 8}));
    EXPECT_EQ(data.windows.size(), 3U);
    expect_sound(data);
}

TEST_F(SessionSchedule, KeepsAWindowOpenWhenItsEndIsIgnored) {
    const timeline data = record({"iterations", "5", "profiler", "2", "2"},
                                 {{"PROF_CAPTURE_RANGE", "cudaProfilerApi"}, {"PROF_CAPTURE_RANGE_END", "none"}});
    std::map<std::string, int> expected = iterations({2, 3, 4});
    expected["teardown"] = 1;
    EXPECT_EQ(kernels(data), expected);
}

TEST_F(SessionSchedule, OpensAWindowWithTheNamedRange) {
    const timeline data = record({"capture", "3", "5", "capture", "7", "7", "mark", "range"},
                                 {{"PROF_CAPTURE_RANGE", "nvtx"}, {"PROF_NVTX_CAPTURE", "capture"}});
    EXPECT_EQ(kernels(data), iterations({3, 4, 5}));
    // The range itself is there, whole, and all is inside it.
    ASSERT_EQ(ranges_named(data, "capture"), 1U);
    for (const timeline_range& range : data.ranges) {
        EXPECT_FALSE(range.open_at_end);
        EXPECT_EQ(range.depth == 0, data.name(range.name) == "capture");
    }
    expect_sound(data);
}

TEST_F(SessionSchedule, OpensAWindowWithEachNamedRange) {
    const timeline data = record({"capture", "1", "1", "capture", "4", "5", "capture", "8", "8"},
                                 {{"PROF_CAPTURE_RANGE", "nvtx"},
                                  {"PROF_NVTX_CAPTURE", "capture@default"},
                                  {"PROF_CAPTURE_RANGE_END", "repeat"}});
    EXPECT_EQ(kernels(data), iterations({1, 4, 5, 8}));
    EXPECT_EQ(ranges_named(data, "capture"), 3U);
    EXPECT_EQ(steps_of_windows(data), (window_steps{{1, 2}, {4, 6}, {8, 9}}));
    expect_sound(data);
}

// --- what must not happen

TEST_F(SessionSchedule, ReportsContradictoryOptionsOnce) {
    const process_result result = run({}, {{"PROF_CAPTURE_RANGE", "nvtx"}});
    EXPECT_EQ(result.err, "libprof: capture_range=nvtx and nvtx_capture=NAME go together: set both or neither\n");
    EXPECT_TRUE(captures().empty());
}

// A child forked between windows or in one counts none of its parent's steps: it has a recording of its own.
TEST_F(SessionSchedule, DoesNotApplyToForkedChildren) {
    for (const char* at : {"2", "4"}) {
        const process_result result =
            run({"mark", "range", "fork", at, "iterations", "7"}, {{"PROF_SCHEDULE", "wait=3,active=2,repeat=1"},
                                                                   {"PROF_STEP_RANGE", "iteration"},
                                                                   {"PROF_OUTPUT_DIR", scratch.path + "/fork" + at}});
        EXPECT_EQ(result.err, "");
    }
    EXPECT_EQ(captures().size(), 4U);
    for (const timeline& data : captures()) {
        expect_sound(data);
        const bool is_childs = data.properties.contains("forked_from");
        EXPECT_EQ(kernels(data), iterations(is_childs ? std::vector<int>{} : std::vector<int>{3, 4}));
    }
}

TEST_F(SessionSchedule, ReportsOnceThatWholeGraphsComeTooLate) {
    const process_result result = run(
        {"iterations", "9"}, {{"PROF_SCHEDULE", "wait=1,warmup=1,active=1,repeat=3"}, {"PROF_CUDA_GRAPHS", "graphs"}});
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("they are recorded node by node"), std::string::npos) << result.err;
    ASSERT_EQ(captures().size(), 1U);
    EXPECT_EQ(kernels(captures().front()), iterations({2, 5, 8}));
}

TEST_F(SessionSchedule, LeaksNothingOverManyWindows) {
    const process_result result =
        run({"iterations", "400", "measure"}, {{"PROF_SCHEDULE", "wait=1,warmup=1,active=2"}});
    unsigned long threads[2];
    unsigned long descriptors[2];
    long pages[2];
    ASSERT_EQ(
        std::sscanf(result.out.c_str(),
                    "middle: %lu threads, %lu descriptors, %ld pages end: %lu threads, %lu descriptors, %ld pages",
                    &threads[0], &descriptors[0], &pages[0], &threads[1], &descriptors[1], &pages[1]),
        6)
        << result.out;
    // Between the two are 50 windows; a descriptor may be open for a moment.
    EXPECT_LT(threads[1], threads[0] + 10) << result.out;
    EXPECT_LT(descriptors[1], descriptors[0] + 10) << result.out;
#ifndef PROF_TEST_SANITIZED  // a sanitizer keeps what was freed
    EXPECT_LT(pages[1] - pages[0], 1024) << "50 windows more take 4 MB";
#endif
    const std::vector<timeline> all = captures();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().windows.size(), 100U);
    EXPECT_EQ(all.front().ops.size(), 200U * 3);
    expect_sound(all.front());
}

}  // namespace
}  // namespace prof::test
