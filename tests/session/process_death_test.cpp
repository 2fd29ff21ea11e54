// SPDX-License-Identifier: Apache-2.0
// A process that dies, however and wherever, leaves what it has recorded: every range and launch that its own journal
// tells of, in order, and every kernel of which CUPTI had been told. The moment of death is chosen by how much is in
// the journal by then. PROF_DEATHS: how many processes die (20).
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/seal.hpp"
#include "session/death_journal.hpp"
#include "support/run_process.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

struct death {
    std::string way;
    int signal = 0;  // that it ends by; 0: status 5
    bool by_us = false;
};
// An out-of-memory kill is a SIGKILL.
const std::vector<death> deaths = {
    {"wait", SIGKILL, true}, {"wait", SIGKILL, true},
    {"wait", SIGKILL, true}, {"segv", SIGSEGV},
    {"wait", SIGKILL, true}, {"wait", SIGKILL, true},
    {"wait", SIGTERM, true}, {"abort", SIGABRT},
    {"wait", SIGKILL, true}, {"_exit"},
    {"wait", SIGKILL, true}, {"throw", SIGABRT},
    {"wait", SIGKILL, true}, {"wait", SIGKILL, true},
    {"terminate", SIGABRT},
};

// What the capture has of a thread in the order of its records, in the journal's words.
struct recorded_thread {
    std::map<std::uint64_t, record> by_number;

    std::vector<journal_entry> story() const {
        std::vector<journal_entry> out;
        for (const auto& [number, r] : by_number) {
            if (r.kind == record_kind::range_push) out.push_back({journal_event::pushed, r.value, 0});
            if (r.kind == record_kind::range_pop) out.push_back({journal_event::popped, 0, 0});
            if (r.kind == record_kind::api_enter && static_cast<api_class>(r.flags) == api_class::launch) {
                out.push_back({journal_event::launched, 0, 0});
            }
        }
        return out;
    }
};

std::vector<recorded_thread> read_threads(const std::string& path) {
    std::map<std::uint64_t, recorded_thread> by_uid;
    capture_reader reader(path);
    for (chunk part; reader.next(part);) {
        if (part.type != format::chunk_type::records) continue;
        const record_block block = records_of(part.payload);
        std::uint64_t number = block.first_number;
        for (const record& r : block.records) by_uid[part.aux].by_number[number++] = r;
    }
    std::vector<recorded_thread> out;
    for (auto& [uid, thread] : by_uid) {
        const auto& numbers = thread.by_number;
        EXPECT_EQ(numbers.rbegin()->first - numbers.begin()->first + 1, numbers.size()) << "records are missing";
        out.push_back(std::move(thread));
    }
    return out;
}

void expect_recorded(const journal_area& journal, const std::vector<recorded_thread>& threads,
                     std::uint64_t first_serial) {
    const std::uint64_t count = journal.count.load();
    if (count == 0) return;
    for (const recorded_thread& thread : threads) {
        const std::vector<journal_entry> story = thread.story();
        if (story.empty() || story.front() != journal_entry{journal_event::pushed, first_serial, 0}) continue;
        ASSERT_GE(story.size(), count) << "the end of it is missing";
        ASSERT_LE(story.size(), count + 1);
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(story[i], journal.entries[i]) << "entry " << i;
        return;
    }
    ADD_FAILURE() << "nothing was recorded of the thread whose first range is " << first_serial;
}

void expect_gpu_work(const journal_area& journal, const timeline& data) {
    std::multiset<std::pair<std::int64_t, std::int64_t>> found;
    std::set<std::tuple<std::int64_t, std::int64_t, std::uint64_t>> different;
    for (const gpu_op& op : data.ops) {
        found.emplace(op.start_ns, op.end_ns);
        different.emplace(op.start_ns, op.end_ns, op.correlation);
        const std::string name(data.kernel_symbol(op));
        ASSERT_TRUE(name == "main_k" || name == "other_k") << name;
        ASSERT_NE(op.launch, npos);
    }
    EXPECT_EQ(different.size(), data.ops.size()) << "a record comes twice";
    std::uint64_t missing = 0;
    for (std::uint64_t i = 0; i < journal.count.load(); ++i) {
        const auto at = found.find(
            {static_cast<std::int64_t>(journal.entries[i].a), static_cast<std::int64_t>(journal.entries[i].b)});
        missing += at == found.end() ? 1 : 0;
        if (at != found.end()) found.erase(at);
    }
    EXPECT_EQ(missing, 0U) << "of " << journal.count.load();
}

struct Death : testing::Test {
    scratch_directory scratch;
    std::mt19937 random{20251122};
    std::uint64_t recovered_gpu_work = 0;

