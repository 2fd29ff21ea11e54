// SPDX-License-Identifier: Apache-2.0
// libprof.so in a program on the simulated GPU: what comes out is compared with the GPU's own journal and with the
// program's naming of its kernels (victim.cpp).
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

const std::string library = PROF_TEST_LIBRARY;
const std::string fake_cupti = PROF_TEST_FAKE_CUPTI;
const std::string victim = PROF_TEST_VICTIM;

using environment = std::map<std::string, std::string>;

// What CUPTI handed out, by correlation id, as the simulated GPU wrote it down itself.
struct journal_line {
    std::string name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
};

std::vector<journal_line> read_journal(const std::string& path) {
    std::ifstream in(path);
    std::vector<journal_line> lines;
    std::vector<std::string> names;
    std::string line;
    const auto split = [](const std::string& text) {
        std::vector<std::string> cells;
        std::stringstream stream(text);
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        return cells;
    };
    std::getline(in, line);
    names = split(line);
    const auto column = [&](const std::vector<std::string>& cells, const std::string& name) {
        for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) {
            if (names[i] == name) return cells[i];
        }
        ADD_FAILURE() << "the journal has no column " << name;
        return std::string{"0"};
    };
    while (std::getline(in, line)) {
        const auto cells = split(line);
        // A graph's launch is recorded as a whole or by its nodes: the other half of its lines is not.
        if (column(cells, "graph_id") != "0" && column(cells, "record") == "none") continue;
        lines.push_back(
            {column(cells, "name"), std::stoll(column(cells, "start_ns")), std::stoll(column(cells, "end_ns"))});
    }
    return lines;
}

struct Session : testing::Test, profiled_program {
    Session() : profiled_program(way_in::its_own) {}

    environment base() const { return with({{"FAKE_GPU_JOURNAL", scratch.path + "/journal.csv"}}); }
    environment preloaded() const {
        environment e = base();
        e["LD_PRELOAD"] = library;
        return e;
    }
    process_result run(const environment& e, std::vector<std::string> words) const {
        words.insert(words.begin(), victim);
        return run_process(words, e, scratch.path);
    }
    std::vector<std::string> captures() const { return scratch.files(".prof"); }
};

// Every operation of the journal is there with its times, and belongs to the range that its kernel's name says.
void expect_all_found(const timeline& data, const std::vector<journal_line>& journal) {
    ASSERT_EQ(data.ops.size(), journal.size());
    std::multimap<std::int64_t, std::string> truth;
    for (const journal_line& line : journal) truth.emplace(line.start_ns, line.name + std::to_string(line.end_ns));
    const attribution att = attribute(data);
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        const std::string name = op.kind == op_kind::kernel ? std::string(data.kernel_symbol(op)) : "";
        const auto [begin, end] = truth.equal_range(op.start_ns);
        EXPECT_TRUE(std::any_of(begin, end,
                                [&](const auto& entry) { return entry.second == name + std::to_string(op.end_ns); }))
            << name << " at " << op.start_ns;
        if (op.kind != op_kind::kernel) continue;
        const range_id range = att.captured[i] == npos ? att.owner[i] : att.replayed[att.captured[i]].range;
        ASSERT_TRUE(is_range(range)) << name;
        EXPECT_EQ(std::string(data.name(data.ranges[range].name)) + "_k", name);
    }
    const projection p = project(data);
    std::int64_t self = 0;
    for (const projection_row& row : p.rows) self += row.gpu_self_ns;
    EXPECT_EQ(self, p.total_gpu_ns);
    EXPECT_TRUE(data.quality.dropped.empty());
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.quality.launches_without_completion, 0U);
}

