// SPDX-License-Identifier: Apache-2.0
// Control from inside the process by the C interface: status, options, callbacks and the log (callbacks_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "options/options.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

struct Callbacks : testing::Test, profiled_program {
    Callbacks()
        : profiled_program(
              way_in::its_own,
              {{"PROF_AUTOSTART", "0"}, {"PROF_CONTROL", "off"}, {"PROF_EXPORT", ""}, {"FAKE_GPU_CLOCK", ""}}) {}

    process_result run(const std::string& scene) const { return profiled_program::run({scene}); }
    // What a scene prints that comes to its end, by lines.
    std::vector<std::string> lines_of(const std::string& scene) const {
        const process_result result = run(scene);
        EXPECT_EQ(result.exit_code(), 3) << result.err;
        EXPECT_EQ(result.err, "");
        std::vector<std::string> out = split(result.out);
        EXPECT_TRUE(!out.empty() && out.back() == "done");
        if (!out.empty()) out.pop_back();
        return out;
    }
    static std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> out;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) out.push_back(line);
        return out;
    }
};

// state, GPU, steps, windows, drops
TEST_F(Callbacks, StatusGivesStateAndCounts) {
    std::vector<std::string> lines = lines_of("states");
    ASSERT_THAT(lines, SizeIs(9));
    const nlohmann::json status = nlohmann::json::parse(lines.back());
    lines.pop_back();
    EXPECT_THAT(lines,
                ElementsAre("before;0;0;0;0;0", "started;1;0;0;1;0", "ranges;2;0;0;1;0", "gpu;2;1;2;1;0",
                            "paused;3;1;2;1;0", "resumed;2;1;2;2;0", "stopped;0;0;2;2;0", "scheduled;4;0;0;0;0"));
    EXPECT_EQ(status["state"], "idle");
    EXPECT_EQ(status["waiting"], false);
    EXPECT_EQ(status["steps"], 0);
    EXPECT_EQ(status["windows"], 0);
    EXPECT_EQ(status["dropped"], nlohmann::json::object());
    EXPECT_THAT(std::string(status["command"]), HasSubstr("callbacks_victim states"));
    EXPECT_EQ(status["gpu"], "no recording");
}

TEST_F(Callbacks, StructsAndNullsAreChecked) { EXPECT_THAT(lines_of("sizes_of_structs"), SizeIs(0)); }

TEST_F(Callbacks, OptionsAreListedReadAndSet) {
    const std::vector<std::string> lines = lines_of("options");
    const auto table = option_table();
    ASSERT_GT(lines.size(), table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
        EXPECT_EQ(lines[i], std::string(table[i].name) + ";" + variable_of(table[i]) + ";" +
                                std::to_string(static_cast<int>(table[i].changes)) + ";" + table[i].print({}) + ";" +
                                accepts_of(table[i]));
    }
    EXPECT_EQ(lines[table.size()], "");
    const std::vector<std::string> rest(lines.begin() + static_cast<std::ptrdiff_t>(table.size()) + 1, lines.end());
    EXPECT_THAT(
        rest,
        ElementsAre("0;7", "1;rows: \"many\" is not accepted; it takes all, or a whole number from 1 to 1000000",
                    StartsWith("1;there is no option \"row\"; did you mean rows?"),
                    StartsWith("1;there is no option \"a=b\"; there are output_dir, "), "0;other",
                    "2;autostart is read when the program begins; it cannot change any more",
                    "1;capture_range=steps and steps=N-M go together: set both or neither", "1;7;", "0;9;2-3", "3",
                    "0;5", "2;name stays as it is while a recording runs: stop that first", "2;5;2-3", "5;other"));
}

