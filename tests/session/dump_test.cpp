// SPDX-License-Identifier: Apache-2.0
// Dumps (docs/guide/flight-recorder.md#dumps): what a recording has, written out while it goes on (dump_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "session/steps_of.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using testing::HasSubstr;

using settings = std::map<std::string, std::string>;

struct Dump : testing::Test, profiled_program {
    Dump() : profiled_program(way_in::preloaded, {{"PROF_NAME", "job"}}) {}

    // The file whose name ends so.
    std::string file(const std::string& end) const {
        std::string found;
        for (const std::string& path : scratch.files(end)) {
            EXPECT_EQ(found, "") << "and " << path;
            found = path;
        }
        EXPECT_NE(found, "") << end;
        return found;
    }
    std::string capture() const {
        for (const std::string& path : scratch.files(".prof")) {
            if (path.find(".dump-") == std::string::npos && path.find("named") == std::string::npos) return path;
        }
        ADD_FAILURE() << "no capture";
        return {};
    }
};

bool is_dump(const timeline& data) {
    const auto notes = texts_of(capture_notes(data), every_weight);
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note == "a dump of a recording that went on: it was asked for";
    });
}

// Closed, without damage, each operation with its launch, and no nanosecond lost between rows and total.
void expect_complete(const timeline& data) {
    EXPECT_TRUE(data.quality.ended);
    EXPECT_FALSE(data.quality.died);
    EXPECT_EQ(data.quality.recovered_records, 0U);
    EXPECT_EQ(data.quality.damaged_bytes, 0U);
    EXPECT_LE(data.quality.ranges_open_at_end, 1U);  // the step that is under way
    for (const gpu_op& op : data.ops) ASSERT_NE(op.launch, npos);
    const projection rows = project(data, projection_options{});
    std::int64_t self = 0;
    for (const projection_row& row : rows.rows) self += row.gpu_self_ns;
    EXPECT_EQ(self, rows.total_gpu_ns);
}

