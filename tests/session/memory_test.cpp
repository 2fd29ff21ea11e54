// SPDX-License-Identifier: Apache-2.0
// What libprof takes of a process's memory while it records: the same program is run with it and without it
// (memory_victim.cpp), and what the kernel says of its anonymous memory is compared. The rings are in anonymous memory
// for it (PROF_RINGS=memory).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using numbers = std::vector<long>;

struct Memory : testing::Test, profiled_program {
    Memory() : profiled_program(way_in::preloaded, {{"PROF_RINGS", "memory"}}) {}

    // The victim's output: by the word with which a line begins, the numbers of each.
    using output = std::map<std::string, std::vector<numbers>>;
    output run(const std::vector<std::string>& words, bool with_libprof, environment more = {}) const {
        if (!with_libprof) more["LD_PRELOAD"] = "";
        const process_result result = profiled_program::run(words, more);
        EXPECT_EQ(result.exit_code(), 0);
        EXPECT_EQ(result.err, "");
        output found;
        std::istringstream out(result.out);
        for (std::string line; std::getline(out, line);) {
            std::istringstream cells(line);
            std::string first;
            cells >> first;
            numbers& values = found[first].emplace_back();
            for (long value = 0; cells >> value;) values.push_back(value);
        }
        return found;
    }
};

// Host records in a capture, and those that were dropped with a pair's opening: its closing is gone, too.
struct record_counts {
    std::uint64_t recorded = 0;
    std::uint64_t openings_dropped = 0;
    std::uint64_t otherwise_dropped = 0;
};

record_counts count_records(const std::string& path) {
    record_counts counts;
    std::map<std::uint32_t, std::uint64_t> drops;
    capture_reader reader(path);
    for (chunk part; reader.next(part);) {
        if (part.type == format::chunk_type::records) {
            for (const record& r : records_of(part.payload).records) {
                // How many lines there are depends on how long calls take.
                if (r.kind != record_kind::code_line && r.kind != record_kind::thread_time) ++counts.recorded;
            }
        } else if (part.type == format::chunk_type::drops) {
            for (const format::drop_entry& entry : elements<format::drop_entry>(part.payload)) {
                drops[entry.cause] = entry.count;
            }
        }
    }
    for (const auto& [cause, count] : drops) {
        const auto kind = static_cast<drop_cause>(cause);
        const bool opening = kind == drop_cause::ring_full || kind == drop_cause::enclosing_range_dropped;
        (opening ? counts.openings_dropped : counts.otherwise_dropped) += count;
    }
    return counts;
}

void expect_below(long limit_mib, long with, long without) {
    std::printf("%ld KiB with libprof, %ld KiB without: %.1f MiB\n", with, without,
                static_cast<double>(with - without) / 1024);
    EXPECT_LE(with - without, limit_mib * 1024);
}

TEST_F(Memory, StaysBelowItsBoundWithAThousandThreads) {
    auto bare = run({"crowd", "1000"}, false)["memory"];
    auto recorded = run({"crowd", "1000"}, true)["memory"];
    ASSERT_EQ(bare.size(), 1U);
    ASSERT_EQ(recorded.size(), 1U);
    expect_below(64, recorded[0][0], bare[0][0]);
    // It did record: each thread has a ring.
    EXPECT_GE(only_capture().threads.size(), 1000U);
}

// What finds no ring is counted, and takes no memory.
TEST_F(Memory, StaysBelowItsBoundWithMoreThreadsThanRings) {
    auto bare = run({"crowd", "1000"}, false)["memory"];
    auto recorded = run({"crowd", "1000"}, true, {{"PROF_MEMORY", "16M"}})["memory"];
    ASSERT_EQ(bare.size(), 1U);
    ASSERT_EQ(recorded.size(), 1U);
    // The memory that was given, and a page of the stack of each thread where a long call is recorded.
    expect_below(20, recorded[0][0], bare[0][0]);
    const timeline data = only_capture();
    EXPECT_EQ(data.threads.size(), 8U + 32U + 256U);
    // 704 threads, each of which has at least 80 + 50 x 10 pairs, with two records each.
    EXPECT_GE(count_records(scratch.files(".prof").front()).otherwise_dropped, 704U * 2 * (80 + 50 * 10));
}

TEST_F(Memory, DoesNotGrowFromRecordingToRecording) {
    auto cycle = run({"cycles", "100"}, true, {{"PROF_AUTOSTART", "0"}})["cycle"];
    ASSERT_EQ(cycle.size(), 10U);
    enum { number, descriptors, threads, mappings, memory };
    const numbers& early = cycle[1];
    const numbers& late = cycle[9];
    EXPECT_EQ(late[number], 100);
    EXPECT_EQ(late[descriptors], early[descriptors]);
    EXPECT_EQ(late[threads], early[threads]);
    std::printf("after 20 and after 100 recordings: %ld and %ld mappings, %ld and %ld KiB beside the journal\n",
                early[mappings], late[mappings], early[memory], late[memory]);
    EXPECT_LE(late[mappings], early[mappings] + 8);     // malloc's own come and go
    EXPECT_LE(late[memory], early[memory] + 8 * 1024);  // 80 recordings: 100 KiB each would be seen
    EXPECT_EQ(scratch.files(".prof").size(), 100U);
}

// PROF_LONG_RECORDS: how many, in a longer run; PROF_LONG_PACE_MS: a pause after each 4000 of them, 1 if not set. The
// simulated GPU has a journal that grows, without libprof too: the difference is looked at. How much of CUPTI's pool
// and of the rings is touched when depends on when the drain thread got a processor, so the bound itself is the limit:
// three bytes kept for each record are more.
TEST_F(Memory, StaysFlatOverALongRun) {
    const char* chosen = std::getenv("PROF_LONG_RECORDS");
    const std::string records = chosen == nullptr ? "5000000" : chosen;
    auto bare = run({"long", records}, false, {{"PROF_LONG_PACE_MS", ""}})["memory"];
    auto with = run({"long", records}, true, {{"PROF_MEMORY", "16M"}});
    auto recorded = with["memory"];
    ASSERT_EQ(bare.size(), 10U);
    ASSERT_EQ(recorded.size(), 10U);
    numbers above;
    for (std::size_t i = 0; i < 10; ++i) above.push_back(recorded[i][0] - bare[i][0]);
    std::printf("KiB above the bare process after each tenth:");
    for (const long kib : above) std::printf(" %ld", kib);
    EXPECT_LE(*std::max_element(above.begin(), above.end()), 16 * 1024);

    const auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    const record_counts counts = count_records(found.front());
    std::printf("; %llu records, %llu openings dropped\n", static_cast<unsigned long long>(counts.recorded),
                static_cast<unsigned long long>(counts.openings_dropped));
    const auto made = static_cast<std::uint64_t>(with["made"].at(0)[0]);
    EXPECT_LE(counts.recorded, made);
    EXPECT_GE(counts.recorded + 2 * counts.openings_dropped, made);  // a call in a dropped call is counted beside it
}

}  // namespace
}  // namespace prof::test
