// SPDX-License-Identifier: Apache-2.0
// libprof's own threads, as the program sees them: when there are any, what they take of its address space, that they
// have ended when it exits, and that a program of one thread has one thread when it forks. Scenes of
// own_threads_victim.cpp.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "capture/recovery/seal.hpp"
#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using range_counts = std::map<std::string, int>;

struct OwnThreads : bare_and_profiled {
    std::vector<range_counts> recorded(std::size_t count) const {
        std::vector<range_counts> out;
        for (const timeline& data : captured(count)) {
            EXPECT_THAT(data.quality.dropped, IsEmpty());
            range_counts& ranges = out.emplace_back();
            for (const timeline_range& r : data.ranges) ++ranges[std::string(data.name(r.name))];
        }
        return out;
    }
    process_result run_in_shell(const std::string& command, const std::string& library) const {
        return run_process({"/bin/sh", "-c", command},
                           {{"PROF_OUTPUT_DIR", scratch.path + "/captures"},
                            {"PROF_RINGS", scratch.path},
                            {"PROF_EXPORT", "none"},
                            {"LD_PRELOAD", library}},
                           scratch.path);
    }
    static long peak_kb(const process_result& of) {
        const std::size_t at = of.out.find("VmPeak ");
        EXPECT_NE(at, std::string::npos) << of.out << of.err;
        return at == std::string::npos ? 0 : std::strtol(of.out.c_str() + at + 7, nullptr, 10);
    }
};

TEST_F(OwnThreads, AreNotThereBeforeTheFirstRecord) {
    EXPECT_EQ(same_with_and_without("before_the_first_record", exited(3)), "");
}

TEST_F(OwnThreads, AreNotThereAfterTheRecording) {
    EXPECT_EQ(same_with_and_without("after_the_recording", exited(3)), "");
    EXPECT_THAT(recorded(2), UnorderedElementsAre(range_counts{{"recorded", 3}}, range_counts{{"recorded again", 3}}));
}

TEST_F(OwnThreads, HaveEndedWhenTheProgramExits) {
    EXPECT_EQ(same_with_and_without("at_exit", exited(3)), "");
    EXPECT_EQ(same_with_and_without("after_callbacks", exited(3)), "");
    EXPECT_EQ(same_with_and_without("at_exit", exited(3), {{"PROF_EXPORT", "trace,summary"}}), "");
    EXPECT_EQ(same_with_and_without("at_exit", exited(3), {{"PROF_CONTROL", "on"}}), "");
}

TEST_F(OwnThreads, AreNotThereAtAForkOfAProgramOfOneThread) {
    EXPECT_EQ(same_with_and_without("forks", exited(3)), "");
    std::vector<range_counts> all = recorded(1 + 5);
    EXPECT_THAT(all, testing::Contains(range_counts{{"parent's", 1000}}));
    EXPECT_EQ(std::count(all.begin(), all.end(), range_counts{{"child's", 10}}), 5);
}

TEST_F(OwnThreads, AreNotThereAtAForkBesideAThreadThatEnds) {
    EXPECT_EQ(same_with_and_without("beside_an_ending_thread", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 50}}));
}

TEST_F(OwnThreads, AreNotThereAtAForkOfAForkedChild) {
    EXPECT_EQ(same_with_and_without("generations", exited(3)), "");
    EXPECT_THAT(recorded(3), UnorderedElementsAre(range_counts{{"parent's", 10}}, range_counts{{"child's", 20}},
                                                  range_counts{{"grandchild's", 10}}));
}

TEST_F(OwnThreads, AreNotThereAtAForkWhileNothingIsRecorded) {
    EXPECT_EQ(same_with_and_without("forks_while_stopped", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 20}}));
}

TEST_F(OwnThreads, ComeBackWithAnyRecord) {
    EXPECT_EQ(same_with_and_without("with_an_open_range", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"outer", 1}, {"thread's", 10}}));
    std::filesystem::remove_all(scratch.path + "/captures");
    EXPECT_EQ(same_with_and_without("in_a_signals_handler", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"handler's", 1}, {"parent's", 2}}));
}

TEST_F(OwnThreads, LoseNothingWhereTheProgramEndsAtAFork) {
    EXPECT_EQ(same_with_and_without("ends_at_a_fork", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 10}}));
    std::filesystem::remove_all(scratch.path + "/captures");
    EXPECT_EQ(same_with_and_without("is_killed_at_a_fork", SIGKILL), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 10}})) << "all of it is in the capture";
    std::filesystem::remove_all(scratch.path + "/captures");
    EXPECT_THAT(same_with_and_without("exits_in_a_handler", exited(5)), HasSubstr("the capture has no end"));
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 10}}));
}

TEST_F(OwnThreads, StayWhereTheProgramHasOthers) {
    EXPECT_EQ(same_with_and_without("beside_a_thread", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"other's", 20}, {"parent's", 200}}));
}

TEST_F(OwnThreads, CallNeitherMallocNorFree) {
    for (const std::string exports : {"none", "trace,summary"}) {
        const process_result result = run(
            "forks", true, {{"LD_PRELOAD", PROF_TEST_LIBRARY " " PROF_TEST_MALLOC_WATCH}, {"PROF_EXPORT", exports}});
        EXPECT_EQ(result.status, exited(3));
        EXPECT_EQ(result.err, "") << exports;
        EXPECT_FALSE(result.out.empty());
    }
}

// The option `memory` apart, whose mapping has 50 MB here: under a limit it gets less.
TEST_F(OwnThreads, TakeLittleAddressSpace) {
    constexpr long most_kb = 20L << 10;
    constexpr long rings_kb = 51L << 10;
    const std::string scene = "'" PROF_TEST_VICTIM "' address_space";
    const long bare = peak_kb(run_in_shell("exec " + scene, ""));
    EXPECT_LT(peak_kb(run_in_shell("exec " + scene, PROF_TEST_LIBRARY)) - bare, rings_kb + most_kb);
    std::filesystem::remove_all(scratch.path + "/captures");

    const process_result limited =
        run_in_shell("ulimit -v " + std::to_string(bare + most_kb) + "; exec " + scene, PROF_TEST_LIBRARY);
    EXPECT_EQ(limited.status, exited(3)) << limited.err;
    EXPECT_EQ(limited.err, "");
    EXPECT_LE(peak_kb(limited), bare + most_kb);
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"recorded", 1000}}));
    EXPECT_THAT(captured(1).front().properties.at("rings_notice"), HasSubstr("ulimit -v"));
}

// memcheck counts a thread that still runs as a leak.
TEST_F(OwnThreads, AreNoLeakForMemcheck) {
    if (std::system("valgrind --version > valgrind.version 2>&1") != 0) GTEST_SKIP() << "no valgrind (apt-get)";
    const process_result result = run_in_shell(
        "exec valgrind -q --leak-check=full --error-exitcode=77 '" PROF_TEST_VICTIM "' at_exit", PROF_TEST_LIBRARY);
    EXPECT_EQ(result.status, exited(3)) << result.err;
}

}  // namespace
}  // namespace prof::test
