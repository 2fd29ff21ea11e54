// SPDX-License-Identifier: Apache-2.0
// Which operation waits for which, from the records of events: worked by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/capture_builder.hpp"
#include "timeline/timeline.hpp"

namespace prof::stream_waits_test {
namespace {

constexpr cuda_function event_synchronize{api_domain::runtime, 137, api_class::wait};
constexpr cuda_function stream_synchronize{api_domain::runtime, 131, api_class::wait};
constexpr placement one{.stream = 7};
constexpr placement two{.stream = 8};
constexpr placement three{.stream = 9};

// Correlations of operation and operation.
std::vector<std::pair<std::uint64_t, std::uint64_t>> waits_in(const timeline& data) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const stream_wait& wait : data.stream_waits) {
        out.emplace_back(data.ops[wait.op].correlation, data.ops[wait.waits_for].correlation);
    }
    return out;
}
// Correlations of call and operation; 0: it waits for none.
std::vector<std::pair<std::uint64_t, std::uint64_t>> host_waits_in(const timeline& data) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const host_wait& wait : data.host_waits) {
        out.emplace_back(data.api_calls[wait.call].correlation, wait.op == npos ? 0 : data.ops[wait.op].correlation);
    }
    return out;
}
using pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

struct StreamWaits : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("main");

    // A kernel that runs 5 us after its launch, for 5 us.
    void launch(thread_script& thread, std::uint64_t ns, std::uint64_t correlation, const placement& on) {
        thread.launch(ns, correlation);
        capture.kernel(correlation, ns + 5'000, ns + 10'000, on);
    }
    void launch(std::uint64_t ns, std::uint64_t correlation, const placement& on) { launch(main, ns, correlation, on); }
};

TEST_F(StreamWaits, HoldTheNextOperationUntilTheLatestBeforeTheEvent) {
    launch(1'000, 1, one);
    launch(2'000, 2, one);
    main.sync(3'000, sync_kind::event_record, 77, one);
    launch(4'000, 3, one);  // after the event
    main.sync(5'000, sync_kind::stream_wait, 77, two);
    launch(13'000, 4, two);
    launch(14'000, 5, two);  // after 4 in any case
    EXPECT_EQ(waits_in(capture.build()), (pairs{{4, 2}}));
}

TEST_F(StreamWaits, FollowTheLatestRecordingOfAnEvent) {
    launch(1'000, 1, one);
    main.sync(2'000, sync_kind::event_record, 77, one);
    main.sync(3'000, sync_kind::stream_wait, 77, three);  // keeps what it is now
    launch(4'000, 2, two);
    main.sync(5'000, sync_kind::event_record, 77, two);
    main.sync(6'000, sync_kind::stream_wait, 77, three);
    launch(30'000, 3, three);
    EXPECT_EQ(waits_in(capture.build()), (pairs{{3, 1}, {3, 2}}));
}

TEST_F(StreamWaits, AreLeftOutWhereTheyOrderNothing) {
    main.sync(500, sync_kind::event_record, 70, two);  // nothing was launched
    launch(1'000, 1, one);
    main.sync(2'000, sync_kind::event_record, 77, one);
    main.sync(3'000, sync_kind::stream_wait, 77, one);  // of its own
    main.sync(3'500, sync_kind::stream_wait, 70, one);
    main.sync(3'600, sync_kind::stream_wait, 123, one);  // never recorded
    launch(4'000, 2, one);
    main.sync(5'000, sync_kind::stream_wait, 77, two);
    launch(20'000, 3, two);
    EXPECT_EQ(waits_in(capture.build()), (pairs{{3, 1}}));
}

// One thread records the event, another makes a stream wait; a third has launched in between.
TEST_F(StreamWaits, AreOfAllThreads) {
    thread_script& other = capture.thread("other");
    thread_script& third = capture.thread("third");
    launch(1'000, 1, one);
    launch(third, 1'500, 2, one);
    main.sync(2'000, sync_kind::event_record, 77, one);
    launch(third, 2'500, 3, one);
    other.sync(3'000, sync_kind::stream_wait, 77, two);
    launch(20'000, 4, two);
    EXPECT_EQ(waits_in(capture.build()), (pairs{{4, 2}}));
}

TEST_F(StreamWaits, DistinguishContexts) {
    const placement elsewhere{.stream = 7, .device = 1, .context = 2};
    launch(1'000, 1, one);
    launch(2'000, 2, elsewhere);
    main.sync(3'000, sync_kind::event_record, 77, elsewhere);
    main.sync(4'000, sync_kind::stream_wait, 77, one);
    launch(20'000, 3, one);
    EXPECT_EQ(waits_in(capture.build()), (pairs{{3, 2}}));
}

TEST_F(StreamWaits, OfTheHostAreThoseOfItsCall) {
    launch(1'000, 1, one);
    main.sync(2'000, sync_kind::event_record, 77, one);
    launch(3'000, 2, one);
    launch(4'000, 3, two);
    main.wait_for(5'000, 12'000, 10, event_synchronize, sync_kind::host_event, 77);
    main.wait_for(13'000, 14'000, 11, stream_synchronize, sync_kind::host_stream, 0, one);
    main.wait_for(15'000, 16'000, 12, stream_synchronize, sync_kind::host_stream, 0, two);
    main.wait_for(17'000, 18'000, 13, event_synchronize, sync_kind::host_event, 5);
    main.wait(19'000, 20'000, 14);
    EXPECT_EQ(host_waits_in(capture.build()), (pairs{{10, 1}, {11, 2}, {12, 3}, {13, 0}}));
}

// The ring was full at the call itself.
TEST_F(StreamWaits, OfTheHostNeedTheirCall) {
    launch(1'000, 1, one);
    main.sync(2'000, sync_kind::host_stream, 0, one);
    EXPECT_TRUE(host_waits_in(capture.build()).empty());
}

// Clocks with coarse ticks: the order of writing decides on each thread.
TEST_F(StreamWaits, MayHappenAtOneMoment) {
    launch(1'000, 1, one);
    launch(1'000, 2, two);
    main.sync(1'000, sync_kind::event_record, 77, one);
    main.sync(1'000, sync_kind::stream_wait, 77, two);
    main.launch(1'000, 3);
    capture.kernel(3, 12'000, 13'000, two);
    EXPECT_EQ(waits_in(capture.build()), (pairs{{3, 1}}));
}

TEST_F(StreamWaits, OfAnUnknownKindAreIgnored) {
    launch(1'000, 1, one);
    main.add({.ticks = 2'000, .value = 77, .kind = record_kind::stream_sync, .flags = 99});
    launch(3'000, 2, two);
    EXPECT_TRUE(waits_in(capture.build()).empty());
}

}  // namespace
}  // namespace prof::stream_waits_test
