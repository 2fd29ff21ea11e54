// SPDX-License-Identifier: Apache-2.0
// Names that a program makes up without end, from its ranges into captures: none is lost, and what is kept of a
// recording has no more of them than it needs. PROF_NAMES=10000000 in the environment makes it so many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "capture/capture_files.hpp"
#include "capture/reader.hpp"
#include "collect/collector.hpp"
#include "ring/producer.hpp"
#include "timeline/build.hpp"
#include "timeline/contents.hpp"

namespace prof::test::names_test {
namespace {

std::uint64_t many() {
    const char* const wanted = std::getenv("PROF_NAMES");
    return wanted == nullptr ? 150'000 : std::strtoull(wanted, nullptr, 10);
}

region_options options_in(const scratch_directory& folder) {
    region_options options;
    options.place = folder.path;
    options.large_rings = 2;
    options.large_ring_bytes = 64U << 10;
    options.medium_rings = options.small_rings = 0;
    options.name_bytes = 4096;
    options.name_slots = 64;
    options.passing_name_bytes = 256U << 10;
    options.passing_name_slots = 4096;
    options.label_capacity = 16;
    return options;
}

// The recording of a program whose iterations are numbered, and each has a range "work".
struct Names : testing::Test {
    scratch_directory folder;
    region where{options_in(folder)};
    ring_header* ring = where.claim_ring(2'000'000'000);
    producer out;
    std::string path = folder / "a.prof";
    std::unique_ptr<capture_writer> file;
    std::unique_ptr<collector> drains;
    std::uint64_t next = 0;

    Names() { out.attach(where, *ring, 1); }

    void begin(const keep_limits& limits = {}, graph_history* memory = nullptr) {
        file = std::make_unique<capture_writer>(path, capture_writer_options{});
        drains = std::make_unique<collector>(where, where.drops(), memory, limits);
        drains->begin_capture(*file);
    }
    void push(const std::string& name, std::uint64_t number = 0) {
        out.push(0, [&](record& r) {
            begin_record(r, record_kind::range_push, 0, ++ticks);
            r.value = number;
            r.flags = static_cast<std::uint8_t>(payload_type::u64);
            r.name = out.name_of(name.c_str());
        });
    }
    void pop() {
        out.pop(0, [&](record& r) { begin_record(r, record_kind::range_pop, 0, ++ticks); });
    }
    void iterate(std::uint64_t count, std::uint64_t distinct = UINT64_MAX) {
        for (std::uint64_t i = 0; i < count; ++i, ++next) {
            push("iteration " + std::to_string(next % distinct), next % distinct);
            push("work", next);
            pop();
            pop();
            if (ring->counters.head - ring->counters.tail < ring->capacity / 2) continue;
            drains->round();
            drains->keep(now_ns += 1'000'000, true);
        }
    }
    void end() {
        drains->finish(format::end_reason::stopped);
        file.reset();
        drains.reset();
    }
    timeline read() const { return build_timeline(read_contents(path)); }

    // Every one of them has its name; returns how many of the two sorts there are.
    static std::pair<std::uint64_t, std::uint64_t> check(const timeline& data) {
        std::pair<std::uint64_t, std::uint64_t> found;
        for (const timeline_range& range : data.ranges) {
            const std::string name{data.name(range.name)};
            if (name == "work") {
                ++found.second;
            } else if (name != "whole") {
                ++found.first;
                if (name != "iteration " + std::to_string(range.payload)) {
                    ADD_FAILURE() << "'" << name << "' instead of iteration " << range.payload;
                    break;
                }
            }
        }
        EXPECT_TRUE(data.quality.dropped.empty()) << testing::PrintToString(data.quality.dropped);
        return found;
    }

    std::uint64_t ticks = 0;
    std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
};

TEST_F(Names, AreAllInTheCaptureHoweverMany) {
    begin();
    push("whole");
    iterate(many());
    pop();
    end();
    EXPECT_GT(where.passing().end(), 10U * where.passing().arena_bytes()) << "their memory was to be used again";
    const timeline data = read();
    EXPECT_EQ(check(data), (std::pair{many(), many()}));
    const auto texts = [&](const std::string& text) {
        return std::count_if(data.name_table.begin(), data.name_table.end(),
                             [&](const auto& name) { return name.second == text; });
    };
    EXPECT_EQ(texts("work"), 1) << "whoever counts by name has one of it";
}

TEST_F(Names, AreInEachOfManyCapturesHoweverMany) {
    constexpr std::uint64_t each = 12'000;
    for (int recording = 0; recording < 4; ++recording) {
        path = folder / (std::to_string(recording) + ".prof");
        begin();
        iterate(each);
        end();
        const timeline data = read();
        EXPECT_EQ(check(data), (std::pair{each, each}));
        EXPECT_EQ(data.name_table.size(), each + 1) << "those of earlier recordings are not in it";
    }
}

TEST_F(Names, AreInTheKeptPartHoweverMany) {
    begin({.time_ns = 0, .bytes = 1U << 20});
    push("whole");
    iterate(many());
    end();
    const timeline data = read();
    ASSERT_TRUE(data.quality.is_latest_part);
    const auto [iterations, works] = check(data);
    EXPECT_GT(iterations, 3'000U);
    EXPECT_EQ(iterations, works);
    // The range around all is as old as the process, and its name was freed long ago.
    const auto whole = std::find_if(data.ranges.begin(), data.ranges.end(),
                                    [&](const timeline_range& range) { return data.name(range.name) == "whole"; });
    ASSERT_NE(whole, data.ranges.end());
    EXPECT_TRUE(whole->open_at_start);
}

TEST_F(Names, AreNotRewrittenWhenUsedOnce) {
    constexpr std::uint64_t count = 40'000;
    std::map<std::uint64_t, std::uint64_t> kept;
    std::map<std::uint64_t, std::uint64_t> written;
    for (const std::uint64_t distinct : {std::uint64_t{10}, UINT64_MAX}) {
        path = folder / ("of " + std::to_string(distinct) + ".prof");
        begin({.time_ns = 0, .bytes = 1U << 20});
        iterate(count, distinct);
        file->flush();
        written[distinct] = file->bytes_written();
        end();
        kept[distinct] = read().ranges.size();
    }
    // A range of two records takes 64 bytes, and a name of its own some 24.
    EXPECT_LT(written[UINT64_MAX], written[10] * 3 / 2);
    EXPECT_GT(kept[UINT64_MAX], kept[10] / 2);
}

// Around nodes of CUDA graphs, which later captures contain.
TEST_F(Names, OfRangesKeptForGraphsOutlastOthers) {
    graph_history memory(where);
    begin({}, &memory);
    push("capture of a graph");
    out.write({.ticks = ++ticks, .value = 77, .kind = record_kind::graph_node});
    pop();
    iterate(20'000);
    end();
    EXPECT_TRUE(where.name_text(1U << 31).empty()) << "the first is freed";

    path = folder / "b.prof";
    begin({}, &memory);
    drains->window({.epoch = 2, .begin_ticks = ++ticks});
    iterate(10);
    end();
    const capture_contents contents = read_contents(path);
    bool is_emitted = false;
    for (const record_run& run : contents.graph_context) {
        for (const record& r : run.records) {
            if (r.kind != record_kind::range_push || !contents.names.contains(name_id(r.name))) continue;
            is_emitted = is_emitted || contents.names.at(name_id(r.name)) == "capture of a graph";
        }
    }
    EXPECT_TRUE(is_emitted);
}

TEST_F(Names, AreRecoveredFromRingsOfADeadProcess) {
    begin();
    file->property("rings_path", where.path());
    where.publish();
    iterate(30'000);
    const std::uint64_t in_rings = ring->counters.head - ring->counters.tail;
    ASSERT_GT(in_rings, 100U);
    file->flush();
    const timeline data = read();
    EXPECT_EQ(check(data), (std::pair<std::uint64_t, std::uint64_t>{30'000, 30'000}));
    EXPECT_EQ(data.quality.recovered_records, in_rings);
}

}  // namespace
}  // namespace prof::test::names_test
