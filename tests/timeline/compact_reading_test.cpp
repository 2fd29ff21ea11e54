// SPDX-License-Identifier: Apache-2.0
// Captures whose records stay in the file, and GPU records of which each distinct one is kept once.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "capture/reader.hpp"
#include "support/capture_builder.hpp"
#include "support/scratch_directory.hpp"
#include "timeline/distinct_records.hpp"
#include "timeline/load.hpp"

namespace prof::compact_reading_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Three threads that push, launch and pop at random; many things happen in the same nanosecond.
capture_builder random_capture(std::mt19937& random) {
    capture_builder out;
    out.parts().clocks = {{.ticks = 1, .realtime_ns = 1, .cupti_ns = 1},
                          {.ticks = 1'000'000, .realtime_ns = 1'000'000, .cupti_ns = 1'000'000}};
    for (const char* const name : {"a", "b", "c"}) out.thread(name);
    std::uint64_t ns = 100;
    std::uint64_t correlation = 0;
    std::size_t open[3] = {};
    for (int i = 0; i < 400; ++i) {
        const std::size_t thread = random() % 3;
        thread_script& script = out.thread_at(thread);
        switch (random() % 4) {
            case 0:
                script.push(ns, "range " + std::to_string(random() % 5));
                ++open[thread];
                break;
            case 1:
                if (open[thread] == 0) break;
                --open[thread];
                script.pop(ns);
                break;
            default:
                ++correlation;
                script.enter(ns, correlation, "kernel").exit(ns + 1, correlation);
                out.kernel(correlation, ns + random() % 9, ns + 10,
                           {.stream = static_cast<std::uint32_t>(random() % 3)});
        }
        ns += random() % 3;
    }
    return out;
}

// All that does not depend on the order in which lists of open ranges are made.
auto summary_of(const timeline& data) {
    std::vector<std::tuple<std::int64_t, std::int64_t, std::string, std::uint32_t, std::uint32_t, std::uint32_t>>
        ranges;
    for (const timeline_range& r : data.ranges) {
        ranges.emplace_back(r.start_ns, r.end_ns, data.name(r.name), r.thread, r.parent, r.depth);
    }
    std::vector<std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint32_t, std::uint32_t>> calls;
    for (const timeline_api_call& c : data.api_calls) {
        const std::uint32_t range = c.open == npos ? npos : data.open_nodes[c.open].range;
        calls.emplace_back(c.start_ns, c.end_ns, c.correlation, c.thread, range);
    }
    std::vector<std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint32_t, std::uint32_t>> ops;
    for (const gpu_op& op : data.ops) {
        ops.emplace_back(op.start_ns, op.end_ns, op.correlation, op.launch, data.place_of(op).stream);
    }
    return std::tuple{ranges, calls, ops};
}

class CompactReading : public testing::Test {
protected:
    std::string path() const { return folder_ / "run.prof"; }
    // `records`: of one chunk.
    void write(const capture_builder& capture, std::size_t records, bool is_compressed) const {
        std::filesystem::remove(path());
        capture_writer out(path(), {.deflate = is_compressed});
        write_contents(out, capture.contents(records));
        out.end(format::end_reason::exited);
    }

private:
    const test::scratch_directory folder_;
};

TEST_F(CompactReading, GivesTheSameTimelineAsRecordsInMemory) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        const capture_builder capture = random_capture(random);
        const auto expected = summary_of(capture.build());
        for (const bool is_compressed : {false, true}) {
            write(capture, 1 + random() % 40, is_compressed);
            EXPECT_EQ(summary_of(load_timeline(path())), expected) << "seed " << seed;
        }
    }
}

// What the walk would do thread after thread is the definition: calls are ordered by time, at equal times by thread.
TEST_F(CompactReading, OrdersThreadsByTime) {
    std::mt19937 random(4711);
    const timeline data = random_capture(random).build();
    for (std::size_t i = 1; i < data.api_calls.size(); ++i) {
        const timeline_api_call& a = data.api_calls[i - 1];
        const timeline_api_call& b = data.api_calls[i];
        EXPECT_TRUE(std::tie(a.start_ns, a.thread) < std::tie(b.start_ns, b.thread) ||
                    (a.start_ns == b.start_ns && a.thread == b.thread));
    }
    for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
        EXPECT_TRUE(data.ranges[i].parent == npos || data.ranges[i].parent < i);
    }
}

