// SPDX-License-Identifier: Apache-2.0
// The drain thread: what its callers may rely on.
#include "collect/drain_thread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/small_rings.hpp"
#include "timeline/contents.hpp"

namespace prof::test::drain_thread_test {
namespace {

constexpr std::uint32_t no_such_tid = 2'000'000'000;

struct DrainThread : testing::Test {
    scratch_directory folder;
    region rings{small_region(folder)};
    std::string path = folder / "a.prof";

    std::unique_ptr<drain_thread> start(const capture_writer_options& options = writer_options()) {
        const auto make = [this, options] { return std::make_unique<capture_writer>(path, options); };
        return std::make_unique<drain_thread>(rings, make, rings.drops());
    }
    static std::uint64_t records_in(const capture_contents& contents) {
        std::uint64_t count = 0;
        for (const record_run& run : contents.runs) count += run.records.size();
        return count;
    }
    std::uint64_t records_in_file() const { return records_in(read_contents(path)); }
    std::vector<std::string> captures() const {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
            const std::string name = entry.path().filename();
            if (name.find(".prof") != std::string::npos) out.push_back(name);
        }
        std::sort(out.begin(), out.end());
        return out;
    }
};

TEST_F(DrainThread, HasWrittenEverythingWhenSyncReturns) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    for (std::uint64_t n = 1; n <= 20; ++n) {
        thread.write(50);
        drain->sync();
        EXPECT_EQ(records_in_file(), 50 * n);
    }
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
}

// How often the drain thread went to sleep so far.
std::uint64_t sleeps_of_drain_thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name != "prof-drain") continue;
        std::ifstream status(task.path() / "status");
        for (std::string word; status >> word;) {
            std::uint64_t count = 0;
            if (word == "voluntary_ctxt_switches:" && status >> count) return count;
        }
    }
    return 0;
}

TEST_F(DrainThread, RarelyWakesUpWhileIdle) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    drain->sync();
    drain->rest();
    drain->sync();  // it has seen that by now
    const std::uint64_t before = sleeps_of_drain_thread();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));  // on a busy machine it wakes up less often still
    EXPECT_LE(sleeps_of_drain_thread() - before, 4U) << "30 or more otherwise";

    thread.write(50);
    drain->sync();
    EXPECT_EQ(records_in_file(), 50U) << "who asks is served at once";

    drain->set_window({.epoch = 1});
    const std::uint64_t resting = sleeps_of_drain_thread();
    const auto began = std::chrono::steady_clock::now();
    while (sleeps_of_drain_thread() < resting + 40) std::this_thread::yield();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20)) << "0.8 s, and 40 s while it rests";
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
}

TEST_F(DrainThread, ServesSeveralWaitingThreads) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    thread.write(10);
    std::vector<std::thread> waiting;
    std::atomic<int> served{0};
    for (int i = 0; i < 8; ++i) {
        waiting.emplace_back([&] {
            for (int n = 0; n < 20; ++n) drain->sync();
            ++served;
        });
    }
    for (std::thread& each : waiting) each.join();
    EXPECT_EQ(served.load(), 8);
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
    EXPECT_EQ(records_in_file(), 10U);
}

TEST_F(DrainThread, WritesTheRestAndClosesTheCapture) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    drain->set_property("early", "1");
    drain->sync();
    thread.write(100);
    drain->set_property("late", "2");
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
    const capture_contents contents = read_contents(path);
    EXPECT_TRUE(contents.ended);
    EXPECT_EQ(records_in_file(), 100U);
    EXPECT_EQ(contents.properties.at("early"), "1");
    EXPECT_EQ(contents.properties.at("late"), "2");
}

