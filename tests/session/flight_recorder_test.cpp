// SPDX-License-Identifier: Apache-2.0
// The flight recorder (docs/guide/flight-recorder.md): a recording of which only the latest part is kept, in a whole
// program on the simulated GPU (flight_recorder_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/quality/capture_notes.hpp"
#include "capture/recovery/seal.hpp"
#include "session/steps_of.hpp"
#include "support/profiled_program.hpp"
#include "support/sanitized.hpp"

namespace prof::test {
namespace {

struct FlightRecorder : testing::Test, profiled_program {
    FlightRecorder() : profiled_program(way_in::preloaded, {{"PROF_MEMORY", "16M"}}) {}

    // What the program printed: by the first word of a line, the number behind it.
    std::map<std::string, std::uint64_t> run(const std::vector<std::string>& words, const std::string& keep,
                                             environment more = {}) const {
        more.emplace("PROF_KEEP", keep);
        const process_result result = profiled_program::run(words, more);
        EXPECT_EQ(result.exit_code(), 0) << result.err;
        EXPECT_EQ(result.err, "");
        std::map<std::string, std::uint64_t> out;
        std::istringstream lines(result.out);
        std::uint64_t value = 0;
        for (std::string word; lines >> word >> value;) out[word] = value;
        return out;
    }
};

// What is there is sound: steps without a gap but where the rings were full, each operation with its launch.
void expect_sound(const timeline& data) {
    EXPECT_TRUE(data.quality.is_latest_part);
    EXPECT_GT(data.quality.trimmed_records, 0U);
    EXPECT_GT(data.quality.trimmed_gpu_records, 0U);
    EXPECT_EQ(data.quality.damaged_bytes, 0U);
    EXPECT_FALSE(data.quality.dropped.contains("pop_without_push"));
    EXPECT_FALSE(data.quality.dropped.contains("end_without_start"));
    const std::vector<std::uint64_t> steps = steps_of(data);
    ASSERT_GT(steps.size(), 100U);
    EXPECT_EQ(std::adjacent_find(steps.begin(), steps.end()), steps.end());
    if (!data.quality.dropped.contains("ring_full")) {
        EXPECT_EQ(steps.back() - steps.front() + 1, steps.size());
        for (const gpu_op& op : data.ops) ASSERT_NE(op.launch, npos);
    }
    for (const char* const name : {"training", "whole"}) {
        const auto range = std::find_if(data.ranges.begin(), data.ranges.end(),
                                        [&](const timeline_range& r) { return data.name(r.name) == name; });
        ASSERT_NE(range, data.ranges.end()) << name;
        EXPECT_TRUE(range->open_at_start);
    }
    EXPECT_THAT(texts_of(capture_notes(data), every_weight), testing::Contains(testing::HasSubstr("only the latest")));
}

void expect_latest(const timeline& data, std::uint64_t step) {
    EXPECT_TRUE(data.quality.dropped.contains("ring_full") || steps_of(data).back() == step);
}

// They write more than 300 bytes each.
const std::string many_steps = is_sanitized ? "200000" : "400000";

TEST_F(FlightRecorder, BoundsItsStorageOverALongRun) {
    const auto printed = run({"steps", many_steps}, "8M");
    const timeline data = only_capture();
    expect_sound(data);
    expect_latest(data, printed.at("steps"));
    EXPECT_TRUE(data.quality.ended);
    // A round may bring all that the rings and CUPTI's buffers hold: 16 MB at most with this memory. What two brought
    // may be there.
    EXPECT_LE(printed.at("largest"), (8U + 2 * 16U) * 1024);
    EXPECT_GT(printed.at("largest"), 5U * 1024);
    struct stat status {};
    ASSERT_EQ(stat(path_of_capture().c_str(), &status), 0);
    EXPECT_GT(status.st_size, 40 << 20) << "it is that of several times what is kept";
    std::printf("%ju KiB of storage at most; the file ends at %jd KiB\n",
                static_cast<std::uintmax_t>(printed.at("largest")), static_cast<std::intmax_t>(status.st_size / 1024));
}

// Where the file system makes no holes, the file itself stays small: what is kept, as much again, and what two rounds
// bring.
TEST_F(FlightRecorder, BoundsItsFileLengthWithoutHoles) {
    const std::string libraries = std::string(PROF_TEST_NO_HOLES) + ":" + PROF_TEST_LIBRARY;
    const auto printed = run({"steps", many_steps}, "8M", {{"LD_PRELOAD", libraries}});
    const timeline data = only_capture();
    expect_sound(data);
    expect_latest(data, printed.at("steps"));
    EXPECT_FALSE(data.properties.contains("keep_notice"));
    EXPECT_LE(printed.at("largest"), (2U * 8 + 2 * 16) * 1024);
    EXPECT_LE(std::filesystem::file_size(path_of_capture()), (2U * 8 + 2 * 16) << 20);
}

// Eight texts are 2 MB, a quarter of what is kept. In each key frame, of which there are eight in what is kept, they
// would make three of one.
TEST_F(FlightRecorder, KeepsTextsWithoutWritingThemAgainAndAgain) {
    constexpr std::uint64_t keep_bytes = 8U << 20;
    const std::string steps = is_sanitized ? "100000" : "250000";
    const auto without = run({"paced", steps}, "8M");
    EXPECT_EQ(only_capture().quality.dropped.count("ring_full"), 0U);
    std::filesystem::remove(path_of_capture());
    const auto printed = run({"texts", steps}, "8M");
    EXPECT_EQ(printed.at("kept"), 8U);
    EXPECT_GT(printed.at("length"), 2 * keep_bytes) << "texts have to be written again";
    EXPECT_LT(printed.at("length"), without.at("length") * 2) << "in each 6 MB that stay is one copy of them";
    const timeline data = only_capture();
    EXPECT_TRUE(data.quality.is_latest_part);
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(data.property("text." + std::to_string(i)), std::string(250'000, static_cast<char>('a' + i))) << i;
    }
    EXPECT_EQ(data.property("text.next"), "");
}

// PROF_OK is 0, PROF_INVALID_ARGUMENT 1.
TEST_F(FlightRecorder, KeepsATextWholeOrRefusesIt) {
    constexpr std::uint64_t longest = 1U << 20;
    for (const std::string keep : {"", "8M"}) {
        for (const std::uint64_t bytes : {262'144U - 64U, 262'144U, 262'145U, 1U << 20, (1U << 20) + 1, 10U << 20}) {
            SCOPED_TRACE(bytes);
            const auto printed = run({"text", std::to_string(bytes)}, keep);
            EXPECT_EQ(printed.at("result"), bytes <= longest ? 0U : 1U);
            EXPECT_EQ(only_capture().property("text.only"), std::string(bytes <= longest ? bytes : 0, 'x'));
            std::filesystem::remove(path_of_capture());
        }
    }
}

TEST_F(FlightRecorder, KeepsTheLatestSeconds) {
    const auto printed = run({"seconds", "5"}, "2s");
    const timeline data = only_capture();
    expect_sound(data);
    expect_latest(data, printed.at("steps"));
    // Two of the five seconds, and up to one more until the next key frame; of a drain thread that waits for its turn,
    // more.
    const std::vector<std::uint64_t> steps = steps_of(data);
    EXPECT_GT(steps.size(), printed.at("steps") / 10);
    EXPECT_LT(steps.size(), printed.at("steps"));
}

// PROF_DEATHS: how many processes die (1).
void expect_to_survive_a_death(const FlightRecorder& in) {
    const scratch_directory& scratch = in.scratch;
    const pid_t pid = start_process({PROF_TEST_VICTIM, "for_ever"}, in.with({{"PROF_KEEP", "8M"}}), scratch.path,
                                    scratch.path + "/out", scratch.path + "/err");
    int status = 0;
    bool is_over = false;
    while (!is_over && read_file(scratch.path + "/out").empty()) {
        sched_yield();
        is_over = waitpid(pid, &status, WNOHANG) == pid;
    }
    ASSERT_FALSE(is_over) << read_file(scratch.path + "/err");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    const timeline unsealed = in.only_capture();
    expect_sound(unsealed);
    EXPECT_FALSE(unsealed.quality.ended);
    EXPECT_EQ(seal_capture(in.path_of_capture(), ended_by_signal(SIGKILL)).result, seal_result::sealed);
    const timeline sealed = in.only_capture();
    expect_sound(sealed);
    EXPECT_TRUE(sealed.quality.died);
    EXPECT_EQ(steps_of(sealed), steps_of(unsealed));
    EXPECT_EQ(sealed.ops.size(), unsealed.ops.size());
}

TEST_F(FlightRecorder, SurvivesTheDeathOfTheProcess) {
    const char* const wanted = std::getenv("PROF_DEATHS");
    const int count = wanted == nullptr ? 1 : std::atoi(wanted);
    for (int i = 0; i < count && !HasFailure(); ++i) {
        SCOPED_TRACE(i);
        for (const char* const ending : {".prof", ".rings", "/out"}) {
            for (const std::string& file : scratch.files(ending)) std::filesystem::remove(file);
        }
        expect_to_survive_a_death(*this);
    }
}

}  // namespace
}  // namespace prof::test
