// SPDX-License-Identifier: Apache-2.0
// Children, daemons, files closed behind libprof's back, threads and handlers that outlive main: each scene of
// processes_victim.cpp is run without libprof and with it; status and output are to be the same, and the captures are
// to have what the scene says.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr int ranges_a_step = 3;
constexpr int kernels_a_step = 2;

struct Processes : bare_and_profiled {};

void expect_steps(const timeline& data, std::size_t steps) {
    EXPECT_EQ(data.ranges.size(), steps * ranges_a_step);
    EXPECT_EQ(data.ops.size(), steps * kernels_a_step);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
    EXPECT_TRUE(data.quality.ended);
}

TEST_F(Processes, HaveTheirOwnCaptureIfForkedBeforeTheFirstUse) {
    EXPECT_EQ(same_with_and_without("forked_trainers", exited(3)), "");
    std::map<std::string, std::size_t> steps;
    for (const timeline& data : captured(3)) {
        steps[data.properties.at("rank")] = data.ops.size() / kernels_a_step;
        expect_steps(data, data.ops.size() / kernels_a_step);
    }
    EXPECT_THAT(steps, ElementsAre(Pair("0", 2U), Pair("1", 3U), Pair("2", 4U)));
}

TEST_F(Processes, AreRecordedAsDaemons) {
    EXPECT_EQ(same_with_and_without("daemon_that_trains", exited(3)), "");
    expect_steps(captured(1).front(), 5);
}

TEST_F(Processes, KeepTheirChildrensRecordsOutOfTheirCapture) {
    EXPECT_EQ(same_with_and_without("children_of_a_trainer", exited(3)), "");
    std::size_t children = 0;
    for (const timeline& data : captured(1 + 3)) {  // the fourth made no range
        EXPECT_THAT(data.quality.dropped, IsEmpty());
        EXPECT_TRUE(data.quality.ended);
        const bool is_child = data.properties.contains("forked_from");
        children += is_child ? 1 : 0;
        EXPECT_EQ(data.ranges.size(), is_child ? 10U : 3U * ranges_a_step);
        EXPECT_EQ(data.ops.size(), is_child ? 0U : 3U * kernels_a_step);
    }
    EXPECT_EQ(children, 3U);
}

TEST_F(Processes, AreNotDisturbedByChildrenWithoutForkHandlers) {
    EXPECT_EQ(same_with_and_without("children_past_all_handlers", exited(3)), "");
    const timeline data = captured(1).front();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
    EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step + 6'000);
    EXPECT_EQ(data.ops.size(), 2U * kernels_a_step);
    for (const timeline_range& range : data.ranges) EXPECT_EQ(data.name(range.name).find("child "), std::string::npos);
}

TEST_F(Processes, MayForkWhileTheirThreadsLaunch) {
    EXPECT_EQ(same_with_and_without("forks_among_threads", exited(3)), "");
    std::size_t children_that_exited = 0;
    timeline data;
    for (timeline& found : captured(1 + 30)) {
        if (!found.properties.contains("forked_from")) {
            data = std::move(found);
            continue;
        }
        EXPECT_EQ(found.ranges.size(), 1U);
        if (found.quality.ended) ++children_that_exited;
    }
    EXPECT_EQ(children_that_exited, 10U);
    EXPECT_TRUE(data.quality.ended);
    if (!data.quality.dropped.empty()) return;  // the drain thread did not get its turn
    EXPECT_GT(data.ops.size(), 1U * kernels_a_step);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
}

TEST_F(Processes, HaveTheirRanksUnderALauncher) {
    EXPECT_EQ(same_with_and_without("launcher", exited(3)), "");
    std::vector<std::string> ranks;
    for (const timeline& data : captured(3)) {
        expect_steps(data, 4);
        ranks.push_back(data.properties.at("rank"));
    }
    EXPECT_THAT(ranks, testing::UnorderedElementsAre("0", "1", "2"));
}

// NVTX and CUDA's driver load another tool. The variables stay, and libprof reports them.
TEST_F(Processes, ReportInjectionVariablesOfAnotherTool) {
    const std::string other = PROF_TEST_OTHER_TOOL;
    EXPECT_EQ(same_with_and_without("trainer", exited(3), {{"CUDA_INJECTION64_PATH", other}, {"PROF_NAME", "a"}}),
              "libprof: no GPU work is recorded: CUDA_INJECTION64_PATH names another tool, " + other + "\n");
    EXPECT_EQ(same_with_and_without("trainer", exited(3), {{"NVTX_INJECTION64_PATH", other}, {"PROF_NAME", "b"}}),
              "libprof: no ranges are recorded: NVTX_INJECTION64_PATH names another tool, " + other + "\n");
    const std::vector<timeline> captures = captured(2);  // in the order of their names
    EXPECT_EQ(captures[0].ranges.size(), 4U * ranges_a_step);
    EXPECT_EQ(captures[0].ops.size(), 0U);
    EXPECT_EQ(captures[0].properties.at("missing"),
              "no GPU work is recorded: CUDA_INJECTION64_PATH names another tool, " + other);
    EXPECT_EQ(captures[1].ranges.size(), 0U);
    EXPECT_EQ(captures[1].ops.size(), 4U * kernels_a_step);
}

