// SPDX-License-Identifier: Apache-2.0
// The collector by itself: what a round moves, in which order, and when a ring gets its slots back.
#include "collect/collector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/small_rings.hpp"

namespace prof::test::collector_test {
namespace {

using format::chunk_type;

constexpr std::uint32_t no_such_tid = 2'000'000'000;

struct Collector : testing::Test {
    scratch_directory folder;
    region rings{small_region(folder)};
    std::string path = folder / "a.prof";

    std::unique_ptr<capture_writer> open(const capture_writer_options& options = writer_options()) const {
        return std::make_unique<capture_writer>(path, options);
    }
    std::vector<kept_chunk> chunks() const {
        capture_reader reader{path};
        return read_all(reader);
    }
    std::vector<kept_chunk> chunks(chunk_type type) const {
        std::vector<kept_chunk> some = chunks();
        std::erase_if(some, [type](const kept_chunk& c) { return c.type != type; });
        return some;
    }
    // By thread uid, the numbers of the records in the order of the file; each must hold what it was written with.
    std::map<std::uint64_t, std::vector<std::uint64_t>> numbers() const {
        std::map<std::uint64_t, std::vector<std::uint64_t>> found;
        for (const kept_chunk& c : chunks(chunk_type::records)) {
            auto number = value_at<std::uint64_t>(c.payload, 0);
            for (std::size_t at = 8; at < c.payload.size(); at += sizeof(record), ++number) {
                EXPECT_EQ(value_at<record>(c.payload, at).ticks, number);
                found[c.aux].push_back(number);
            }
        }
        return found;
    }
    std::map<std::uint32_t, std::uint64_t> drops() const {
        std::map<std::uint32_t, std::uint64_t> found;
        for (const kept_chunk& c : chunks(chunk_type::drops)) {
            for (std::size_t at = 0; at < c.payload.size(); at += sizeof(format::drop_entry)) {
                const auto drop = value_at<format::drop_entry>(c.payload, at);
                found[drop.cause] = drop.count;
            }
        }
        return found;
    }
};

std::vector<std::uint64_t> up_to(std::uint64_t end) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = 0; n < end; ++n) numbers.push_back(n);
    return numbers;
}

std::string name_in(const kept_chunk& thread) { return value_at<format::thread_entry>(thread.payload, 0).name.data(); }

TEST_F(Collector, KeepsAThreadsOrderWhenItsRingWraps) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread first(rings, no_such_tid);
    ringed_thread second(rings, no_such_tid + 1);
    for (int round = 0; round < 40; ++round) {
        first.write(static_cast<std::uint64_t>(round % 12));
        second.write(100);
        const auto result = drains.round();
        EXPECT_EQ(result.records, static_cast<std::uint64_t>(round % 12) + 100);
    }
    drains.finish(format::end_reason::stopped);
    out.reset();
    EXPECT_EQ(numbers(), (std::map<std::uint64_t, std::vector<std::uint64_t>>{{first.uid, up_to(first.written)},
                                                                              {second.uid, up_to(second.written)}}));
}

TEST_F(Collector, ReportsHowFullTheFullestRingWas) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread first(rings, no_such_tid);
    ringed_thread second(rings, no_such_tid + 1);
    first.write(32);
    second.write(64);
    EXPECT_DOUBLE_EQ(drains.round().fullest, 0.5);  // of 128
    EXPECT_DOUBLE_EQ(drains.round().fullest, 0);
}

// What the drain sees when the kernel takes the file's bytes.
struct watched_write {
    static inline const ringed_thread* thread = nullptr;
    static inline std::uint64_t most_waiting = 0;
    static ssize_t write(int file, const void* bytes, std::size_t count) {
        if (thread != nullptr) {
            most_waiting = std::max<std::uint64_t>(most_waiting, thread->drain.peek().size());
        }
        return ::write(file, bytes, count);
    }
};

