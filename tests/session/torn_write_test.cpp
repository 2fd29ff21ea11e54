// SPDX-License-Identifier: Apache-2.0
// A process that is killed in the middle of a write (torn_write.cpp): what was to be written is read all the same, also
// what is nowhere else (properties, windows' ends, what graphs were captured under). PROF_TORN_WRITES: how many writes
// are drawn (6).
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "capture/format.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/seal.hpp"
#include "session/steps_of.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using format::chunk_type;
using chunk_facts = std::tuple<chunk_type, std::uint64_t, std::string>;

std::string number_of(chunk_type type) { return std::to_string(static_cast<int>(type)); }

struct reading {
    std::vector<chunk_facts> chunks;
    std::size_t recovered = 0;
    capture_damage damage;

    bool has(const chunk_facts& wanted) const {
        return std::find(chunks.begin(), chunks.end(), wanted) != chunks.end();
    }
};

reading read_chunks(const std::string& path) {
    reading out;
    capture_reader reader(path);
    for (chunk next; reader.next(next);) {
        out.recovered += next.recovered ? 1 : 0;
        out.chunks.emplace_back(next.type, next.aux,
                                std::string(reinterpret_cast<const char*>(next.payload.data()), next.payload.size()));
    }
    out.damage = reader.damage();
    return out;
}

struct TornWrite : testing::Test, profiled_program {
    TornWrite()
        : profiled_program(way_in::injected,
                           {{"PROF_MEMORY", "16M"},
                            {"FAKE_GPU_CLOCK", ""},
                            {"LD_PRELOAD", std::string(PROF_TEST_TORN_WRITE) + ":" + PROF_TEST_LIBRARY}}) {}

    std::string copy = scratch.path + "/copy";

    void die(const std::vector<std::string>& command, environment more) const {
        more.emplace("TORN_COPY", copy);
        const process_result result = run_process(command, with(std::move(more)), scratch.path);
        ASSERT_EQ(result.signal(), SIGKILL) << "no such write: " << result.out << result.err;
    }

    // What the torn write was to write, but for the end that the process did not come to.
    std::vector<chunk_facts> chunks_of_write(const std::string& capture) const {
        const std::string header = read_file(capture).substr(0, sizeof(format::file_header));
        const std::string path = scratch.path + "/written";
        std::ofstream(path, std::ios::binary) << header << read_file(copy);
        std::vector<chunk_facts> chunks;
        for (chunk_facts& each : read_chunks(path).chunks) {
            if (std::get<chunk_type>(each) != chunk_type::end) chunks.push_back(std::move(each));
        }
        std::filesystem::remove(path);
        return chunks;
    }

    void expect_all(const std::string& capture, const std::vector<chunk_facts>& wanted) const {
        const reading found = read_chunks(capture);
        EXPECT_EQ(found.damage.bytes + found.damage.chunks + found.damage.cut_off_bytes, 0U) << found.damage.first;
        for (const chunk_facts& each : wanted) {
            EXPECT_TRUE(found.has(each)) << "a chunk of type " << number_of(std::get<chunk_type>(each)) << " is lost";
        }
    }

    void expect_nothing_lost() const {
        const auto captures = scratch.files(".prof");
        ASSERT_EQ(captures.size(), 1U);
        const std::string& capture = captures.front();
        const std::vector<chunk_facts> wanted = chunks_of_write(capture);
        const reading before = read_chunks(capture);
        EXPECT_GT(before.recovered, 0U);
        expect_all(capture, wanted);
        EXPECT_EQ(seal_capture(capture, ended_by_signal(SIGKILL)).result, seal_result::sealed);
        expect_all(capture, wanted);
        EXPECT_TRUE(load_timeline(capture).quality.died);
    }
};

struct torn_chunk {
    const char* what;
    chunk_type type;
    int nth = 1;
};

struct TornChunk : TornWrite, testing::WithParamInterface<torn_chunk> {};

// A graph that was captured before the recording, which has two windows.
TEST_P(TornChunk, IsRecovered) {
    const char* const permille = GetParam().nth % 2 == 0 ? "0" : "700";
    die({PROF_TEST_IDLE_GRAPHS_VICTIM, "between"}, {{"PROF_AUTOSTART", "0"},
                                                    {"PROF_IDLE_GRAPH_NODES", "1"},
                                                    {"TORN_CHUNK", number_of(GetParam().type)},
                                                    {"TORN_NTH", std::to_string(GetParam().nth)},
                                                    {"TORN_PERMILLE", permille}});
    if (HasFatalFailure()) return;
    EXPECT_GT(std::filesystem::file_size(copy), 0U);
    expect_nothing_lost();
}
INSTANTIATE_TEST_SUITE_P(Each, TornChunk,
                         testing::Values(torn_chunk{"FirstProperties", chunk_type::properties, 2},
                                         torn_chunk{"WindowsBegin", chunk_type::windows, 1},
                                         torn_chunk{"WindowsEnd", chunk_type::windows, 2},
                                         torn_chunk{"LateProperties", chunk_type::properties, 3},
                                         torn_chunk{"Thread", chunk_type::thread, 1},
                                         torn_chunk{"EarlierGraphs", chunk_type::graph_context, 1},
                                         torn_chunk{"Clock", chunk_type::clocks, 2},
                                         torn_chunk{"Records", chunk_type::records, 1},
                                         torn_chunk{"Kernels", chunk_type::kernels, 1},
                                         torn_chunk{"End", chunk_type::end, 1}),
                         [](const auto& each) { return std::string(each.param.what); });

// A reader that finds the file's header finds the rings, too: both come with the first write, which no kill cuts.
TEST_F(TornWrite, CannotCutTheFirstWrite) {
    die({PROF_TEST_VICTIM, "for_ever"}, {{"TORN_AT", "1"}, {"TORN_PERMILLE", "0"}});
    if (HasFatalFailure()) return;
    const std::string first = read_file(copy);
    EXPECT_LE(first.size(), 4096U);
    EXPECT_NE(first.find("rings_path"), std::string::npos);
    EXPECT_NE(first.find(".rings"), std::string::npos);
}

TEST_F(TornWrite, LosesNothingWhereverItIsCut) {
    const char* const wanted = std::getenv("PROF_TORN_WRITES");
    const int count = wanted == nullptr ? 6 : std::atoi(wanted);
    std::mt19937 random{20251124};
    for (int i = 0; i < count && !HasFailure(); ++i) {
        const std::string at = std::to_string(2 + random() % (i % 2 == 0 ? 20 : 120));
        const std::string permille = std::to_string(random() % 1000);
        SCOPED_TRACE("write " + at + ", cut at " + permille + " permille");
        environment how = {{"TORN_AT", at}, {"TORN_PERMILLE", permille}, {"FAKE_GPU_CLOCK", "virtual"}};
        if (i % 3 != 0) how["PROF_KEEP"] = "8M";
        if (i % 4 == 3) how["PROF_COMPRESS"] = "1";
        die({PROF_TEST_VICTIM, "for_ever"}, how);
        if (HasFatalFailure()) return;
        expect_nothing_lost();
        const timeline data = load_timeline(scratch.files(".prof").front());
        const std::vector<std::uint64_t> steps = steps_of(data);
        EXPECT_TRUE(steps.empty() || data.quality.dropped.contains("ring_full") ||
                    steps.back() - steps.front() + 1 == steps.size());
        for (const char* const ending : {".prof", ".rings"}) {
            for (const std::string& file : scratch.files(ending)) std::filesystem::remove(file);
        }
    }
}

}  // namespace
}  // namespace prof::test