    // False if the drain thread did not get its turn in time, and the program's records found the rings full: that says
    // nothing of its death.
    bool let_die(const death& how, int number) {
        const std::string folder = scratch.path + "/" + std::to_string(number);
        std::filesystem::create_directory(folder);
        const std::uint64_t entries = random() % (number % 2 == 0 ? 400 : 20'000);
        death_journal& journal = map_journal(folder + "/journal");
        const pid_t victim = start_process({PROF_TEST_VICTIM, folder + "/journal", how.way, std::to_string(entries)},
                                           {{"LD_PRELOAD", PROF_TEST_LIBRARY},
                                            {"PROF_OUTPUT_DIR", folder},
                                            {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                            {"PROF_RINGS", folder},
                                            {"PROF_MEMORY", "16M"},
                                            {"CUDA_INJECTION64_PATH", ""},
                                            {"NVTX_INJECTION64_PATH", ""}},
                                           folder, folder + "/out", folder + "/err");
        int status = 0;
        bool is_over = false;
        if (how.by_us) {
            // Whoever meets the first record waits for the capture to be made, the other does not.
            const auto lives_on = [&] {
                return journal.threads[0].count.load(std::memory_order_acquire) <= entries ||
                       journal.threads[1].count.load(std::memory_order_acquire) == 0;
            };
            while (!is_over && lives_on()) {
                sched_yield();
                is_over = waitpid(victim, &status, WNOHANG) == victim;
            }
            if (!is_over) expect_no_seal_for_the_living(folder);
            if (!is_over) kill(victim, how.signal);
        }
        if (!is_over) waitpid(victim, &status, 0);
        if (how.signal != 0) {
            EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, how.signal);
        } else {
            EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 5);
        }
        const bool counts = check(folder, journal);
        unmap_journal(journal);
        return counts;
    }

    void expect_no_seal_for_the_living(const std::string& folder) const {
        for (const std::string& path : scratch.files(".prof")) {
            EXPECT_EQ(seal_capture(path, 0).result, seal_result::is_running);
        }
        EXPECT_EQ(scratch.files(".rings").size(), 1U) << folder;
    }

    // All that could be recovered is in the file then, once, however often the sealing was interrupted.
    void expect_seal(const std::string& path, const timeline& before) {
        const std::string rings = scratch.files(".rings").at(0);
        const std::string rings_bytes = read_file(rings);
        const std::string unsealed = read_file(path);
        const auto expect_all = [&](const sealing& done) {
            EXPECT_EQ(done.result, seal_result::sealed);
            EXPECT_TRUE(scratch.files(".rings").empty());
            const timeline data = load_timeline(path);
            EXPECT_TRUE(data.quality.died);
            EXPECT_EQ(data.quality.how, 9U);
            EXPECT_EQ(data.quality.damaged_bytes, 0U);
            EXPECT_EQ(data.ranges.size(), before.ranges.size());
            EXPECT_EQ(data.api_calls.size(), before.api_calls.size());
            EXPECT_EQ(data.ops.size(), before.ops.size());
            EXPECT_EQ(data.quality.ranges_open_at_end, before.quality.ranges_open_at_end);
            EXPECT_EQ(data.quality.launches_without_completion, before.quality.launches_without_completion);
        };
        expect_all(seal_capture(path, ended_by_signal(9)));
        const std::string sealed = read_file(path);
        EXPECT_EQ(seal_capture(path, 0).result, seal_result::was_closed);
        EXPECT_EQ(read_file(path), sealed);

        // The sealer died in the middle.
        const std::size_t written = unsealed.size() + random() % (sealed.size() - unsealed.size() - 64);
        std::ofstream(path, std::ios::binary) << sealed.substr(0, written);
        std::ofstream(rings, std::ios::binary) << rings_bytes;
        SCOPED_TRACE("a sealing that was interrupted after " + std::to_string(written - unsealed.size()));
        expect_all(seal_capture(path, ended_by_signal(9)));
    }

    bool check(const std::string& folder, const death_journal& journal) {
        const auto captures = scratch.files(".prof");
        EXPECT_EQ(captures.size(), 1U);
        if (captures.size() != 1) return true;
        const timeline data = load_timeline(captures.front());
        const bool counts = !data.quality.dropped.contains("ring_full");
        if (counts) {
            EXPECT_FALSE(data.quality.ended);
            EXPECT_TRUE(data.quality.dropped.empty());
            const auto threads = read_threads(captures.front());
            expect_recorded(journal.threads[0], threads, 1);
            expect_recorded(journal.threads[1], threads, (std::uint64_t{1} << 32) + 1);
            expect_gpu_work(journal.gpu, data);
            expect_seal(captures.front(), data);
            if (data.quality.recovery.find("GPU records") != std::string::npos) ++recovered_gpu_work;
        }
        std::filesystem::remove_all(folder);
        return counts;
    }
};

TEST_F(Death, LosesNoRecordMadeBefore) {
    const char* const wanted = std::getenv("PROF_DEATHS");
    const int count = wanted == nullptr ? 20 : std::atoi(wanted);
    int counted = 0;
    for (int number = 0; counted < count; ++number) {
        ASSERT_LT(number, 4 * count) << "nearly all found their rings full";
        const death& how = deaths[static_cast<std::size_t>(number) % deaths.size()];
        SCOPED_TRACE(how.way + " " + std::to_string(how.signal) + ", number " + std::to_string(number));
        if (let_die(how, number)) ++counted;
        if (HasFailure()) return;
    }
    EXPECT_GT(recovered_gpu_work, 0U) << "not once was there anything in CUPTI's buffers";
}

}  // namespace
}  // namespace prof::test