TEST_F(Collector, ReleasesSlotsOnlyAfterTheirRecordsAreWritten) {
    capture_writer_options options = writer_options();
    options.write = watched_write::write;
    auto out = open(options);
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread thread(rings, no_such_tid);
    watched_write::thread = &thread;
    watched_write::most_waiting = 0;
    thread.write(77);
    drains.round();
    watched_write::thread = nullptr;
    EXPECT_EQ(watched_write::most_waiting, 77U);
    EXPECT_EQ(thread.drain.peek().size(), 0U);
}

TEST_F(Collector, WritesNamesBeforeRecordsThatUseThem) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread thread(rings, no_such_tid);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 3; ++i) {
            record r;
            r.kind = record_kind::mark;
            r.name = rings.intern("mark " + std::to_string(round) + "." + std::to_string(i));
            r.ticks = thread.written++;
            thread.producer.write(r);
        }
        drains.round();
    }
    drains.finish(format::end_reason::stopped);
    out.reset();

    std::set<std::uint32_t> known;
    std::set<std::uint64_t> described;
    std::size_t used = 0;
    for (const kept_chunk& c : chunks()) {
        if (c.type == chunk_type::thread) described.insert(value_at<format::thread_entry>(c.payload, 0).uid);
        if (c.type == chunk_type::names) {
            for_each_name(std::as_bytes(std::span{c.payload}),
                          [&](std::uint32_t id, std::string_view) { known.insert(id); });
        }
        if (c.type != chunk_type::records) continue;
        EXPECT_TRUE(described.contains(c.aux));
        for (std::size_t at = 8; at < c.payload.size(); at += sizeof(record), ++used) {
            EXPECT_TRUE(known.contains(value_at<record>(c.payload, at).name));
        }
    }
    EXPECT_EQ(used, 15U);
}

TEST_F(Collector, FreesAnEndedThreadsRingOnceItIsDrained) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread first(rings, no_such_tid);
    first.write(20);
    rings.retire_ring(*first.ring);
    drains.round();
    EXPECT_EQ(first.ring->state.load(), static_cast<std::uint32_t>(ring_state::free));

    ringed_thread second(rings, no_such_tid + 1);
    EXPECT_EQ(second.ring, first.ring);
    EXPECT_NE(second.uid, first.uid);
    second.written = 20;  // a ring's numbers go on
    second.write(5);
    drains.finish(format::end_reason::stopped);
    out.reset();
    EXPECT_EQ(numbers(), (std::map<std::uint64_t, std::vector<std::uint64_t>>{{first.uid, up_to(20)},
                                                                              {second.uid, {20, 21, 22, 23, 24}}}));
    EXPECT_EQ(chunks(chunk_type::thread).size(), 2U);
}

TEST_F(Collector, FreesARetiredRingThatIsEmpty) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread thread(rings, no_such_tid);
    rings.retire_ring(*thread.ring);
    EXPECT_EQ(drains.round().records, 0U);
    EXPECT_EQ(thread.ring->state.load(), static_cast<std::uint32_t>(ring_state::free));
}

TEST_F(Collector, WritesAThreadsNewNameOnceAtTheNextHousekeeping) {
    std::array<char, 16> name_before{};
    prctl(PR_GET_NAME, name_before.data());
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    prctl(PR_SET_NAME, "before");
    ringed_thread thread(rings, static_cast<std::uint32_t>(syscall(SYS_gettid)));
    thread.write(1);
    drains.round();
    drains.housekeeping();
    prctl(PR_SET_NAME, "after");
    thread.write(1);
    drains.round();
    out->flush();
    EXPECT_EQ(chunks(chunk_type::thread).size(), 1U);
    drains.housekeeping();
    drains.housekeeping();
    prctl(PR_SET_NAME, name_before.data());
    out.reset();
    const auto threads = chunks(chunk_type::thread);
    ASSERT_EQ(threads.size(), 2U);
    EXPECT_EQ(name_in(threads[0]), "before");
    EXPECT_EQ(name_in(threads[1]), "after");
}