TEST_F(Session, AttributesEveryOperationUnderPreload) {
    const auto result = run(preloaded(), {"steps", "20"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.out, "done\n");
    EXPECT_EQ(result.err, "");
    expect_all_found(only_capture(), read_journal(scratch.path + "/journal.csv"));
}

// Each line names the process; without the variable there is none.
TEST_F(Session, IsToldOfInALogOnRequest) {
    environment e = preloaded();
    e["PROF_LOG"] = "debug";
    const auto result = run(e, {"steps", "20"});
    EXPECT_EQ(result.out, "done\n");
    std::vector<std::string> told;
    std::istringstream lines(result.err);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t text = line.find(": ", line.find(": ") + 1);
        ASSERT_EQ(line.substr(0, 17), "libprof: process ") << result.err;
        told.push_back(line.substr(text + 2));
    }
    const std::string capture = captures().front();
    EXPECT_EQ(told, (std::vector<std::string>{"libprof is ready, and records by itself", "the recording has begun",
                                              "window 1 is open", "CUPTI records GPU work", "CUPTI is free for others",
                                              "the recording ends with the process: " + capture}));

    e["PROF_LOG"] = "loud";
    EXPECT_EQ(run(e, {"steps", "20"}).err, "libprof: PROF_LOG has another value than debug, and is ignored\n");
}

TEST_F(Session, AttributesEveryOperationUnderNvtxInjection) {
    environment e = base();
    e["NVTX_INJECTION64_PATH"] = library;
    EXPECT_EQ(run(e, {"steps", "20"}).exit_code(), 3);
    // CUDA began before the first range: what ran until then is not known, the steps' work is.
    const timeline data = only_capture();
    EXPECT_EQ(data.ranges.size(), 20U * 8);
}

TEST_F(Session, AttributesEveryOperationUnderCudaInjection) {
    environment e = base();
    e["CUDA_INJECTION64_PATH"] = library;
    EXPECT_EQ(run(e, {"cuda-first", "steps", "20"}).exit_code(), 3);
    expect_all_found(only_capture(), read_journal(scratch.path + "/journal.csv"));
}

TEST_F(Session, StartsOnceWithPreloadAndInjections) {
    environment e = preloaded();
    e["CUDA_INJECTION64_PATH"] = library;
    e["NVTX_INJECTION64_PATH"] = library;
    EXPECT_EQ(run(e, {"steps", "20"}).exit_code(), 3);
    expect_all_found(only_capture(), read_journal(scratch.path + "/journal.csv"));
}

