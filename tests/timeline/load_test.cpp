// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "capture/writer.hpp"
#include "support/capture_builder.hpp"
#include "support/scratch_directory.hpp"
#include "timeline/load.hpp"

namespace prof::load_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class TimelineFile : public testing::Test {
protected:
    std::string path() const { return folder_ / "run.prof"; }

private:
    const test::scratch_directory folder_;
};

TEST_F(TimelineFile, HasEverythingThatTheWriterWrote) {
    const clock_snapshot clock{.ticks = 0, .monotonic_ns = 0, .realtime_ns = 5, .cupti_ns = 1'000};
    const clock_snapshot later{.ticks = 1'000, .monotonic_ns = 0, .realtime_ns = 9, .cupti_ns = 2'000};
    {
        capture_writer writer{path(), {}};
        const record records[] = {
            {.ticks = 100,
             .value = 7,
             .name = 1,
             .color = 0xFF00FF00,
             .category = 3,
             .domain = 2,
             .kind = record_kind::range_push,
             .flags = static_cast<std::uint8_t>(payload_type::u64)},
            {.ticks = 110, .value = 50, .name = 4, .category = 211, .domain = 2, .kind = record_kind::api_enter},
            {.ticks = 120, .value = 50, .kind = record_kind::api_exit},
            {.ticks = 130, .domain = 2, .kind = record_kind::range_pop},
        };
        writer.records(1, 0, records);
        format::thread_entry thread;
        thread.uid = 1;
        thread.tid = 4242;
        thread.name = {'p', 'y', 't', 'h', 'o', 'n'};
        writer.thread(thread);
        kernel_record kernel;
        kernel.start_ns = 1'500;
        kernel.end_ns = 1'700;
        kernel.correlation = 50;
        kernel.name = 4;
        writer.gpu<kernel_record>(std::span{&kernel, 1});
        const label labels[] = {{label_kind::domain, 2, 2},
                                {label_kind::category, 3, std::uint64_t{2} << 32 | 3},
                                {label_kind::thread, 5, 4242},
                                {label_kind::stream, 6, 7},
                                {label_kind::stream, 5, stream_key(2, 7)}};
        writer.labels(labels);
        const capture_writer::name_entry names[] = {{1, "forward"}, {2, "NCCL"},    {3, "comm"},
                                                    {4, "_Z1kv"},   {5, "trainer"}, {6, "copies"}};
        writer.names(names);
        device_record device;
        device.device = 0;
        device.multiprocessors = 132;
        writer.gpu<device_record>(std::span{&device, 1});
        const clock_snapshot clocks[] = {clock, later};
        writer.clocks(clocks);
        const std::pair<drop_cause, std::uint64_t> first_drops[] = {{drop_cause::ring_full, 3}};
        writer.drops(first_drops);
        const std::pair<drop_cause, std::uint64_t> drops[] = {{drop_cause::ring_full, 5}, {drop_cause::no_ring, 0}};
        writer.drops(drops);
        writer.property("rank", "0");
        writer.property("rank", "1");
        writer.end(format::end_reason::exited);
    }
    const timeline data = load_timeline(path());

    ASSERT_EQ(data.threads.size(), 1U);
    EXPECT_EQ(data.threads[0].tid, 4242U);
    EXPECT_EQ(data.threads[0].name, "trainer");
    EXPECT_EQ(data.threads[0].system_name, "python");
    ASSERT_EQ(data.domains.size(), 3U);
    EXPECT_EQ(data.domains[0].name, "");
    EXPECT_EQ(data.domains[1].name, "domain 1") << "its name was never seen";
    EXPECT_EQ(data.domains[2].name, "NCCL");
    EXPECT_EQ(data.name(data.category_names.at(std::uint64_t{2} << 32 | 3)), "comm");
    EXPECT_EQ(data.stream_name(1, 7), "copies") << "its context is not known, as in captures of an older libprof";
    EXPECT_EQ(data.stream_name(2, 7), "trainer");
    EXPECT_EQ(data.stream_name(1, 8), "");
    ASSERT_EQ(data.ranges.size(), 1U);
    EXPECT_EQ(data.name(data.ranges[0].name), "forward");
    EXPECT_EQ(data.ranges[0].start_ns, 1'100);
    EXPECT_EQ(data.ranges[0].end_ns, 1'130);
    EXPECT_EQ(data.ranges[0].payload, 7U);
    EXPECT_EQ(data.ranges[0].color, 0xFF00FF00U);
    EXPECT_EQ(data.ranges[0].category, 3U);
    EXPECT_EQ(data.ranges[0].domain, 2);
    ASSERT_EQ(data.api_calls.size(), 1U);
    EXPECT_EQ(data.api_calls[0].cbid, 211U);
    EXPECT_EQ(data.api_calls[0].domain, api_domain::runtime);
    ASSERT_EQ(data.ops.size(), 1U);
    EXPECT_EQ(data.ops[0].launch, 0U);
    EXPECT_EQ(data.kernel_symbol(data.ops[0]), "_Z1kv");
    EXPECT_EQ(data.devices[0].multiprocessors, 132U);
    EXPECT_EQ(data.properties.at("rank"), "1");
    EXPECT_EQ(data.start_ns, 1'000);
    EXPECT_EQ(data.end_ns, 2'000);
    EXPECT_THAT(data.quality.dropped, ElementsAre(Pair("ring_full", 5U)));
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.quality.damaged_bytes, 0U);
    EXPECT_THAT(data.quality.notes, IsEmpty());
}

TEST_F(TimelineFile, ReportsHowMuchOfItWasRead) {
    class read_so_far final : public progress_observer {
    public:
        void update(std::uint64_t done, std::uint64_t total) override {
            EXPECT_GT(done, done_) << "a chunk each time";
            done_ = done;
            total_ = total;
        }
        std::uint64_t done() const { return done_; }
        std::uint64_t total() const { return total_; }

    private:
        std::uint64_t done_ = 0;
        std::uint64_t total_ = 0;
    };
    {
        capture_writer out(path(), {});
        for (int i = 0; i < 3; ++i) out.property("key", "value");
        out.end(format::end_reason::exited);
    }
    read_so_far progress;
    load_timeline(path(), &progress);
    EXPECT_EQ(progress.done(), std::filesystem::file_size(path()));
    EXPECT_EQ(progress.total(), progress.done());
}

TEST_F(TimelineFile, IsRefusedInOneLineWhenEmptyOrMissing) {
    try {
        load_timeline(path());
        FAIL() << "there is no such file";
    } catch (const error& e) {
        EXPECT_THAT(e.what(), HasSubstr("run.prof"));
    }
}

TEST_F(TimelineFile, IsEmptyWhenTheProcessOnlyOpenedIt) {
    { capture_writer writer{path(), {}}; }
    const timeline data = load_timeline(path());
    EXPECT_THAT(data.ranges, IsEmpty());
    EXPECT_FALSE(data.quality.ended);
    EXPECT_LE(data.start_ns, data.end_ns);
}

TEST(Timeline, DoesNotDependOnTheOrderOfChunks) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    for (std::uint64_t i = 0; i < 20; ++i) {
        main.push(i * 10, "step").launch(i * 10 + 1, i + 1).pop(i * 10 + 5);
    }
    const auto depths = [](const timeline& data) {
        std::vector<std::uint32_t> all;
        for (const timeline_range& range : data.ranges) all.push_back(range.depth);
        return all;
    };
    const timeline straight = capture.build();
    capture_contents contents = capture.contents(3);
    std::shuffle(contents.runs.begin(), contents.runs.end(), std::mt19937{7});
    const timeline shuffled = build_timeline(contents);
    ASSERT_EQ(shuffled.ranges.size(), 20U);
    EXPECT_EQ(depths(shuffled), depths(straight));
    EXPECT_THAT(shuffled.quality.notes, IsEmpty());
    EXPECT_EQ(shuffled.quality.ranges_open_at_end, 0U);
}

TEST(Timeline, TakesRecordsInFileAndRingsOnce) {
    capture_builder capture;
    capture.thread("main").push(1, "a").push(2, "b").pop(3).pop(4).push(5, "c").pop(6);
    capture_contents contents = capture.contents();
    record_run ring = contents.runs[0];
    contents.runs[0].records.resize(4);
    ring.records.erase(ring.records.begin(), ring.records.begin() + 2);
    ring.first_number = 2;
    ring.recovered = true;
    contents.runs.insert(contents.runs.begin(), ring);
    contents.ended = false;
    const timeline data = build_timeline(contents);
    EXPECT_EQ(data.ranges.size(), 3U);
    EXPECT_THAT(data.quality.dropped, IsEmpty());
    EXPECT_EQ(data.quality.recovered_records, 2U);
}

TEST(Timeline, NamesThreadsWhoseEntryWasLost) {
    capture_builder capture;
    capture.thread("main").push(1, "a").pop(2);
    capture_contents contents = capture.contents();
    contents.threads.clear();
    const timeline data = build_timeline(contents);
    ASSERT_EQ(data.threads.size(), 1U);
    EXPECT_EQ(data.threads[0].name, "thread 1");
    EXPECT_EQ(data.ranges[0].thread, 0U);
}

// The three threads had the same tid, one after the other.
TEST(Timeline, KeepsTheNameOfEachThread) {
    capture_builder capture;
    for (const char* const name : {"loader", "pt_autograd_7", "python"}) capture.thread(name).push(1, "a").pop(2);
    const std::uint32_t own_name = capture.name("my data loader");
    const std::uint32_t others_name = capture.name("named by its tid");
    capture_contents contents = capture.contents();
    for (format::thread_entry& thread : contents.threads) thread.tid = 77;
    contents.labels.push_back({label_kind::thread, own_name, thread_key(1, 77)});
    const auto names = [&] {
        std::vector<std::string> out;
        for (const timeline_thread& thread : build_timeline(contents).threads) out.push_back(thread.name);
        return out;
    };
    EXPECT_THAT(names(), ElementsAre("my data loader", "pt_autograd_7", "python"));
    // It is unknown which thread was meant; the later name holds.
    contents.labels.push_back({label_kind::thread, others_name, thread_key(0, 77)});
    EXPECT_THAT(names(), ElementsAre("named by its tid", "named by its tid", "named by its tid"));
    contents.labels.push_back({label_kind::thread, own_name, thread_key(2, 77)});
    EXPECT_THAT(names(), ElementsAre("named by its tid", "my data loader", "named by its tid"));
}

TEST(Timeline, KeepsCountsOfUnknownCauses) {
    capture_contents contents;
    contents.drops = {{0, 1}, {4711, 2}};
    EXPECT_THAT(build_timeline(contents).quality.dropped, ElementsAre(Pair("cause_4711", 2U), Pair("ring_full", 1U)));
}

// What is looked up by a call's domain need not ask whether there is such a domain.
TEST(Timeline, HasNoCallsOfUnknownDomains) {
    capture_builder capture;
    capture.thread("main")
        .call(10, 20, 1, {.domain = static_cast<api_domain>(10), .cbid = 211})
        .call(30, 40, 2, {.domain = api_domain::runtime, .cbid = 211});
    const timeline data = capture.build();
    ASSERT_EQ(data.api_calls.size(), 2U);
    EXPECT_EQ(data.api_calls[0].domain, api_domain::none);
    EXPECT_EQ(data.api_calls[1].domain, api_domain::runtime);
}

TEST(Timeline, IsEmptyWithoutContents) {
    const timeline data = build_timeline({});
    EXPECT_EQ(data.domains.size(), 1U);
    EXPECT_EQ(data.start_ns, data.end_ns);
    EXPECT_THAT(data.quality.notes, IsEmpty());
}

TEST(Timeline, HasItsPropertiesAsTextsAndNumbers) {
    timeline data;
    data.properties = {{"pid", "4711"}, {"rank", "-1"}, {"steps", "12x"}, {"name", ""}};
    EXPECT_EQ(data.property("pid"), "4711");
    EXPECT_EQ(data.property("host"), "");
    EXPECT_EQ(data.number("pid"), 4711);
    for (const char* const key : {"rank", "steps", "name", "host"}) EXPECT_EQ(data.number(key), std::nullopt) << key;
}

}  // namespace
}  // namespace prof::load_test