TEST_F(Processes, ReportInjectionVariablesThatTheySetThemselves) {
    const std::string other = PROF_TEST_OTHER_TOOL;
    const auto warning_of = [&](const char* variable, const char* name) {
        return same_with_and_without("takes_variable", exited(3),
                                     {{"TAKEN", variable}, {"OTHER_TOOL", other}, {"PROF_NAME", name}});
    };
    EXPECT_EQ(warning_of("CUDA_INJECTION64_PATH", "a"),
              "libprof: no GPU work is recorded: CUDA_INJECTION64_PATH names another tool, " + other + "\n");
    EXPECT_EQ(warning_of("NVTX_INJECTION64_PATH", "b"),
              "libprof: no ranges are recorded: NVTX_INJECTION64_PATH names another tool, " + other + "\n");
    const std::vector<timeline> captures = captured(2);
    EXPECT_EQ(captures[0].ranges.size(), 4U * ranges_a_step);
    EXPECT_TRUE(captures[0].properties.contains("missing"));
    EXPECT_EQ(captures[1].ops.size(), 4U * kernels_a_step);
}

TEST_F(Processes, ReportThatAnotherToolHasBothInjectionVariables) {
    environment e = {{"CUDA_INJECTION64_PATH", PROF_TEST_OTHER_TOOL}, {"NVTX_INJECTION64_PATH", PROF_TEST_OTHER_TOOL}};
    EXPECT_EQ(same_with_and_without("trainer", exited(3), e), "") << "there is no driver in the process";
    std::filesystem::copy_file(PROF_TEST_FAKE_CUDA, scratch.path + "/libcuda.so.1");
    e.insert(
        {{"LD_PRELOAD", PROF_TEST_LIBRARY ":libcuda.so.1"},
         {"LD_LIBRARY_PATH", scratch.path + ":" + std::filesystem::path(PROF_TEST_FAKE_CUDA).parent_path().string()}});
    const process_result result = run("trainer", true, e);
    EXPECT_EQ(result.status, exited(3));
    EXPECT_EQ(result.err,
              "libprof: nothing is recorded: NVTX_INJECTION64_PATH and CUDA_INJECTION64_PATH name another "
              "tool, " PROF_TEST_OTHER_TOOL "\n");
    EXPECT_EQ(captured(0).size(), 0U);
}

// Nsight Systems names its session in the environment, whatever it traces. libprof keeps out of its way where it has
// the variables, and only there.
TEST_F(Processes, AreRecordedBesideNsight) {
    const std::string nsight = scratch.path + "/libToolsInjection64.so";
    std::filesystem::copy_file(PROF_TEST_OTHER_TOOL, nsight);
    environment e = {{"NSYS_PROFILING_SESSION_ID", "4711"}, {"PROF_NAME", "a"}};
    EXPECT_EQ(same_with_and_without("trainer", exited(3), e), "");
    e.insert_or_assign("PROF_NAME", "b");
    e.insert({"NVTX_INJECTION64_PATH", nsight});
    EXPECT_EQ(same_with_and_without("trainer", exited(3), e),
              "libprof: no ranges are recorded: NVTX_INJECTION64_PATH names another tool, " + nsight + "\n");
    e.insert({"CUDA_INJECTION64_PATH", nsight});
    EXPECT_EQ(same_with_and_without("trainer", exited(3), e), "");
    const std::vector<timeline> captures = captured(2);
    expect_steps(captures[0], 4);
    EXPECT_EQ(captures[1].ranges.size(), 0U);
    EXPECT_EQ(captures[1].ops.size(), 4U * kernels_a_step);
}