TEST_F(Callbacks, GetEventsInTheirOrder) {
    std::vector<std::string> lines = lines_of("events");
    ASSERT_THAT(lines, SizeIs(13));
    const std::string capture = lines[9];
    ASSERT_THAT(capture, AllOf(StartsWith("named.0."), MatchesRegex(".*\\.prof")));
    const std::string dump = capture.substr(0, capture.size() - 5) + ".dump-1.prof";
    // The end of the first window and the beginning of the second do not wait for the export thread.
    EXPECT_THAT(lines,
                ElementsAre("all;32;0;0;;", "all;2;1;0;;", "all;1;1;0;;", "all;4;1;0;" + capture + ";", "all;2;2;0;;",
                            testing::_, testing::_, testing::_, testing::_, capture, "steps;1;2;0;;", "steps;1;3;0;;",
                            MatchesRegex("steps;64;3;3;removed.*prof;capture .*/removed.*prof was removed while it was "
                                         "written: all of it is lost")));
    EXPECT_THAT(std::vector(lines.begin() + 5, lines.begin() + 9),
                testing::UnorderedElementsAre("all;8;1;0;" + dump + ";", "all;4;2;0;" + capture + ";",
                                              "all;16;1;0;" + capture + ";", "all;64;1;0;" + capture + ";"));
    EXPECT_EQ(lines[8], "all;64;1;0;" + capture + ";");
}

TEST_F(Callbacks, GetTheWindowsOfASchedule) {
    const std::vector<std::string> lines = lines_of("windows_of_schedule");
    ASSERT_THAT(lines, SizeIs(6));
    EXPECT_THAT(scratch.files(".prof"), SizeIs(2));
    EXPECT_THAT(lines,
                ElementsAre("32;0;0;;", "2;1;0;;", MatchesRegex("4;1;0;named.0.[^.]*.prof;"), "2;2;0;;",
                            MatchesRegex("4;2;0;named.0.[^.]*.2.prof;"), MatchesRegex("64;6;0;named.0.[^.]*.2.prof;")));
}

TEST_F(Callbacks, CannotDeadlock) { EXPECT_THAT(lines_of("try_to_deadlock"), SizeIs(0)); }

TEST_F(Callbacks, AreReplacedWhileEventsCome) { EXPECT_THAT(lines_of("storm"), SizeIs(0)); }

// The first of 3000 is being delivered, 1024 wait, and all others are lost: 3000 - 1 - 1024. One more follows.
TEST_F(Callbacks, AreToldOfLostEvents) { EXPECT_THAT(lines_of("lost_events"), ElementsAre("1026;1975;3001")); }

TEST_F(Callbacks, DoNotHoldUpTheEndOfTheProcess) {
    EXPECT_THAT(lines_of("exit_during_a_callback"), SizeIs(0));
    EXPECT_TRUE(load_timeline(scratch.files(".prof").front()).quality.ended);
}

TEST_F(Callbacks, MayEndTheirThread) {
#ifdef PROF_TEST_SANITIZED
    GTEST_SKIP() << "a sanitizer does not follow the end of the main thread";
#endif
    const process_result result = run("callback_that_ends_its_thread");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "done\n");
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(load_timeline(scratch.files(".prof").front()).quality.ended);
}

TEST_F(Callbacks, AreNotThoseOfAForkedChild) {
#ifdef PROF_TEST_SANITIZED
    GTEST_SKIP() << "the thread sanitizer allows a forked child no threads";
#endif
    EXPECT_THAT(lines_of("forked_child"), SizeIs(0));
}

TEST_F(Callbacks, LogGetsEveryLineOnce) {
    const process_result result = run("log_lines");
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const auto line = [&](const std::string& directory, const std::string& end) {
        return MatchesRegex("(log;[12];|libprof: )cannot create capture " + scratch.path + "/" + directory +
                            "/[^/]*.prof: Not a directory; choose a directory that exists and can be written" + end);
    };
    const std::string nothing = "; nothing is recorded";
    const std::vector<std::string> lines = split(result.out);
    EXPECT_THAT(lines, ElementsAre(line("first", nothing), line("first", ""), line("second", nothing),
                                   line("second", ""), "done"));
    EXPECT_THAT(lines.front(), StartsWith("log;2;"));
    EXPECT_THAT(lines[1], StartsWith("log;2;"));
    EXPECT_THAT(split(result.err), ElementsAre(line("third", nothing)));
}

TEST_F(Callbacks, LinesThatWaitAtTheEndGoToStandardError) {
    const process_result result = run("log_at_exit");
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.out, "done\n");
    EXPECT_THAT(split(result.err), ElementsAre(MatchesRegex("libprof: cannot create capture .*/first/.* written")));
}

}  // namespace
}  // namespace prof::test