TEST_F(Session, StartsOnceWithTwoLoadedCopies) {
    const std::string copy = scratch.path + "/libprof_copy.so";
    std::filesystem::copy_file(library, copy);
    environment e = preloaded();
    e["CUDA_INJECTION64_PATH"] = copy;
    const auto result = run(e, {"steps", "5"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(captures().size(), 1U);
}

TEST_F(Session, GivesAutogradsWorkToBackward) {
    EXPECT_EQ(run(preloaded(), {"autograd", "steps", "10"}).exit_code(), 3);
    const timeline data = only_capture();
    expect_all_found(data, read_journal(scratch.path + "/journal.csv"));
    const projection p = project(data);
    const auto backward = std::find_if(p.rows.begin(), p.rows.end(),
                                       [](const projection_row& r) { return r.path == "iteration #/backward"; });
    ASSERT_NE(backward, p.rows.end());
    EXPECT_EQ(backward->ops, 40U);
    EXPECT_EQ(backward->adopted_ops, 40U);
    EXPECT_EQ(backward->gpu_self_ns, 40 * 40'000);
}

projection_row captured_row(const projection& p, const std::string& path) {
    const auto found = std::find_if(p.rows.begin(), p.rows.end(),
                                    [&](const projection_row& r) { return r.is_captured && r.path == path; });
    if (found != p.rows.end()) return *found;
    ADD_FAILURE() << "no captured row " << path;
    return {};
}

TEST_F(Session, SplitsReplaysByTheRangesOfTheirCapture) {
    const auto result = run(preloaded(), {"graph", "autograd", "steps", "10"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.err, "");
    const timeline data = only_capture();
    expect_all_found(data, read_journal(scratch.path + "/journal.csv"));
    EXPECT_EQ(data.properties.at("cuda_graphs"), "nodes");
    const projection p = project(data);
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    // What autograd's thread was captured launching went to backward; step() has the kernels and their times.
    const projection_row backward = captured_row(p, "iteration #/replay/backward");
    EXPECT_EQ(backward.instances, 10U);
    EXPECT_EQ(backward.host_ns, 0);
    EXPECT_EQ(backward.ops, 40U);
    EXPECT_EQ(backward.gpu_self_ns, 10 * 4 * 40'000);
    const projection_row forward = captured_row(p, "iteration #/replay/forward");
    EXPECT_EQ(forward.instances, 10U);
    EXPECT_EQ(forward.gpu_self_ns, 10 * 20'000);
    EXPECT_EQ(forward.gpu_sum_ns, 10 * (20'000 + 3 * 5'000));
    const projection_row layer = captured_row(p, "iteration #/replay/forward/layer");
    EXPECT_EQ(layer.instances, 30U) << "three of them in each launch";
    EXPECT_EQ(layer.instance_median_ns, 5'000);
    EXPECT_EQ(captured_row(p, "iteration #/replay/optimizer_step").self_ops, 20U) << "a kernel and a set";
    EXPECT_EQ(captured_row(p, "iteration #/replay/data_to_device").self_ops, 10U);
}

TEST_F(Session, GivesReplaysOutsideRangesAllRangesOfTheirCapture) {
    EXPECT_EQ(run(preloaded(), {"graph-loose", "steps", "3"}).exit_code(), 3);
    const timeline data = only_capture();
    expect_all_found(data, read_journal(scratch.path + "/journal.csv"));
    const projection p = project(data);
    EXPECT_EQ(captured_row(p, "capture").instances, 3U);
    EXPECT_EQ(captured_row(p, "capture").gpu_self_ns, 0);
    EXPECT_EQ(captured_row(p, "capture/forward").gpu_self_ns, 3 * 20'000);
}

TEST_F(Session, CountsReplaysOfUnseenCaptures) {
    environment e = preloaded();
    e["PROF_AUTOSTART"] = "0";
    const auto result = run(e, {"graph-first", "c-api", "steps", "5"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const timeline data = only_capture();
    ASSERT_EQ(data.ops.size(), 5U * 11);
    const projection p = project(data);
    EXPECT_EQ(p.ops_of_unseen_captures, 5U * 11);
    const auto replay = std::find_if(p.rows.begin(), p.rows.end(),
                                     [](const projection_row& r) { return r.path == "iteration #/replay"; });
    ASSERT_NE(replay, p.rows.end());
    EXPECT_EQ(replay->gpu_self_ns, p.total_gpu_ns);
}

TEST_F(Session, RecordsAGraphAsOneOperationOnRequest) {
    environment e = preloaded();
    e["PROF_CUDA_GRAPHS"] = "graphs";
    const auto result = run(e, {"graph", "steps", "10"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.err, "");
    const timeline data = only_capture();
    expect_all_found(data, read_journal(scratch.path + "/journal.csv"));
    EXPECT_EQ(data.properties.at("cuda_graphs"), "graphs");
    EXPECT_EQ(
        std::count_if(data.ops.begin(), data.ops.end(), [](const gpu_op& op) { return op.kind == op_kind::graph; }),
        10);
    EXPECT_TRUE(data.kernels.empty());
    const projection p = project(data);
    EXPECT_EQ(p.ops_of_unseen_captures, 0U);
    const auto replay = std::find_if(p.rows.begin(), p.rows.end(),
                                     [](const projection_row& r) { return r.path == "iteration #/replay"; });
    ASSERT_NE(replay, p.rows.end());
    EXPECT_EQ(replay->self_ops, 10U);
    EXPECT_EQ(replay->gpu_self_ns, p.total_gpu_ns);
}

TEST_F(Session, StopsAndStartsBetweenReplaysOfAGraph) {
    for (const std::string mode : {"nodes", "graphs"}) {
        environment e = preloaded();
        e["PROF_CUDA_GRAPHS"] = mode;
        e["PROF_NAME"] = mode;
        const auto result = run(e, {"graph", "steps", "2", "stop-and-go"});
        EXPECT_EQ(result.exit_code(), 3) << mode << ": the simulated CUPTI crashes as the real one does\n"
                                         << result.err;
        std::uint64_t operations = 0;
        std::size_t found = 0;
        for (const std::string& path : captures()) {
            if (path.find("/" + mode + ".") == std::string::npos) continue;
            const timeline data = load_timeline(path);
            EXPECT_FALSE(data.devices.empty()) << path;
            const attribution att = attribute(data);
            EXPECT_EQ(std::count(att.owner.begin(), att.owner.end(), owner_unmatched), 0) << path;
            operations += data.ops.size();
            ++found;
        }
        EXPECT_EQ(found, 4U);
        EXPECT_GT(operations, 4U);
    }
}

TEST_F(Session, RecordsNodesWhenGraphsMayExistAlready) {
    environment e = preloaded();
    e["PROF_AUTOSTART"] = "0";
    e["PROF_CUDA_GRAPHS"] = "graphs";
    const auto result = run(e, {"graph-first", "c-api", "cycles", "2", "steps", "5"});
    EXPECT_EQ(result.exit_code(), 3) << "the simulated CUPTI crashes as the real one does";
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("they are recorded node by node"), std::string::npos) << result.err;
    const auto found = captures();
    ASSERT_EQ(found.size(), 2U);
    for (const std::string& path : found) {
        const timeline data = load_timeline(path);
        EXPECT_EQ(data.properties.at("cuda_graphs"), "nodes");
        EXPECT_EQ(data.properties.at("cuda_graphs_notice") + '\n', result.err.substr(std::string("libprof: ").size()));
        EXPECT_EQ(data.ops.size(), 5U * 11);
        EXPECT_TRUE(data.graphs.empty());
    }
}

TEST_F(Session, PutsWorkOutsideAnyRangeInItsOwnRow) {
    EXPECT_EQ(run(preloaded(), {"loose", "steps", "1"}).exit_code(), 3);
    const projection p = project(only_capture());
    const auto none = std::find_if(p.rows.begin(), p.rows.end(),
                                   [](const projection_row& r) { return r.kind == row_kind::no_range; });
    ASSERT_NE(none, p.rows.end());
    EXPECT_EQ(none->gpu_self_ns, 1'000);
    EXPECT_EQ(none->self_ops, 1U);
}

TEST_F(Session, StartsAndStopsRepeatedly) {
    environment e = preloaded();
    e["PROF_AUTOSTART"] = "0";
    const auto result = run(e, {"c-api", "cycles", "5", "steps", "4"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const auto found = captures();
    ASSERT_EQ(found.size(), 5U);
    for (const std::string& path : found) {
        const timeline data = load_timeline(path);
        EXPECT_EQ(data.ranges.size(), 4U * 8) << path;
        EXPECT_EQ(data.ops.size(), 4U * 11) << path;  // copy, 1 + 3 + 4 + 1 kernels, set… see step()
        EXPECT_TRUE(data.quality.dropped.empty()) << path;
        const projection p = project(data);
        for (const projection_row& row : p.rows) {
            if (row.kind != row_kind::range) {
                EXPECT_EQ(row.gpu_self_ns, 0) << path << " " << row.path;
            }
        }
    }
}

TEST_F(Session, RecordsRangesWithoutCuda) {
    environment e = preloaded();
    e["PROF_CUPTI_LIBRARY"] = "";
    const auto result = run(e, {"no-cuda", "steps", "7"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(only_capture().ranges.size(), 7U);
}

TEST_F(Session, RecordsRangesWithoutCuptiAndReportsIt) {
    environment e = preloaded();
    e["PROF_CUPTI_LIBRARY"] = "/nonexistent/libcupti.so";
    const auto result = run(e, {"steps", "2"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_NE(result.err.find("/nonexistent/libcupti.so"), std::string::npos) << result.err;
    const timeline data = only_capture();
    EXPECT_EQ(data.ranges.size(), 2U * 8);
    EXPECT_NE(data.properties.at("missing").find("/nonexistent/libcupti.so"), std::string::npos);
}

TEST_F(Session, LeavesTheProgramAloneWhenCuptiFails) {
    for (const std::string failure :
         {"cuptiSubscribe=39", "cuptiActivityEnable=999", "cuptiActivityRegisterCallbacks=1", "cuptiEnableCallback=1",
          "cuptiActivityFlushAll=999", "cuptiFinalize=999"}) {
        environment e = preloaded();
        e["FAKE_CUPTI_FAIL"] = failure;
        e["PROF_NAME"] = failure;
        const auto result = run(e, {"steps", "2"});
        EXPECT_EQ(result.exit_code(), 3) << failure;
        EXPECT_EQ(result.out, "done\n") << failure;
        EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
    EXPECT_EQ(captures().size(), 6U);
}

TEST_F(Session, ReportsABadOptionInOneLine) {
    environment e = preloaded();
    e["PROF_MEMORY"] = "a lot";
    const auto result = run(e, {"steps", "1"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.err,
              "libprof: PROF_MEMORY: \"a lot\" is not accepted; it takes a power of two from 16M to 4G; "
              "the default is used\n");
    EXPECT_EQ(only_capture().ranges.size(), 8U);
}

TEST_F(Session, EscapesControlCharactersOfABadValue) {
    environment e = preloaded();
    e["PROF_RANK"] = "1\n\x1b[2J";
    const auto result = run(e, {"steps", "1"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.err,
              "libprof: PROF_RANK: \"1\\x0A\\x1B[2J\" is not accepted; it takes a whole number; the default is used\n");
}

TEST_F(Session, LeavesNoFilesWithoutARecording) {
    environment e = preloaded();
    e["PROF_AUTOSTART"] = "0";
    EXPECT_EQ(run(e, {"steps", "1"}).exit_code(), 3);
    EXPECT_TRUE(scratch.files(".prof").empty());
    EXPECT_TRUE(scratch.files(".rings").empty());
}

TEST_F(Session, NeverOverwritesACapture) {
    // As if another process with this pid had been here: the victim's own earlier recording, in its own process.
    environment e = preloaded();
    e["PROF_AUTOSTART"] = "0";
    EXPECT_EQ(run(e, {"c-api", "cycles", "2", "steps", "1"}).exit_code(), 3);
    EXPECT_EQ(captures().size(), 2U);
}

TEST_F(Session, GivesAForkedChildItsOwnCapture) {
    const auto result = run(preloaded(), {"steps", "2", "fork"});
    EXPECT_EQ(result.exit_code(), 7) << result.err;  // the child's
    const auto found = captures();
    ASSERT_EQ(found.size(), 2U);
    for (const std::string& path : found) {
        const timeline data = load_timeline(path);
        const bool is_childs = data.properties.contains("forked_from");
        EXPECT_EQ(data.ranges.size(), is_childs ? 1U : 2U * 8);
        EXPECT_TRUE(data.quality.ended);
    }
}

TEST_F(Session, KeepsEveryRangeAndLaunchOfAKilledProcess) {
    for (const std::string end : {"kill", "_exit", "throw"}) {
        environment e = preloaded();
        e["PROF_NAME"] = end;
        const auto result = run(e, {"steps", "50", end});
        const std::map<std::string, int> signals = {{"kill", SIGKILL}, {"_exit", 0}, {"throw", SIGABRT}};
        EXPECT_EQ(result.signal(), signals.at(end));
        const auto found = scratch.files(".prof");
        ASSERT_FALSE(found.empty());
        for (const std::string& path : found) {
            if (path.find("/" + end + ".") == std::string::npos) continue;
            const timeline data = load_timeline(path);
            EXPECT_FALSE(data.quality.ended);
            EXPECT_NE(data.quality.recovery.find("records were recovered from its rings"), std::string::npos)
                << data.quality.recovery;
            EXPECT_EQ(data.ranges.size(), 50U * 8) << path;
            const auto launches = std::count_if(data.api_calls.begin(), data.api_calls.end(),
                                                [](const auto& call) { return call.kind == api_class::launch; });
            EXPECT_EQ(launches, 50 * 11) << path;
        }
    }
}

TEST_F(Session, RecordsManyThreads) {
    const auto result = run(preloaded(), {"steps", "1", "threads", "200"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const timeline data = only_capture();
    EXPECT_EQ(data.ranges.size(), 8U + 200);
    EXPECT_TRUE(data.quality.dropped.empty());
}

// More than there are rings of full size, each with more than fits into one of the smallest.
TEST_F(Session, LosesNothingOfDozensOfBusyThreads) {
    const auto result = run(preloaded(), {"steps", "1", "threads", "60", "ranges-each", "600"});
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    const timeline data = only_capture();
    EXPECT_EQ(data.ranges.size(), 8U + 60 + 60 * 600);
    EXPECT_TRUE(data.quality.dropped.empty());
}

}  // namespace
}  // namespace prof::test