// One copy has the session, and gets everything that the driver and NVTX hand to the other.
TEST_F(Processes, MayHaveTwoCopiesOfLibprof) {
    const std::string ours = PROF_TEST_LIBRARY;
    std::filesystem::create_directory(scratch.path + "/lib");
    const std::string copy = scratch.path + "/lib/libprof.so.0";
    std::filesystem::copy_file(ours, copy);
    const environment loads[] = {
        {{"PROF_NAME", "a"}, {"CUDA_INJECTION64_PATH", copy}, {"NVTX_INJECTION64_PATH", copy}},
        {{"PROF_NAME", "b"}, {"LD_PRELOAD", ""}, {"CUDA_INJECTION64_PATH", copy}, {"NVTX_INJECTION64_PATH", ours}},
        {{"PROF_NAME", "c"}, {"LD_PRELOAD", ours + ":" + copy}},
        {{"PROF_NAME", "d"}, {"LD_PRELOAD", copy}, {"NVTX_INJECTION64_PATH", ours}},
    };
    const process_result bare = run("trainer", false);
    for (const environment& e : loads) {
        const process_result result = run("trainer", true, e);
        EXPECT_EQ(result.status, bare.status) << e.at("PROF_NAME");
        EXPECT_EQ(result.out, bare.out);
        EXPECT_EQ(result.err, "") << e.at("PROF_NAME");
    }
    for (const timeline& data : captured(4)) {
        expect_steps(data, 4);
        EXPECT_FALSE(data.properties.contains("missing"));
    }
}

TEST_F(Processes, GetAnErrorFromASecondCopyOfLibprof) {
    const std::string copy = scratch.path + "/libprof.so.0";
    std::filesystem::copy_file(PROF_TEST_LIBRARY, copy);
    EXPECT_THAT(same_with_and_without("starts_second_copy", exited(3), {{"SECOND_COPY", copy}}),
                HasSubstr("this is a second copy of libprof; the process's session belongs to " PROF_TEST_LIBRARY));
    expect_steps(captured(1).front(), 4);
}

TEST_F(Processes, KeepTheirOwnFilesWhenTheyCloseAll) {
    EXPECT_THAT(same_with_and_without("closes_all_files", exited(3)),
                HasSubstr("the program closed it; what comes after is not kept"));
    const timeline data = captured(1).front();
    EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step);
    EXPECT_EQ(data.ops.size(), 2U * kernels_a_step);
    EXPECT_FALSE(data.quality.ended);
}

TEST_F(Processes, EndWhileThreadsWorkOn) {
    EXPECT_EQ(same_with_and_without("threads_outlive_main", exited(3)), "");
    EXPECT_TRUE(captured(1).front().quality.ended);
}

// Libcupti's exit handlers have run, and libprof has not called a function of it yet.
TEST_F(Processes, MayEndWhileLibcuptiIsLoaded) {
    const environment waits{{"FAKE_CUPTI_LOADED_IN_EXIT", scratch.path + "/loading"}};
    EXPECT_EQ(same_with_and_without("exit_while_cupti_is_loaded", exited(3), waits), "");
    EXPECT_TRUE(std::filesystem::exists(scratch.path + "/loading"));
    const timeline data = captured(1).front();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.ops.size(), 0U);
}

TEST_F(Processes, EndByExitOnAnyThread) {
    EXPECT_EQ(same_with_and_without("exit_on_another_thread", exited(4)), "");
    EXPECT_TRUE(captured(1).front().quality.ended);
}

TEST_F(Processes, OutliveTheirMainThread) {
    EXPECT_EQ(same_with_and_without("main_ends_first", exited(0)), "");
    const timeline data = captured(1).front();
    EXPECT_EQ(data.ranges.size(), 5U);
    EXPECT_TRUE(data.quality.ended);
}

// The other threads of libprof sleep, and the drain thread has ended or was never started.
TEST_F(Processes, EndWithTheirLastThreadDespiteLibprofsThreads) {
    EXPECT_EQ(same_with_and_without("main_ends_and_recording_stops", exited(0), {{"PROF_CONTROL", "off"}}), "");
    EXPECT_EQ(captured(1).front().ranges.size(), 5U);
    EXPECT_EQ(same_with_and_without("main_ends_first", exited(0), {{"PROF_AUTOSTART", "0"}}), "");
    EXPECT_THAT(same_with_and_without("main_ends_first", exited(0), {{"PROF_OUTPUT_DIR", "/proc/none"}}),
                HasSubstr("nothing is recorded"));
}

TEST_F(Processes, WriteExportsWhereTheRecordingBegan) {
    const environment relative{{"PROF_OUTPUT_DIR", "here"}, {"PROF_EXPORT", "trace"}};
    EXPECT_EQ(same_with_and_without("goes_elsewhere", exited(3), relative), "");
    expect_steps(captured(1).front(), 2);
    const auto traces = scratch.files(".trace.json.gz");
    ASSERT_EQ(traces.size(), 1U);
    EXPECT_EQ(std::filesystem::path(traces.front()).parent_path(), folder(true) + "/here");
}

TEST_F(Processes, LeaveNoSocketWhenAHandlerExitsBeforeTheFirstRecord) {
    const environment control{{"PROF_CONTROL", "on"}, {"PROF_AUTOSTART", "0"}, {"XDG_RUNTIME_DIR", scratch.path}};
    EXPECT_EQ(same_with_and_without("exit_in_handler_before_first_record", exited(12), control), "");
    ASSERT_TRUE(std::filesystem::exists(scratch.path + "/prof")) << "where the socket was";
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path + "/prof"));
}