TEST_F(Dump, HasEveryRecordMadeBeforeTheCall) {
    constexpr std::uint64_t count = 500;
    const process_result result =
        run({"dumps", std::to_string(count), scratch.path + "/named.prof"}, {{"PROF_EXPORT", "trace,summary"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    const timeline whole = load_timeline(capture());
    const timeline first = load_timeline(file(".dump-1.prof"));
    const timeline second = load_timeline(scratch.path + "/named.prof");
    ASSERT_EQ(steps_of(whole).size(), 3 * count);
    std::uint64_t calls = 1;
    for (const timeline* dump : {&first, &second}) {
        SCOPED_TRACE(calls);
        expect_complete(*dump);
        EXPECT_FALSE(dump->quality.is_latest_part);
        const auto steps = steps_of(*dump);
        // Where the recording was stopped before the copy was made, that is a copy of the whole.
        EXPECT_TRUE(dump->properties.contains("dump") || steps.size() == 3 * count);
        EXPECT_EQ(dump->properties.contains("dump"), is_dump(*dump));
        EXPECT_GE(steps.size(), calls * count);
        EXPECT_EQ(steps.front(), 1U);
        EXPECT_EQ(steps.back(), steps.size());
        // What is in it is what the whole capture says of that time.
        ASSERT_LE(dump->ops.size(), whole.ops.size());
        for (std::size_t i = 0; i < dump->ops.size(); ++i)
            ASSERT_EQ(dump->ops[i].correlation, whole.ops[i].correlation);
        ++calls;
    }
    for (const timeline_range& range : whole.ranges) EXPECT_FALSE(range.open_at_end);
    EXPECT_FALSE(is_dump(whole));
    for (const char* end :
         {".dump-1.trace.json.gz", ".dump-1.summary.txt", "named.trace.json.gz", "named.summary.txt"}) {
        EXPECT_GT(std::filesystem::file_size(file(end)), 100U);
    }
    for (const std::string& path : scratch.files("")) EXPECT_EQ(path.find(".tmp-"), std::string::npos) << path;
}

// The dump is of the recording, wherever its file was moved.
TEST_F(Dump, CopiesAMovedCaptureNotTheFileAtItsPath) {
    constexpr std::uint64_t count = 500;
    const process_result result = run({"moved", std::to_string(count), scratch.path + "/named.prof"}, {});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    const timeline data = load_timeline(scratch.path + "/named.prof");
    expect_complete(data);
    EXPECT_EQ(steps_of(data).size(), count);
    EXPECT_EQ(steps_of(load_timeline(scratch.path + "/moved")).size(), count);
    EXPECT_EQ(read_file(capture()), "the program's own");
}

// Of a recording that kept its latest part, asked for after the step `before`.
void expect_latest_part(const std::string& path, std::uint64_t before) {
    const timeline data = load_timeline(path);
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.quality.damaged_bytes, 0U);
    EXPECT_EQ(data.quality.recovered_records, 0U);
    EXPECT_TRUE(data.quality.is_latest_part);
    const auto steps = steps_of(data);
    ASSERT_GT(steps.size(), 100U);
    if (data.quality.dropped.contains("ring_full")) return;
    EXPECT_EQ(steps.back() - steps.front() + 1, steps.size());
    EXPECT_GE(steps.back(), before);
}

TEST_F(Dump, HasTheLatestPartWithoutAHole) {
    const process_result result = run({"latest", scratch.path + "/named.prof"}, {{"PROF_KEEP", "8M"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    expect_latest_part(scratch.path + "/named.prof", std::stoull(result.out));
    EXPECT_LT(std::filesystem::file_size(scratch.path + "/named.prof"), std::filesystem::file_size(capture()) / 2);
}

// It holds however long the copy takes, and whatever is recorded meanwhile.
TEST_F(Dump, KeepsTheFrontUntilItIsCopied) {
    const std::string libraries = std::string{PROF_TEST_SLOW_DISK} + ":" + PROF_TEST_LIBRARY;
    const process_result result =
        run({"held", scratch.path + "/named.prof"}, {{"PROF_KEEP", "8M"}, {"LD_PRELOAD", libraries}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    expect_latest_part(scratch.path + "/named.prof", std::stoull(result.out));
}

TEST_F(Dump, IsRefusedInOneLineWhenImpossible) {
    std::ofstream(scratch.path + "/taken.prof") << "somebody's";
    const process_result result = run({"refused"}, {{"PROF_AUTOSTART", "0"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    std::istringstream lines(result.out);
    for (const char* expected :
         {"2 no recording is running", "2 nothing was recorded yet",
          "3 a dump is named ....prof, as a capture is, and not dump.txt",
          "3 a dump is named ....prof, as a capture is, and not .prof",
          "3 cannot create /nowhere/at/all/a.prof: No such file or directory; choose a directory "
          "that exists and can be written",
          "3 cannot create taken.prof: an existing file is never overwritten, choose another name",
          "2 no recording is running"}) {
        std::string line;
        std::getline(lines, line);
        EXPECT_EQ(line, expected);
    }
    EXPECT_EQ(read_file(scratch.path + "/taken.prof"), "somebody's");
    EXPECT_TRUE(scratch.files(".dump-1.prof").empty());
}

// The child has its own recording, which is empty so far.
TEST_F(Dump, IsRefusedInAForkedChildWithoutRecords) {
    const process_result result = run({"fork"}, {});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_THAT(result.out, HasSubstr("2 nothing was recorded yet"));
    expect_complete(load_timeline(file(".dump-1.prof")));
    EXPECT_TRUE(scratch.files(".dump-2.prof").empty());
}

TEST_F(Dump, IsMadeAfterASlowStep) {
    const process_result result =
        run({"slow", "2"}, {{"PROF_KEEP", "1T"}, {"PROF_DUMP_ON_SLOW_STEP", "2.5"}, {"PROF_DUMP_LIMIT", "2"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    const auto dumps = scratch.files(".prof");
    EXPECT_EQ(dumps.size(), 1U + 2);
    for (const std::string& path : dumps) {
        if (path == capture()) continue;
        const timeline data = load_timeline(path);
        expect_complete(data);
        const std::string reason = data.properties.at("dump");
        unsigned long long step = 0;
        double ms = 0;
        double times = 0;
        std::size_t before = 0;
        ASSERT_EQ(std::sscanf(reason.c_str(), "step %llu took %lf ms, %lf times the median of the %zu steps before it",
                              &step, &ms, &times, &before),
                  4)
            << reason;
        EXPECT_GE(times, 2.5);
        EXPECT_GE(before, 16U);
        const auto steps = steps_of(data);
        EXPECT_TRUE(std::binary_search(steps.begin(), steps.end(), step)) << reason;
    }
}

// A dump that could not be made does not count among those that may be.
TEST_F(Dump, IsMadeAfterOneThatFailed) {
    const std::string directory = scratch.path + "/captures";
    const process_result result = run({"failed_first"}, {{"PROF_KEEP", "1T"},
                                                         {"PROF_OUTPUT_DIR", directory},
                                                         {"PROF_DUMP_ON_SLOW_STEP", "2.5"},
                                                         {"PROF_DUMP_LIMIT", "1"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    const std::filesystem::directory_iterator files(directory);
    EXPECT_EQ(
        std::count_if(begin(files), end(files), [](const auto& file) { return file.path().extension() == ".prof"; }),
        1 + 1);
}

TEST_F(Dump, IsMadeOnceInAKeptPeriod) {
    const process_result result = run({"slow", "1"}, {{"PROF_KEEP", "168h"}, {"PROF_DUMP_ON_SLOW_STEP", "2.5"}});
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(scratch.files(".prof").size(), 1U + 1);
}

// Without keep, or without a step that takes longer than usual, no dump is made.
TEST_F(Dump, WarnsOfSlowStepsWithoutKeep) {
    const process_result result = run({"dumps", "10", scratch.path + "/named.prof"}, {{"PROF_DUMP_ON_SLOW_STEP", "2"}});
    EXPECT_EQ(result.err, "libprof: dump_on_slow_step writes out what keep has kept: set keep, too\n");
}

}  // namespace
}  // namespace prof::test
