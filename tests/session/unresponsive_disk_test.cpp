// SPDX-License-Identifier: Apache-2.0
// A disk that stops to answer and stays so (unresponsive_disk_victim.cpp): nobody waits for it, the end of the process
// included, and what it did not take can be had from the rings.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

constexpr const char* no_end =
    "libprof: the program ended while the capture's disk did not answer: the capture has no end; prof seal puts into "
    "it "
    "what was kept\n";

struct UnresponsiveDisk : testing::Test {
    struct run : profiled_program {
        run() : profiled_program(way_in::its_own, {{"PROF_EXPORT", ""}}) {}

        pid_t pid = 0;
    };
    std::map<std::string, run> runs;

    // Killed after a minute. The wait for a disk takes some seconds, so several programs wait at once.
    void begin(const std::string& mode, const std::map<std::string, std::string>& more = {}) {
        run& made = runs[mode];
        const std::string preloaded = std::string{PROF_TEST_SLOW_DISK} + ":" + PROF_TEST_LIBRARY;
        made.pid = start_process(
            {"/usr/bin/timeout", "-s", "KILL", "60", "/usr/bin/env", "LD_PRELOAD=" + preloaded, PROF_TEST_VICTIM, mode},
            made.with(more), made.scratch.path, made.scratch.path + "/out", made.scratch.path + "/err");
    }

    process_result end(const std::string& mode) {
        const run& made = runs.at(mode);
        process_result result;
        waitpid(made.pid, &result.status, 0);
        result.out = read_file(made.scratch.path + "/out");
        result.err = read_file(made.scratch.path + "/err");
        EXPECT_EQ(result.exit_code(), 3) << mode << result.err;
        EXPECT_EQ(result.out, "done\n") << mode;
        EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        return result;
    }

    timeline captured(const std::string& mode) {
        SCOPED_TRACE(mode);
        return runs.at(mode).only_capture();
    }
};

TEST_F(UnresponsiveDisk, DoesNotBlockTheEndOfTheProcess) {
    for (const char* const mode : {"exit", "exit-in-stop", "before-exit", "exit-first", "exports"}) begin(mode);
    begin("exit-paused", {{"PROF_EXPORT_EACH", "window"}});
    for (const std::string mode : {"exit", "exit-in-stop", "before-exit", "exit-paused"}) {
        const process_result result = end(mode);
        EXPECT_EQ(result.err, no_end) << mode;
        const timeline data = captured(mode);
        EXPECT_FALSE(data.quality.ended) << mode;
        EXPECT_EQ(data.ranges.size(), 40U) << mode;
        EXPECT_EQ(data.ops.size(), 40U) << mode;
        EXPECT_TRUE(data.quality.dropped.empty()) << mode;
    }
    const process_result first = end("exit-first");
    EXPECT_EQ(first.err,
              "libprof: the program ended while the capture's disk did not answer: there is no capture, all of it is "
              "lost\n");
    EXPECT_TRUE(runs.at("exit-first").scratch.files(".prof").empty());
    const process_result without_exports = end("exports");
    EXPECT_EQ(
        without_exports.err,
        "libprof: the program ended while a call was under way: the capture is complete, its exports may not be\n");
    EXPECT_EQ(captured("exports").ops.size(), 40U);
    EXPECT_TRUE(captured("exports").quality.ended);
    // Nobody needs them while exports are made, however the process ends then.
    EXPECT_TRUE(runs.at("exports").scratch.files(".rings").empty());
}

// What is recorded until prof_stop, or until prof_start replaces the recording, is in its capture once the disk
// answers. Until then no other recording is begun.
TEST_F(UnresponsiveDisk, DoesNotBlockAStopOrTheStartThatStops) {
    for (const char* const mode : {"stop", "start", "start-paused"}) begin(mode, {{"PROF_EXPORT", "none"}});
    begin("stop-and-exit");
    for (const std::string mode : {"stop", "start", "start-paused"}) {
        EXPECT_EQ(end(mode).err, "") << mode;
        const auto found = runs.at(mode).scratch.files(".prof");
        ASSERT_EQ(found.size(), 2U) << mode;
        std::vector<std::size_t> ranges;
        for (const std::string& path : found) {
            const timeline data = load_timeline(path);
            EXPECT_TRUE(data.quality.ended) << mode;
            EXPECT_TRUE(data.quality.dropped.empty()) << mode;
            EXPECT_EQ(data.ops.size(), data.ranges.size()) << mode;
            ranges.push_back(data.ranges.size());
        }
        std::sort(ranges.begin(), ranges.end());
        EXPECT_EQ(ranges, (std::vector<std::size_t>{20, 40})) << mode;
        EXPECT_TRUE(runs.at(mode).scratch.files(".rings").empty()) << mode;
    }
    EXPECT_EQ(end("stop-and-exit").err, no_end);
    const timeline data = captured("stop-and-exit");
    EXPECT_FALSE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 40U);
}

TEST_F(UnresponsiveDisk, DoesNotBlockAResume) {
    begin("resume", {{"PROF_EXPORT", "none"}});
    EXPECT_EQ(end("resume").err, "");
    const timeline data = captured("resume");
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 60U);
    EXPECT_EQ(data.ops.size(), 60U);
}

// As where the whole machine stands still for a while.
TEST_F(UnresponsiveDisk, IsNotOneWhereTheProcessIsStopped) {
    begin("stopped", {{"PROF_EXPORT", "none"}});
    EXPECT_EQ(end("stopped").err, "");
    EXPECT_TRUE(captured("stopped").quality.ended);
}

// A step that begins while the window before cannot be taken in gets no window. Later steps do.
TEST_F(UnresponsiveDisk, DoesNotBlockAStepThatOpensAWindow) {
    begin("steps", {{"PROF_EXPORT", "none"}, {"PROF_SCHEDULE", "wait=1,warmup=1,active=2"}});
    EXPECT_EQ(end("steps").err,
              "libprof: a window was passed over: the capture's disk did not answer while the one before was taken "
              "in\n");
    const timeline data = captured("steps");
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.property("windows_notice"),
              "4 windows were passed over: the disk did not answer while the one before was taken in");
    EXPECT_EQ(data.ranges.size(), 2U * (10 - 4));
    EXPECT_EQ(data.ops.size(), data.ranges.size());
    EXPECT_TRUE(data.quality.dropped.empty());
}

}  // namespace
}  // namespace prof::test
