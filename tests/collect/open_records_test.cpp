// SPDX-License-Identifier: Apache-2.0
// Which records are open, for records written by hand.
#include "collect/history/open_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/capture_files.hpp"
#include "capture/writer.hpp"
#include "timeline/load.hpp"

namespace prof::test::open_records_test {
namespace {

record push(std::uint32_t name, std::uint16_t domain = 0) {
    return {.name = name, .domain = domain, .kind = record_kind::range_push};
}
record pop(std::uint16_t domain = 0) { return {.domain = domain, .kind = record_kind::range_pop}; }
record of(record_kind kind, std::uint64_t value) { return {.value = value, .kind = kind}; }
record call(std::uint64_t id, api_class what, std::uint32_t kernel = 0) {
    return {.value = id, .name = kernel, .kind = record_kind::api_enter, .flags = static_cast<std::uint8_t>(what)};
}

struct OpenRecords : testing::Test {
    open_records open;
    std::uint64_t number = 100;

    void follow(std::vector<record> records, std::uint64_t thread = 1) {
        open.follow(thread, number, records);
        number += records.size();
    }
    // "kind:name-or-value" of each record of the thread.
    std::vector<std::string> of_thread(std::uint64_t thread = 1) const {
        std::vector<std::string> out;
        const open_by_thread all = open.all();
        if (const auto found = all.find(thread); found != all.end()) {
            for (const record& r : found->second.records) {
                out.push_back(std::to_string(static_cast<int>(r.kind)) + ':' + std::to_string(r.name + r.value));
            }
        }
        return out;
    }
    using texts = std::vector<std::string>;
};

TEST_F(OpenRecords, CloseTheLatestOfTheirDomain) {
    follow({push(1), push(2, 7), push(3), pop(7), pop(9), push(4)});
    EXPECT_EQ(of_thread(), (texts{"1:1", "1:3", "1:4"}));
    EXPECT_EQ(open.all().at(1).next_number, 106U);
    follow({pop(), pop(), pop(), pop()});
    EXPECT_TRUE(open.all().empty());
}

TEST_F(OpenRecords, KeepThreadsApart) {
    follow({push(1)}, 1);
    follow({push(2), pop(), pop()}, 2);
    EXPECT_EQ(of_thread(1), texts{"1:1"});
    EXPECT_EQ(of_thread(2), texts{});
    open.end_thread(1);
    EXPECT_TRUE(open.all().empty());
}

TEST_F(OpenRecords, HoldPlacesAndAdoptionsInOrder) {
    follow({push(1), of(record_kind::parent_here, 50), push(2), of(record_kind::adopt_push, 60), push(3)});
    EXPECT_EQ(of_thread(), (texts{"1:1", "12:50", "1:2", "13:60", "1:3"}));
    follow({of(record_kind::adopt_pop, 0), pop(), pop()});
    EXPECT_EQ(of_thread(), (texts{"1:1", "12:50"}));
    for (std::uint64_t n = 1; n <= open_records::most_places; ++n) follow({of(record_kind::parent_here, 1000 + n)});
    EXPECT_EQ(of_thread().size(), 1 + open_records::most_places);
    EXPECT_EQ(of_thread().at(1), "12:1001");  // the oldest was forgotten
}

TEST_F(OpenRecords, HoldStartedRangesUntilAnyThreadEndsThem) {
    follow({of(record_kind::range_start, 5), of(record_kind::payload, 77), of(record_kind::range_start, 6),
            of(record_kind::mark, 0), of(record_kind::payload, 78)});
    open.end_thread(1);
    EXPECT_EQ(of_thread().size(), 3U);  // 78 belongs to none
    follow({of(record_kind::range_end, 6)}, 2);
    EXPECT_EQ(of_thread(), (texts{"3:5", "6:77"}));
    // One thread is drained before the other: the end comes first, and is held until the start has come.
    follow({of(record_kind::range_end, 9)}, 2);
    EXPECT_EQ(of_thread(2), texts{"4:9"});
    follow({of(record_kind::range_start, 9)}, 1);
    EXPECT_EQ(of_thread(2), texts{});
    EXPECT_EQ(of_thread(1), (texts{"3:5", "6:77"}));
}

TEST_F(OpenRecords, HoldOnlyCallsThatWait) {
    follow({call(7, api_class::wait)});
    EXPECT_EQ(of_thread(), texts{"7:7"});
    follow({of(record_kind::api_exit, 7), call(8, api_class::launch, 3)});
    EXPECT_EQ(of_thread(), texts{});
    EXPECT_EQ(open.latest_call(), 8U);
    follow({call(3, api_class::launch)}, 2);  // of another thread, drained later
    EXPECT_EQ(open.latest_call(), 8U);
    // Ids wrap within an epoch, and begin anew with the next.
    follow({call(correlation_key(1, 0xFFFF'FFFF), api_class::launch), call(correlation_key(1, 2), api_class::launch)});
    EXPECT_EQ(open.latest_call(), correlation_key(1, 2));
    follow({call(correlation_key(2, 1), api_class::launch), call(correlation_key(1, 9), api_class::launch)});
    EXPECT_EQ(open.latest_call(), correlation_key(2, 1));
}

TEST_F(OpenRecords, EndWithTheirWindow) {
    follow({push(1), of(record_kind::parent_here, 50), call(7, api_class::wait), of(record_kind::window, 2), push(2)});
    EXPECT_EQ(of_thread(), (texts{"12:50", "1:2"}));
}

// A window began at 100 and ended at 900. The rings are read later than either is known.
TEST_F(OpenRecords, EndStartEndRangesWithTheirWindow) {
    const auto at = [](std::uint64_t ticks, record r) {
        r.ticks = ticks;
        return r;
    };
    open.cut(100);
    follow({at(150, of(record_kind::range_start, 5))});
    EXPECT_EQ(of_thread(), texts{"3:5"});
    open.cut(900);
    EXPECT_EQ(of_thread(), texts{});
    follow({at(800, of(record_kind::range_start, 6)), at(850, of(record_kind::range_end, 7))});
    EXPECT_EQ(of_thread(), texts{});
    // In no window: it is only observed, and not part of the recording.
    follow({at(950, of(record_kind::window, observed_epoch_bit | 3)), at(960, of(record_kind::range_start, 8))});
    EXPECT_EQ(of_thread(), texts{"15:" + std::to_string(observed_epoch_bit | 3)});
    open.cut(2000);
    follow({at(2001, of(record_kind::window, 4)), at(2002, of(record_kind::range_start, 9))});
    EXPECT_EQ(of_thread(), texts{"3:9"});
}

// Between two windows a thread may be observed, and those records are not written: so their beginning must be known.
TEST_F(OpenRecords, EndWithTheWindowOfAThreadThatIsOnlyObserved) {
    follow({push(1), of(record_kind::range_start, 5), of(record_kind::parent_here, 50),
            of(record_kind::window, observed_epoch_bit | 3)});
    open.cut(900);
    const auto observed_window = "15:" + std::to_string(observed_epoch_bit | 3);
    EXPECT_EQ(of_thread(), (texts{"12:50", observed_window}));

    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    {
        capture_writer out(path, {});
        out.key_frame({1000, 0, number, 0});
        out.thread({.uid = 1, .tid = 77});
        out.window({.epoch = 2, .begin_ticks = 100, .end_ticks = 900, .first_step = 0, .last_step = 0});
        for (const auto& [thread, at] : open.all()) out.open(thread, at.next_number, at.records);
        out.window({.epoch = 4, .begin_ticks = 2000, .end_ticks = 3000, .first_step = 0, .last_step = 0});
        record window = of(record_kind::window, 4);
        record end = of(record_kind::range_end, 5);
        window.ticks = 2000;
        end.ticks = 2500;
        out.records(1, number + 20, std::vector{window, end});  // twenty were observed
        out.end(format::end_reason::stopped);
    }
    const timeline data = load_timeline(path);
    EXPECT_THAT(data.quality.damage, testing::Not(testing::Contains(testing::HasSubstr("are missing"))));
    EXPECT_EQ(data.quality.dropped.at("end_without_start"), 1U) << "its range ended with the window before";
    EXPECT_TRUE(data.ranges.empty());

    follow({of(record_kind::window, 4)});
    EXPECT_EQ(of_thread(), texts{"12:50"});
}

TEST_F(OpenRecords, AreBoundedWhenEndsAreMissing) {
    const std::size_t most = open_records::most_on_a_thread + open_records::most_places;
    for (std::size_t n = 0; n < most + 10; ++n) follow({push(static_cast<std::uint32_t>(n))});
    EXPECT_EQ(of_thread().size(), most);
    for (int n = 0; n < 11; ++n) follow({pop()});  // ten of those left out, one that was kept
    EXPECT_EQ(of_thread().size(), most - 1);
    for (std::uint64_t n = 0; n < open_records::most_started + 10; ++n)
        follow({of(record_kind::range_start, n + 1)}, 2);
    EXPECT_EQ(of_thread(2).size(), open_records::most_started);
}

// The start was dropped, its ring being full: the end would stand in every key frame for ever.
TEST_F(OpenRecords, ForgetEndsWithoutAStart) {
    follow({of(record_kind::range_end, 5), of(record_kind::range_end, 6)});
    open.end_round();
    EXPECT_EQ(of_thread().size(), 2U) << "the start may be in a ring that is drained next";
    follow({of(record_kind::range_start, 5)}, 2);
    EXPECT_EQ(of_thread().size(), 1U);
    open.end_round();
    EXPECT_TRUE(open.all().empty());
}

// The ends were dropped: the latest starts are known all the same.
TEST_F(OpenRecords, KeepTheLatestOfTooManyStarts) {
    constexpr std::uint64_t more = 10;
    for (std::uint64_t id = 1; id <= open_records::most_started + more; ++id) {
        follow({of(record_kind::range_start, id)});
    }
    const auto started = open.all().at(1).records;
    ASSERT_EQ(started.size(), open_records::most_started);
    EXPECT_EQ(started.front().value, 1 + more);
    EXPECT_EQ(started.back().value, open_records::most_started + more);
}

}  // namespace
}  // namespace prof::test::open_records_test
