// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/small_rings.hpp"
#include "support/sanitized.hpp"

namespace prof::recovery_test {
namespace {

using namespace prof::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// By thread uid: the numbers of the records, in the order in which they come; whether each holds what it should.
std::map<std::uint64_t, std::vector<std::uint64_t>> numbers_in(const std::vector<kept_chunk>& chunks, bool recovered) {
    std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
    for (const kept_chunk& c : chunks) {
        if (c.type != format::chunk_type::records || c.recovered != recovered) continue;
        auto number = value_at<std::uint64_t>(c.payload, 0);
        for (std::size_t at = 8; at < c.payload.size(); at += sizeof(record)) {
            const auto r = value_at<record>(c.payload, at);
            EXPECT_EQ(r.ticks, number);
            EXPECT_EQ(r.kind, record_kind::mark);
            numbers[c.aux].push_back(number++);
        }
    }
    return numbers;
}

std::vector<std::uint64_t> from_to(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> numbers;
    for (; begin < end; ++begin) numbers.push_back(begin);
    return numbers;
}

TEST(Recovery, FindsRecordsThatAKilledProcessHadNotWritten) {
    const scratch_directory folder;
    const pid_t child = fork();
    if (child == 0) {
        region rings(small_region(folder));
        rings.publish();
        capture_writer writer(folder / "a.prof", writer_options());
        writer.property("rings_path", rings.path());
        ringed_thread first(rings, 100);
        ringed_thread second(rings, 200);
        rings.add_label(label_kind::stream, 7, rings.intern("copy stream"));
        const std::uint32_t name = rings.intern("forward");
        rings.count_drop(drop_cause::names_full, 5);
        rings.count_drop(drop_cause::cupti_dropped, 2);

        first.write(10);
        first.drain_to(writer, 4);
        writer.thread({.uid = first.uid, .tid = 100, .name = {"renamed"}});
        const std::pair<drop_cause, std::uint64_t> drops[] = {{drop_cause::names_full, 3},
                                                              {drop_cause::cupti_dropped, 2}};
        writer.drops(drops);
        first.write_to(writer, 3);  // and killed before it gives the slots back
        second.write(2);
        second.producer.write({.ticks = 2, .name = name, .kind = record_kind::mark});
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));

    capture_reader reader(folder / "a.prof");
    const auto chunks = read_all(reader);
    EXPECT_THAT(numbers_in(chunks, false), ElementsAre(Pair(1, from_to(0, 7))));
    EXPECT_THAT(numbers_in(chunks, true), ElementsAre(Pair(1, from_to(7, 10)), Pair(2, from_to(0, 3))));
    EXPECT_EQ(reader.damage().bytes, 0U);
    EXPECT_THAT(reader.recovery_outcome(), HasSubstr("6 records were recovered from its rings, " + folder.path));

    std::vector<std::pair<std::uint32_t, std::string>> names;
    std::vector<std::uint32_t> label_names;
    std::vector<std::uint64_t> threads;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> drops;
    reader.rewind();
    chunk c;
    while (reader.next(c)) {
        if (!c.recovered) continue;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.payload.data()) % 8, 0U);
        EXPECT_TRUE(well_formed(c.type, c.payload));
        if (c.type == format::chunk_type::names) {
            for_each_name(c.payload, [&](std::uint32_t n, std::string_view text) { names.emplace_back(n, text); });
        }
        for (const label& l :
             c.type == format::chunk_type::labels ? elements<label>(c.payload) : std::span<const label>{}) {
            EXPECT_EQ(l.key, 7U);
            label_names.push_back(l.name);
        }
        if (c.type == format::chunk_type::thread) {
            const auto& thread = elements<format::thread_entry>(c.payload).front();
            EXPECT_EQ(thread.tid, 200U);
            threads.push_back(thread.uid);
        }
        if (c.type == format::chunk_type::drops) {
            for (const auto& d : elements<format::drop_entry>(c.payload)) drops.emplace_back(d.cause, d.count);
        }
    }
    // The names' ids: their places in the arena, in units of 8; the first entry is 8 + 11 bytes, rounded up.
    EXPECT_THAT(names, ElementsAre(Pair(1, "copy stream"), Pair(4, "forward")));
    EXPECT_THAT(label_names, ElementsAre(1));
    EXPECT_THAT(threads, ElementsAre(2));  // the first stands in the file
    EXPECT_THAT(drops, ElementsAre(Pair(static_cast<std::uint32_t>(drop_cause::names_full), 5)));
}