TEST_F(DrainThread, DumpsEveryRecordMadeBeforeTheCall) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    const std::string dump = folder / "dump.prof";
    for (std::uint64_t n = 1; n <= 20; ++n) {
        thread.write(50);
        drain->dump(dump, "reason " + std::to_string(n));
        const capture_contents contents = read_contents(dump);
        EXPECT_EQ(records_in(contents), 50 * n);
        EXPECT_TRUE(contents.ended);
        EXPECT_EQ(contents.end.reason, format::end_reason::dumped);
        EXPECT_EQ(contents.damage.chunks + contents.damage.bytes, 0U) << contents.damage.first;
        EXPECT_EQ(contents.properties.at("dump"), "reason " + std::to_string(n));
        std::filesystem::remove(dump);
    }
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
    EXPECT_FALSE(read_contents(path).properties.contains("dump"));
    drain->dump(dump, "too late");
    EXPECT_EQ(read_bytes(dump), read_bytes(path));
    EXPECT_EQ(captures(), (std::vector<std::string>{"a.prof", "dump.prof"}));
}

// Nothing was there when the dump was asked for.
TEST_F(DrainThread, NeverDumpsOverAnotherFile) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    thread.write(10);
    const std::string taken = folder / "taken.prof";
    write_bytes(taken, {1, 2, 3});
    try {
        drain->dump(taken, "it was asked for");
        ADD_FAILURE();
    } catch (const error& refusal) {
        EXPECT_EQ(std::string(refusal.what()), "cannot create " + taken + ": File exists");
    }
    EXPECT_EQ(read_bytes(taken), (byte_string{1, 2, 3}));
    EXPECT_EQ(captures(), (std::vector<std::string>{"a.prof", "taken.prof"}));
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
}

// Written by a thread in bursts that a ring of 128 holds only if it is drained meanwhile: none is lost in silence.
TEST_F(DrainThread, CountsRecordsThatItCannotKeepUpWith) {
    const auto drain = start();
    ringed_thread thread(rings, no_such_tid);
    constexpr std::uint64_t bursts = 2'000;
    for (std::uint64_t n = 0; n < bursts; ++n) {
        for (int i = 0; i < 100; ++i) thread.producer.write({.ticks = n, .kind = record_kind::mark});
    }
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
    const capture_contents contents = read_contents(path);
    const auto dropped = contents.drops.find(static_cast<std::uint32_t>(drop_cause::ring_full));
    EXPECT_EQ(records_in_file() + (dropped == contents.drops.end() ? 0 : dropped->second), 100 * bursts);
}

TEST_F(DrainThread, RunsNoSignalHandlers) {
    const auto drain = start();
    drain->sync();
    bool found = false;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream comm(task.path() / "comm");
        std::string name;
        std::getline(comm, name);
        if (name != "prof-drain") continue;
        found = true;
        std::ifstream status(task.path() / "status");
        std::string blocked;
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("SigBlk:")) blocked = line.substr(line.find_last_of("\t ") + 1);
        }
        // All 64 except SIGKILL, SIGSTOP, the two reserved by the C library, and the six that report a fault.
        EXPECT_EQ(std::stoull(blocked, nullptr, 16) | 0x1'8004'0100ULL, ~0x4000'04D8ULL | 0x1'8004'0100ULL) << blocked;
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(drain->finish(format::end_reason::stopped).message(), "");
}

std::atomic<bool> disk_is_full{false};
ssize_t write_until_full(int file, const void* bytes, std::size_t count) {
    if (!disk_is_full.load()) return ::write(file, bytes, count);
    errno = ENOSPC;
    return -1;
}

TEST_F(DrainThread, ReturnsTheWritersFailureFromFinish) {
    capture_writer_options options = writer_options();
    options.write = write_until_full;
    const auto drain = start(options);
    ringed_thread thread(rings, no_such_tid);
    thread.write(10);
    drain->sync();
    disk_is_full.store(true);
    thread.write(10);
    drain->sync();
    EXPECT_THAT(drain->finish(format::end_reason::stopped).message(), testing::HasSubstr(path));
    disk_is_full.store(false);
    EXPECT_EQ(records_in_file(), 10U);
}

}  // namespace
}  // namespace prof::test::drain_thread_test
