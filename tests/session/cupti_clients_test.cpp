// SPDX-License-Identifier: Apache-2.0
// Another client of CUPTI in the program, before libprof, with it and after it: who gets what, and that CUPTI is never
// finalized under it (cupti_clients_victim.cpp).
#include <gmock/gmock.h>

#include <string>

#include "session/bare_and_profiled.hpp"
#include "support/sanitized.hpp"

namespace prof::test {
namespace {

using testing::HasSubstr;

struct CuptiClients : bare_and_profiled {
    std::string calls() const { return read_file(folder(true) + "/calls"); }
};

TEST_F(CuptiClients, KeepCuptiIfTheySubscribedBefore) {
    const std::string line = same_with_and_without("subscribed_before", exited(3));
    EXPECT_THAT(line, HasSubstr("no GPU work is recorded: cuptiSubscribe: "));
    EXPECT_THAT(line, HasSubstr("another profiler has CUPTI"));
    EXPECT_THAT(run("subscribed_before", true).out, HasSubstr("subscribed: 0, kernels: 20\n"));
    EXPECT_EQ(calls(), "finalized 0");
    for (const timeline& data : captured(2)) {
        EXPECT_EQ(data.ranges.size(), 10U);
        EXPECT_EQ(data.ops.size(), 0U);
        EXPECT_EQ("libprof: " + data.properties.at("missing") + "\n", line);
    }
}

TEST_F(CuptiClients, AreRefusedByCuptiDuringARecording) {
    const process_result result = run("subscribes_during", true);
    EXPECT_EQ(result.out, "subscribed: 39, kernels: 0\ndone\n");
    EXPECT_EQ(result.err, "");
    const timeline data = captured(1).front();
    EXPECT_EQ(data.ops.size(), 10U);
    EXPECT_TRUE(data.quality.dropped.empty());
}

TEST_F(CuptiClients, GetAllRecordsAfterARecording) {
    EXPECT_EQ(same_with_and_without("subscribes_after_stop", exited(3)), "");
    EXPECT_THAT(run("subscribes_after_stop", true).out, HasSubstr("subscribed: 0, kernels: 10\n"));
    EXPECT_EQ(calls(), "finalized 1") << "libprof, once, when it stopped";
    for (const timeline& data : captured(2)) EXPECT_EQ(data.ops.size(), 5U);
}

TEST_F(CuptiClients, FindCuptiNotFinalizedAfterRuntimeCallsWereRecorded) {
    EXPECT_EQ(same_with_and_without("subscribes_after_stop", exited(3), {{"PROF_API_CALLS", "runtime"}}), "");
    EXPECT_EQ(calls(), "finalized 0");
    for (const timeline& data : captured(1)) EXPECT_EQ(data.ops.size(), 5U);
}

TEST_F(CuptiClients, GetAllRecordsDuringAPause) {
    EXPECT_EQ(same_with_and_without("subscribes_while_paused", exited(3)), "");
    EXPECT_THAT(run("subscribes_while_paused", true).out, HasSubstr("subscribed: 0, kernels: 10\n"));
    for (const timeline& data : captured(2)) {
        EXPECT_EQ(data.ops.size(), 8U);
        EXPECT_EQ(data.ranges.size(), 8U);
    }
}

// Proton finalizes CUPTI when it ends: libprof's earlier setup of CUPTI is gone then.
TEST_F(CuptiClients, MayFinalizeCuptiBeforeARecording) {
    EXPECT_THAT(same_with_and_without("proton_before", exited(3)), HasSubstr("another profiler has CUPTI"));
    EXPECT_THAT(run("proton_before", true).out, HasSubstr("launches: 20, kernels: 20\n"));
    const std::vector<timeline> captures = captured(4);  // in the order of their names: ".2.prof" comes first
    for (const std::size_t run : {0U, 2U}) {
        EXPECT_EQ(captures[run].ops.size(), 5U);
        EXPECT_EQ(captures[run].quality.launches_without_completion, 0U);
        EXPECT_EQ(captures[run + 1].ranges.size(), 20U);
        EXPECT_EQ(captures[run + 1].ops.size(), 0U);
    }
}

TEST_F(CuptiClients, MayFinalizeCuptiBetweenWindows) {
    EXPECT_EQ(same_with_and_without("proton_between", exited(3)), "");
    EXPECT_THAT(run("proton_between", true).out, HasSubstr("launches: 10, kernels: 10\n"));
    const std::vector<timeline> captures = captured(4);
    for (const std::size_t run : {0U, 2U}) {
        EXPECT_EQ(captures[run].ops.size(), 2U);
        EXPECT_EQ(captures[run + 1].ops.size(), 8U);
        EXPECT_EQ(captures[run + 1].quality.launches_without_completion, 0U);
    }
}

TEST_F(CuptiClients, GetAllRecordsWhenLibprofRecordsNone) {
    const environment idle = {{"PROF_AUTOSTART", "0"}};
    EXPECT_EQ(same_with_and_without("subscribes_where_nothing_is_recorded", exited(3), idle), "");
    const environment ranges_only = {{"PROF_ACTIVITIES", "none"}};
    EXPECT_EQ(same_with_and_without("subscribes_where_nothing_is_recorded", exited(3), ranges_only), "");
    EXPECT_EQ(calls(), "finalized 0");
    EXPECT_EQ(captured(1).front().ranges.size(), 10U);
}

// The simulated CUPTI hands a buffer back to the client that registered last, as the real one does.
TEST_F(CuptiClients, AreDetectedWithoutASubscriptionAndNotFinalized) {
    const process_result result = run("activity_before", true, {{"PROF_AUTOSTART", "0"}});
    EXPECT_EQ(result.status, exited(3));
    EXPECT_EQ(result.out, "done\n") << "its memory is as it was";
    EXPECT_THAT(result.err, HasSubstr("another client of CUPTI's activity records is in the program"));
    expect_one_line_at_most(result.err);
    EXPECT_EQ(calls(), "finalized 0");
    const timeline data = captured(1).front();
    EXPECT_TRUE(data.properties.contains("cupti_notice"));
    EXPECT_TRUE(data.quality.ended);
}

// The client holds the buffer with libprof's five kernels, and gets the kernels that follow.
TEST_F(CuptiClients, AreDetectedLaterByABufferThatTheyHold) {
    const process_result result = run("activity_after", true);
    EXPECT_EQ(result.status, exited(3));
    EXPECT_EQ(result.out, "done\n");
    EXPECT_THAT(result.err, HasSubstr("another client of CUPTI's activity records is in the program"));
    expect_one_line_at_most(result.err);
    EXPECT_EQ(calls(), "finalized 0");
    const std::vector<timeline> captures = captured(2);  // in the order of their names: ".2.prof" comes first
    for (const timeline& data : captures) {
        EXPECT_TRUE(data.properties.contains("cupti_notice"));
        EXPECT_TRUE(data.quality.ended);
    }
    EXPECT_EQ(captures[1].ops.size() + captures[1].quality.launches_without_completion, 15U);
    EXPECT_GE(captures[1].quality.launches_without_completion, 10U);
    EXPECT_EQ(captures[0].ops.size(), 5U) << "libprof registered anew";
}

// A buffer that is out while a launch is under way is no sign of another client.
TEST_F(CuptiClients, AreNotSuspectedForLaunchesAtARecordingsEnd) {
    EXPECT_EQ(run("recordings_while_threads_launch", true, {{"FAKE_GPU_CLOCK", "virtual"}}).err, "");
    for (const timeline& data : captured(is_sanitized ? 21 : 101))
        EXPECT_FALSE(data.properties.contains("cupti_notice"));
}

}  // namespace
}  // namespace prof::test