// Larger than what is read on the calling thread anyway, with many more chunks than are read ahead.
TEST_F(CompactReading, GivesTheSameTimelineWithAThreadThatReads) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    for (std::uint64_t i = 0; i < 40'000; ++i) {
        main.push(10 * i, "range").enter(10 * i + 1, i + 1, "kernel").exit(10 * i + 2, i + 1).pop(10 * i + 3);
        if (i % 2 == 0) capture.kernel(i + 1, 10 * i + 4, 10 * i + 5);
    }
    write(capture, 500, false);
    ASSERT_GT(std::filesystem::file_size(path()), 4U << 20);
    const auto expected = summary_of(load_timeline(path()));
    EXPECT_THAT(std::get<0>(expected), SizeIs(40'000));
    EXPECT_EQ(summary_of(load_timeline(path(), nullptr, reading_thread::own)), expected);
}

// The observer's exception ends the reading while chunks are waiting.
TEST_F(CompactReading, EndsTheThreadThatReadsIfNobodyWantsTheRest) {
    class giver_up final : public progress_observer {
    public:
        void update(std::uint64_t, std::uint64_t) override { throw error("enough"); }
    };
    capture_builder capture;
    thread_script& main = capture.thread("main");
    for (std::uint64_t i = 0; i < 80'000; ++i) main.push(10 * i, "range").pop(10 * i + 3);
    write(capture, 500, false);
    ASSERT_GT(std::filesystem::file_size(path()), 4U << 20);
    giver_up observer;
    EXPECT_THROW(load_timeline(path(), &observer, reading_thread::own), error);
}

// Overwrites the records of `path` once the whole file has been read.
class file_spoiler final : public progress_observer {
public:
    explicit file_spoiler(std::string path) : path_(std::move(path)) {}
    void update(std::uint64_t done, std::uint64_t total) override {
        if (done != total || is_done_) return;
        is_done_ = true;
        capture_reader reader(path_);
        chunk next;
        while (reader.next(next) && next.type != format::chunk_type::records) {
        }
        const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
        EXPECT_EQ(::pwrite(descriptor, "spoiled", 7, static_cast<off_t>(next.stored->offset + 40)), 7);
        ::close(descriptor);
    }

private:
    std::string path_;
    bool is_done_ = false;
};

TEST_F(CompactReading, ReadsAllAnewIfTheFileHasChangedMeanwhile) {
    capture_builder capture;
    capture.thread("main").push(10, "lost").pop(20).push(30, "kept").launch(40, 1).pop(50);
    capture.kernel(1, 60, 70);
    write(capture, 2, false);
    EXPECT_EQ(load_timeline(path()).quality.damaged_bytes, 0U);
    file_spoiler spoiler(path());
    const timeline data = load_timeline(path(), &spoiler);
    EXPECT_GT(data.quality.damaged_bytes, 0U);
    ASSERT_THAT(data.ranges, SizeIs(1));
    EXPECT_EQ(data.name(data.ranges[0].name), "kept");
    ASSERT_THAT(data.ops, SizeIs(1));
    EXPECT_EQ(data.ops[0].launch, 0U);
}

TEST(DistinctRecords, KeepsEachOnceWithoutWhatIsItsOwn) {
    std::mt19937 engine(1);
    const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
    distinct_records<kernel_record> distinct;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint64_t, std::uint64_t>, std::uint32_t>
        known;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        kernel_record r;
        r.start_ns = i;
        r.end_ns = i + 1;
        r.correlation = i;
        r.grid_id = i;
        r.name = random() % 20;
        r.grid[2] = random() % 20;
        r.registers_per_thread = static_cast<std::uint16_t>(random() % 4);
        r.graph_node_id = random() % 2;
        r.queued_ns = random() % 2;
        const std::tuple key{r.name, r.grid[2], r.registers_per_thread, r.graph_node_id, r.queued_ns};
        const std::uint32_t index = distinct.index_of(r);
        EXPECT_EQ(known.try_emplace(key, index).first->second, index);
        EXPECT_EQ(distinct[index].name, r.name);
        EXPECT_EQ(distinct[index].queued_ns, r.queued_ns);
        EXPECT_EQ(distinct[index].correlation + distinct[index].start_ns + distinct[index].grid_id, 0U);
    }
    EXPECT_EQ(distinct.size(), known.size());
}

TEST(DistinctRecords, FindsChangedRecordsAgain) {
    distinct_records<kernel_record> distinct;
    kernel_record r;
    for (r.name = 1; r.name <= 100; ++r.name) distinct.index_of(r);
    distinct.change_all([](kernel_record& kernel) { kernel.name += 1000; });
    r.name = 1042;
    EXPECT_EQ(distinct.index_of(r), 41U);
    r.name = 42;
    EXPECT_EQ(distinct.index_of(r), 100U) << "there is none any more";
}

}  // namespace
}  // namespace prof::compact_reading_test