class RingsOfALiveProcess : public ::testing::Test {
protected:
    std::vector<kept_chunk> read() {
        capture_reader reader(folder_ / "a.prof");
        auto chunks = read_all(reader);
        outcome_ = reader.recovery_outcome();
        return chunks;
    }
    void publish() {
        rings_.publish();
        writer_.property("rings_path", rings_.path());
        writer_.flush();
    }

    scratch_directory folder_;
    capture_writer_options sharing() {
        capture_writer_options options = writer_options();
        options.shared_memory = rings_.writing_area();
        return options;
    }

    region rings_{small_region(folder_)};
    capture_writer writer_{folder_ / "a.prof", sharing()};
    std::string outcome_;
};

// What a live process drained after the file was read is taken from the ring while it is there.
TEST_F(RingsOfALiveProcess, GiveRecordsDrainedSinceTheFileWasRead) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(20);
    thread.drain_to(writer_, 20);
    for (int turn = 0; turn < 4; ++turn) {
        thread.write(95);
        thread.release(95);
    }
    // 400 written into 128 slots; the slot at head may be half written, so that one less is sure.
    const auto chunks = read();
    EXPECT_THAT(numbers_in(chunks, false), ElementsAre(Pair(thread.uid, from_to(0, 20))));
    EXPECT_THAT(numbers_in(chunks, true), ElementsAre(Pair(thread.uid, from_to(400 - 127, 400))));
}

TEST_F(RingsOfALiveProcess, GiveEveryRecordOfAFullRing) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(128);
    EXPECT_THAT(numbers_in(read(), true), ElementsAre(Pair(thread.uid, from_to(0, 128))));
    thread.write(1);
    EXPECT_EQ(thread.ring->drops[static_cast<std::size_t>(drop_cause::ring_full)].load(), 1U);
}

TEST_F(RingsOfALiveProcess, GiveNothingOfAnEarlierThreadOfARing) {
    publish();
    {
        ringed_thread gone(rings_, 1);
        gone.write(20);
        gone.drain_to(writer_, 20);
        rings_.retire_ring(*gone.ring);
        rings_.free_ring(*gone.ring);
    }
    ringed_thread heir(rings_, 2);
    ASSERT_EQ(heir.ring, rings_.rings().data());
    heir.written = 20;  // the ring's count goes on
    heir.write(6);
    EXPECT_THAT(numbers_in(read(), true), ElementsAre(Pair(2, from_to(20, 26))));
    heir.drain_to(writer_, 2);
    rings_.retire_ring(*heir.ring);
    const auto chunks = read();
    EXPECT_THAT(numbers_in(chunks, false), ElementsAre(Pair(1, from_to(0, 20)), Pair(2, from_to(20, 22))));
    EXPECT_THAT(numbers_in(chunks, true), ElementsAre(Pair(2, from_to(22, 26))));
}

TEST_F(RingsOfALiveProcess, AreNotReadForAClosedCapture) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(5);
    writer_.end(format::end_reason::stopped);
    for (const kept_chunk& c : read()) EXPECT_FALSE(c.recovered);
    EXPECT_EQ(outcome_, "");
}

TEST_F(RingsOfALiveProcess, RefuseRingsOfAnotherCapture) {
    publish();
    auto other = writer_options();
    other.id[15] ^= 1;
    capture_writer writer(folder_ / "b.prof", other);
    writer.property("rings_path", rings_.path());
    writer.flush();
    capture_reader reader(folder_ / "b.prof");
    EXPECT_EQ(read_all(reader).size(), 1U);
    EXPECT_EQ(reader.recovery_outcome(), "the capture was not closed; nothing was recovered from its rings, " +
                                             rings_.path() + ": it belongs to another capture");
}

TEST_F(RingsOfALiveProcess, NameRingsThatAreGone) {
    writer_.property("rings_path", folder_ / "gone.rings");
    writer_.flush();
    read();
    EXPECT_THAT(outcome_, HasSubstr("nothing was recovered from its rings, " + (folder_ / "gone.rings")));
    EXPECT_THAT(outcome_, HasSubstr("No such file"));
}

TEST_F(RingsOfALiveProcess, ReportACaptureThatNamesNoRings) {
    writer_.flush();
    read();
    EXPECT_EQ(outcome_, "the capture was not closed, and names no rings to recover from");
}

