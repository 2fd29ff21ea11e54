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

#include "session/run_process.hpp"
#include "timeline/timeline.hpp"

namespace prof::test {
namespace {

using numbers = std::vector<long>;

struct Memory : testing::Test {
    scratch_directory scratch;

    // The values of each line of the victim's output that begins with `word`.
    std::vector<numbers> run(const std::string& word, std::vector<std::string> words, bool with_libprof,
                             std::map<std::string, std::string> more = {}) const {
        std::map<std::string, std::string> e = {{"PROF_OUTPUT_DIR", scratch.path + "/captures"},
                                                {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                                {"PROF_EXPORT", "none"},
                                                {"PROF_RINGS", "memory"},
                                                {"FAKE_GPU_CLOCK", "virtual"},
                                                {"LD_PRELOAD", with_libprof ? PROF_TEST_LIBRARY : ""},
                                                {"CUDA_INJECTION64_PATH", ""},
                                                {"NVTX_INJECTION64_PATH", ""}};
        for (const auto& [name, value] : more) e[name] = value;
        words.insert(words.begin(), PROF_TEST_VICTIM);
        const process_result result = run_process(words, e, scratch.path);
        EXPECT_EQ(result.exit_code(), 0);
        EXPECT_EQ(result.err, "");
        std::vector<numbers> found;
        std::istringstream out(result.out);
        for (std::string line; std::getline(out, line);) {
            std::istringstream cells(line);
            std::string first;
            cells >> first;
            if (first != word) continue;
            numbers& values = found.emplace_back();
            for (long value = 0; cells >> value;) values.push_back(value);
        }
        return found;
    }
    timeline only_capture() const {
        const auto found = scratch.files(".prof");
        EXPECT_EQ(found.size(), 1U);
        return found.empty() ? timeline{} : load_timeline(found.front());
    }
};

void expect_below(long limit_mib, long with, long without) {
    std::printf("%ld KiB with libprof, %ld KiB without: %.1f MiB\n", with, without,
                static_cast<double>(with - without) / 1024);
    EXPECT_LE(with - without, limit_mib * 1024);
}

TEST_F(Memory, OfAThousandLaunchingThreadsStaysBelowTheBound) {
    const auto bare = run("memory", {"crowd", "1000"}, false);
    const auto recorded = run("memory", {"crowd", "1000"}, true);
    ASSERT_EQ(bare.size(), 1U);
    ASSERT_EQ(recorded.size(), 1U);
    expect_below(64, recorded[0][0], bare[0][0]);
    // It did record: each thread has a ring.
    EXPECT_GE(only_capture().threads.size(), 1000U);
}

// Sixteen times as many threads as there are rings: what finds none is counted, and takes no memory.
TEST_F(Memory, IsBoundedWhereThereAreMoreThreadsThanRings) {
    const auto bare = run("memory", {"crowd", "1000"}, false);
    const auto recorded = run("memory", {"crowd", "1000"}, true, {{"PROF_MEMORY", "16M"}});
    ASSERT_EQ(bare.size(), 1U);
    ASSERT_EQ(recorded.size(), 1U);
    expect_below(16, recorded[0][0], bare[0][0]);
    const timeline data = only_capture();
    EXPECT_EQ(data.threads.size(), 8U + 16U + 256U);
}

TEST_F(Memory, DoesNotGrowFromRecordingToRecording) {
    const auto cycle = run("cycle", {"cycles", "100"}, true, {{"PROF_AUTOSTART", "0"}});
    ASSERT_EQ(cycle.size(), 10U);
    enum { number, descriptors, threads, mappings, memory };
    const numbers& early = cycle[1];
    const numbers& late = cycle[9];
    EXPECT_EQ(late[number], 100);
    EXPECT_EQ(late[descriptors], early[descriptors]);
    EXPECT_EQ(late[threads], early[threads]);
    EXPECT_LE(late[mappings], early[mappings] + 4);  // malloc's own come and go
    EXPECT_EQ(scratch.files(".prof").size(), 100U);
    std::printf("%ld KiB after 20 recordings, %ld KiB after 100\n", early[memory], late[memory]);
}

// PROF_LONG_RECORDS: how many, in a run by hand. What the simulated GPU itself takes (its journal) it takes without
// libprof, too: the difference is looked at.
TEST_F(Memory, StaysFlatOverALongRun) {
    const char* chosen = std::getenv("PROF_LONG_RECORDS");
    const std::string records = chosen == nullptr ? "1000000" : chosen;
    const auto bare = run("memory", {"long", records}, false);
    const auto recorded = run("memory", {"long", records}, true);
    ASSERT_EQ(bare.size(), 10U);
    ASSERT_EQ(recorded.size(), 10U);
    numbers above;
    for (std::size_t i = 0; i < 10; ++i) above.push_back(recorded[i][0] - bare[i][0]);
    std::printf("KiB above the bare process after each tenth:");
    for (const long kib : above) std::printf(" %ld", kib);
    std::printf("\n");
    EXPECT_LE(*std::max_element(above.begin() + 1, above.end()), above[0] + 2048);
}

}  // namespace
}  // namespace prof::test