TEST_F(Collector, WritesOnlyNewDropsOfThisRecording) {
    rings.count_drop(drop_cause::names_full, 7);  // an earlier recording's
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    drains.housekeeping();
    rings.count_drop(drop_cause::names_full, 2);
    drains.housekeeping();
    drains.housekeeping();
    ringed_thread thread(rings, no_such_tid);
    thread.write(130);  // 128 fit
    drains.finish(format::end_reason::stopped);
    out.reset();
    EXPECT_EQ(drops(), (std::map<std::uint32_t, std::uint64_t>{
                           {static_cast<std::uint32_t>(drop_cause::names_full), 2},
                           {static_cast<std::uint32_t>(drop_cause::ring_full), 2},
                       }));
    EXPECT_EQ(chunks(chunk_type::drops).size(), 2U);  // one for each that changed
}

TEST_F(Collector, TakesClockSnapshotsAtTheStartAtEachHousekeepingAndAtTheEnd) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    drains.round();
    drains.housekeeping();
    drains.finish(format::end_reason::stopped);
    out.reset();
    std::vector<kept_chunk> clocks = chunks(chunk_type::clocks);
    ASSERT_EQ(clocks.size(), 4U);
    EXPECT_EQ(value_at<clock_snapshot>(clocks[1].payload, 0).ticks, rings.made_at().ticks);
    EXPECT_GT(value_at<clock_snapshot>(clocks[0].payload, 0).ticks, rings.made_at().ticks) << "the first is the begin";
    clocks.erase(clocks.begin() + 1);
    std::uint64_t last_ticks = 0;
    for (const kept_chunk& c : clocks) {
        const auto now = value_at<clock_snapshot>(c.payload, 0);
        EXPECT_GT(now.ticks, last_ticks);
        EXPECT_NE(now.realtime_ns, 0U);
        EXPECT_EQ(now.cupti_ns, 0U);  // no CUPTI here
        last_ticks = now.ticks;
    }
}

TEST_F(Collector, WritesTheRestAndTheEndWhenItFinishes) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread thread(rings, no_such_tid);
    thread.write(100);
    rings.add_label(label_kind::stream, 7, rings.intern("copy stream"));
    drains.finish(format::end_reason::exited);
    out.reset();
    EXPECT_EQ(numbers().at(thread.uid), up_to(100));
    EXPECT_EQ(chunks(chunk_type::labels).size(), 1U);
    const auto all = chunks();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.back().type, chunk_type::end);
    EXPECT_EQ(value_at<format::end_entry>(all.back().payload, 0).reason, format::end_reason::exited);
}

bool disk_is_full = false;
ssize_t write_until_full(int file, const void* bytes, std::size_t count) {
    if (!disk_is_full) return ::write(file, bytes, count);
    errno = ENOSPC;
    return -1;
}

TEST_F(Collector, FreesRingsWhenTheDiskIsFull) {
    capture_writer_options options = writer_options();
    options.write = write_until_full;
    auto out = open(options);
    disk_is_full = true;
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    ringed_thread thread(rings, no_such_tid);
    for (int round = 0; round < 5; ++round) {
        thread.write(128);
        drains.round();
        EXPECT_EQ(thread.drain.peek().size(), 0U);
    }
    EXPECT_TRUE(out->failed());
    EXPECT_EQ(out->records_lost(), 5U * 128);
    disk_is_full = false;
}

// Its tid, when it has ended, may be that of another thread: here the test's.
TEST_F(Collector, GivesAnEndedThreadNoOtherThreadsName) {
    auto out = open();
    collector drains(rings, rings.drops());
    drains.begin_capture(*out);
    std::array<char, 16> before{};
    prctl(PR_GET_NAME, before.data());
    prctl(PR_SET_NAME, "loader");
    ringed_thread ended(rings, static_cast<std::uint32_t>(gettid()));
    prctl(PR_SET_NAME, "pt_autograd_7");
    ended.write(3);
    rings.retire_ring(*ended.ring);
    drains.round();
    prctl(PR_SET_NAME, before.data());
    drains.finish(format::end_reason::stopped);
    out.reset();
    const auto threads = chunks(chunk_type::thread);
    ASSERT_EQ(threads.size(), 1U);
    EXPECT_EQ(name_in(threads.front()), "loader");
}

}  // namespace
}  // namespace prof::test::collector_test