// The thread writes on between our copy of its records and our second look at its ring.
TEST_F(RingsOfALiveProcess, LeaveOutRecordsOverwrittenDuringTheCopy) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(64);
    thread.release(64);
    thread.write(64);  // head 128, tail 64: a stretch from 0 to 128
    recovery_basis contents;
    contents.rings_path = rings_.path();
    contents.next_number[thread.uid] = 1;
    int copies = 0;
    const recovery found = recover_rings(id, contents, [&] {
        thread.release(64);
        thread.write(100);
        ++copies;
    });
    // head 228: slots up to 100 were overwritten, the one at 228 mod 128 = 100 may be half so.
    EXPECT_EQ(copies, 1);
    std::vector<kept_chunk> chunks;
    for (const recovered_chunk& c : found.chunks) {
        const auto* begin = reinterpret_cast<const unsigned char*>(c.words.data());
        chunks.push_back({c.type, c.aux, {begin, begin + c.bytes}, true});
    }
    EXPECT_THAT(numbers_in(chunks, true), ElementsAre(Pair(thread.uid, from_to(101, 128))));
}

// A record that was just drained, but is not yet overwritten, is kept.
TEST_F(RingsOfALiveProcess, KeepRecordsDrainedDuringTheCopy) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(100);
    recovery_basis contents;
    contents.rings_path = rings_.path();
    const recovery found = recover_rings(id, contents, [&] { thread.release(100); });
    EXPECT_THAT(found.outcome, HasSubstr("; 100 records"));
}

// The ring's header is not read in one instant. If the ring has gone to another thread, the records may be either's.
TEST_F(RingsOfALiveProcess, GiveNothingOfARingThatChangesThreadsDuringTheCopy) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(10);
    recovery_basis contents;
    contents.rings_path = rings_.path();
    const recovery found = recover_rings(id, contents, [&] {
        thread.release(10);
        rings_.retire_ring(*thread.ring);
        rings_.free_ring(*thread.ring);
        ringed_thread(rings_, 2).write(5);
    });
    EXPECT_THAT(found.outcome, HasSubstr("; 0 records"));
}

// The same at random: one thread writes and another drains as fast as they can while snapshots are taken.
TEST_F(RingsOfALiveProcess, GiveOnlyWholeRecordsOfAWritingThread) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(128);
    thread.drain_to(writer_, 1);
    std::atomic<bool> stop{false};
    std::thread writing([&] {
        while (!stop.load()) thread.write(1);
    });
    std::thread draining([&] {
        while (!stop.load()) thread.drain.release(thread.drain.peek().end);
    });
    std::size_t recovered = 0;
    for (int i = 0; i < 1000; ++i) {
        std::uint64_t last = 0;
        for (const kept_chunk& c : read()) {
            if (c.type != format::chunk_type::records || !c.recovered) continue;
            for (std::size_t at = 8; at < c.payload.size(); at += sizeof(record)) {
                const auto r = value_at<record>(c.payload, at);
                ASSERT_EQ(r.value, ~r.ticks);
                ASSERT_GT(r.ticks, last);  // a record that was dropped leaves a gap
                last = r.ticks;
                ++recovered;
            }
        }
    }
    stop = true;
    writing.join();
    draining.join();
    EXPECT_GT(recovered, 0U);
}

// The counters of the mapping go on; a capture that was begun later must not count what was lost before.
TEST_F(RingsOfALiveProcess, CountOnlyDropsSinceTheCaptureBegan) {
    rings_.count_drop(drop_cause::names_full, 7);
    rings_.count_drop(drop_cause::cupti_dropped, 2);
    rings_.count_drop(drop_cause::no_ring, 5);
    rings_.publish();
    writer_.property("rings_path", rings_.path());
    const std::string before = std::to_string(static_cast<int>(drop_cause::names_full)) + ":4 " +
                               std::to_string(static_cast<int>(drop_cause::cupti_dropped)) + ":2";
    writer_.property("drops_before", before);
    writer_.flush();
    capture_reader reader(folder_ / "a.prof");
    std::map<std::uint32_t, std::uint64_t> drops;
    chunk c;
    while (reader.next(c)) {
        if (c.type != format::chunk_type::drops) continue;
        for (const format::drop_entry& drop : elements<format::drop_entry>(c.payload)) drops[drop.cause] = drop.count;
    }
    EXPECT_THAT(drops, ElementsAre(Pair(static_cast<std::uint32_t>(drop_cause::no_ring), 5U),
                                   Pair(static_cast<std::uint32_t>(drop_cause::names_full), 3U)));
}