TEST_F(Processes, MayExitWithinExit) {
    EXPECT_EQ(same_with_and_without("exit_within_exit", exited(9)), "");
    EXPECT_TRUE(captured(1).front().quality.ended);
}

TEST_F(Processes, MayAbortWithinExit) {
    EXPECT_EQ(same_with_and_without("abort_within_exit", SIGABRT), "");
    EXPECT_EQ(captured(1).front().ranges.size(), 3U * ranges_a_step);
}

TEST_F(Processes, RecordRangesOfExitHandlers) {
    EXPECT_EQ(same_with_and_without("ranges_in_handlers", exited(3)), "");
    expect_steps(captured(1).front(), 3);
}

TEST_F(Processes, AreRecoveredAfterAnEndWithoutHandlers) {
    EXPECT_EQ(same_with_and_without("quick", exited(6)), "");
    const timeline data = captured(1).front();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 3U * ranges_a_step);
    EXPECT_EQ(data.ops.size(), 3U * kernels_a_step);
}

TEST_F(Processes, ExitWhileStopping) {
    EXPECT_THAT(same_with_and_without("exit_while_stopping", exited(12)), HasSubstr("has no end"));
    EXPECT_FALSE(captured(1).front().quality.ended);
}

// The thread holds nothing that other threads need: the capture is complete.
TEST_F(Processes, ExitInTheMiddleOfALaunch) {
    EXPECT_EQ(same_with_and_without("exit_in_launch", exited(13)), "");
    const timeline data = captured(1).front();
    EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step + 2U) << "two are open";
    EXPECT_EQ(data.api_calls.size(), 2U * kernels_a_step + 2U) << "two waits among them";
    EXPECT_TRUE(data.quality.ended);
}

TEST_F(Processes, ExitInTheMiddleOfALaunchAmongOthers) {
    EXPECT_EQ(same_with_and_without("exit_in_launch_among_threads", exited(13)), "");
    EXPECT_TRUE(captured(1).front().quality.ended);
}

TEST_F(Processes, ExitWhileCuptiAsksForABuffer) {
    EXPECT_EQ(same_with_and_without("exit_in_buffer_request", exited(13)), "");
    const timeline data = captured(1).front();
    EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step + 2U);
    EXPECT_TRUE(data.quality.ended);
}

// No thread can detach CUPTI then. Earlier records are recovered.
TEST_F(Processes, ExitWhileCuptiIsLocked) {
    EXPECT_THAT(same_with_and_without("exit_in_record", exited(13)), HasSubstr("has no end"));
    const timeline data = captured(1).front();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step + 2U);
    EXPECT_GE(data.ops.size(), 2U * kernels_a_step);
}

TEST_F(Processes, ExitOnTheThreadThatReturnsBuffers) {
    EXPECT_THAT(same_with_and_without("exit_on_cuptis_thread", exited(13)), HasSubstr("has no end"));
    const timeline data = captured(1).front();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_GE(data.ops.size(), 2U * kernels_a_step);
}

// The other thread has the session, and waits for the one that exits.
TEST_F(Processes, ExitWhileAnotherThreadWaitsForBuffers) {
    EXPECT_THAT(same_with_and_without("exit_while_synced", exited(13)), HasSubstr("has no end"));
    EXPECT_EQ(captured(1).front().ops.size(), 2U * kernels_a_step);
}

TEST_F(Processes, ExitInsideTheSession) {
    EXPECT_THAT(same_with_and_without("exit_in_subscription", exited(13)), HasSubstr("has no end"));
    EXPECT_EQ(captured(1).front().ranges.size(), 3U);
}

// The thread holds the allocator's lock. Other threads wait for it, libprof's among them, so the capture may not be
// completed.
TEST_F(Processes, ExitInTheAllocator) {
    for (const std::string scene : {"exit_in_allocator", "exit_in_allocator_among_threads"}) {
        int complete = 0;
        for (int run = 0; run < 10; ++run) {
            SCOPED_TRACE(scene + ", run " + std::to_string(run));
            const std::string line = same_with_and_without(scene, exited(14));
            ASSERT_FALSE(HasFailure());
            const timeline data = captured(1).front();
            EXPECT_TRUE(data.quality.ended || !line.empty());
            complete += line.empty() ? 1 : 0;
            if (scene == "exit_in_allocator") {
                EXPECT_EQ(data.ranges.size(), 2U * ranges_a_step);
                EXPECT_EQ(data.ops.size(), 2U * kernels_a_step);
            }
            std::filesystem::remove_all(scratch.path + "/captures");
        }
        EXPECT_GE(complete, 5) << scene << ": our own threads need that lock";
    }
}

}  // namespace
}  // namespace prof::test