// Rings that are damaged or malicious: the result is well formed and bounded.
TEST_F(RingsOfALiveProcess, SurviveDamage) {
    PROF_TESTS_ONE_THREAD();
    ringed_thread first(rings_, 1);
    ringed_thread second(rings_, 2);
    first.write(100);
    first.drain_to(writer_, 1);
    second.write(10);
    for (const char* name : {"forward", "backward", "a kernel with a longer name"}) {
        rings_.add_label(label_kind::domain, 1, rings_.intern(name));
    }
    rings_.publish();
    const memory_file damaged_rings;
    writer_.property("rings_path", damaged_rings.path());
    writer_.flush();
    writer_.property("key", "value");
    writer_.window({.epoch = 1});
    const byte_string whole = read_bytes(rings_.path());

    const auto read_damaged = [&](const byte_string& rings) {
        damaged_rings.hold(rings);
        capture_reader reader(folder_ / "a.prof");
        chunk c;
        std::size_t bytes = 0;
        while (reader.next(c)) {
            ASSERT_TRUE(well_formed(c.type, c.payload));
            bytes += c.payload.size();
        }
        ASSERT_LE(bytes, 4 * whole.size());
        ASSERT_FALSE(reader.recovery_outcome().empty());
    };
    for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 61 : 4093) {
        read_damaged({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    }
    // Each word of the header, the labels and the ring headers with a number meant to overflow something.
    const std::size_t ends = rings_.header().rings_offset + 5 * sizeof(ring_header);
    for (std::size_t at = 48; at < ends; at += 4) {
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 63, UINT64_MAX,
                                          UINT64_MAX - 7, std::uint64_t{127}, whole.size() - 1}) {
            byte_string damaged = whole;
            put_at(damaged, at, value);
            SCOPED_TRACE(::testing::Message() << "word " << value << " at " << at);
            read_damaged(damaged);
        }
    }
    // And of what was being written.
    const std::size_t writing = rings_.header().writing_offset;
    for (std::size_t at = writing; at < writing + sizeof(writing_header) + 256; at += 4) {
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 31, UINT64_MAX, std::uint64_t{127}}) {
            byte_string damaged = whole;
            put_at(damaged, at, value);
            SCOPED_TRACE(::testing::Message() << "word " << value << " at " << at);
            read_damaged(damaged);
        }
    }
    // A ring that has turned for ever.
    byte_string turned = whole;
    put_at(turned, rings_.header().rings_offset + offsetof(ring_header, counters.head), std::uint64_t{1} << 60);
    put_at(turned, rings_.header().rings_offset + offsetof(ring_header, counters.tail), (std::uint64_t{1} << 60) - 5);
    read_damaged(turned);
    std::mt19937_64 random{20240611};
    for (int round = 0; round < 300; ++round) {
        byte_string damaged = whole;
        for (int i = 0; i < 40; ++i)
            damaged[48 + random() % (damaged.size() - 48)] = static_cast<unsigned char>(random());
        SCOPED_TRACE(round);
        read_damaged(damaged);
    }
}

TEST_F(RingsOfALiveProcess, SkipUnfinishedNamesAndGiveTheOthers) {
    rings_.intern("before");
    const std::uint32_t unfinished = rings_.intern("unfinished");
    const std::uint32_t half_written = rings_.intern("half written");
    rings_.intern("after");
    rings_.publish();
    writer_.property("rings_path", folder_ / "copy.rings");
    writer_.flush();
    byte_string copy = read_bytes(rings_.path());
    const std::size_t arena = rings_.header().names_offset + name_table::arena_offset(256);
    put_at(copy, arena + unfinished * 8, std::uint32_t{0});
    put_at(copy, arena + half_written * 8 + sizeof(name_entry_header), 'H');
    write_bytes(folder_ / "copy.rings", copy);

    std::vector<std::string> names;
    capture_reader reader(folder_ / "a.prof");
    chunk c;
    while (reader.next(c)) {
        if (c.type != format::chunk_type::names) continue;
        for_each_name(c.payload, [&](std::uint32_t, std::string_view text) { names.emplace_back(text); });
    }
    EXPECT_THAT(names, ElementsAre("before", "after"));
}

}  // namespace
}  // namespace prof::recovery_test
