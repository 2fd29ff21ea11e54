// SPDX-License-Identifier: Apache-2.0
// NCCL's collectives in a whole program, by its profiler plugin: each scene of nccl_victim.cpp is run without libprof
// and with it. The stand-in for NCCL is in tests/fakes/nccl.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;

std::string text_of_function(collective_function function) {
    constexpr std::array names = {"other", "all_reduce", "broadcast",  "reduce", "all_gather", "reduce_scatter",
                                  "send",  "recv",       "all_to_all", "gather", "scatter"};
    return names.at(static_cast<std::size_t>(function));
}

// "all_reduce world 0 4000 ncclDevKernel_AllReduce": function, communicator, sequence, bytes, kernel, and what is rare.
std::vector<std::string> described(const timeline& data) {
    std::vector<std::string> out;
    for (const collective_call& each : data.collectives) {
        std::ostringstream line;
        line << text_of_function(each.function) << ' ';
        line << (each.communicator == npos ? "none" : std::to_string(data.communicators[each.communicator].id)) << ' ';
        line << (each.sequence == no_sequence ? "-" : std::to_string(each.sequence)) << ' ' << each.bytes;
        if (each.op == npos) {
            line << " no kernel";
        } else if (data.ops[each.op].kind == op_kind::kernel) {
            line << ' ' << data.kernel_symbol(data.ops[each.op]);
        } else {
            line << " a copy";
        }
        if (each.root != -1) line << " root " << each.root;
        if (each.peer != -1) line << " peer " << each.peer;
        if (each.in_graph) line << " in a graph";
        out.push_back(line.str());
    }
    return out;
}

struct NcclPlugin : bare_and_profiled {
    environment with_log(const std::string& plugin, const char* mask) const {
        return {{"NCCL_PROFILER_PLUGIN", plugin}, {"TELLING_PLUGIN_MASK", mask}};
    }
    static std::string contents(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) return {};
        std::string out(std::filesystem::file_size(path), '\0');
        file.read(out.data(), static_cast<std::streamsize>(out.size()));
        return out;
    }
};

const std::vector<std::string> all_of_collectives = {
    "all_reduce 2882338817 0 4000 ncclDevKernel_AllReduce",     "all_reduce 2882338817 1 4000 ncclDevKernel_AllReduce",
    "all_reduce 2882338817 2 4000 ncclDevKernel_AllReduce",     "all_gather 2882338817 0 2000 ncclDevKernel_AllGather",
    "reduce_scatter 2882338817 0 1400 ncclDevKernel_AllGather", "reduce 2882338818 0 720 ncclDevKernel_Reduce root 1",
    "send 2882338818 - 64 ncclDevKernel_Send peer 0",           "recv 2882338818 - 64 ncclDevKernel_Send peer 0",
    "broadcast 2882338817 0 40 ncclDevKernel_Broadcast root 5", "all_reduce 2882338817 3 4000 ncclDevKernel_AllReduce",
};

TEST_F(NcclPlugin, SeesEachCollective) {
    for (const char* const version : {"6", "5"}) {
        EXPECT_EQ(same_with_and_without("collectives", exited(3), {{"FAKE_NCCL_VERSION", version}}), "");
    }
    for (const timeline& data : captured(2)) {
        EXPECT_EQ(described(data), all_of_collectives);
        ASSERT_EQ(data.communicators.size(), 2U);
        EXPECT_EQ(data.communicators[0].name, "world");
        EXPECT_EQ(data.communicators[0].ranks, 8U);
        EXPECT_EQ(data.communicators[0].rank, 3U);
        EXPECT_EQ(data.communicators[0].nodes, 2U);
        EXPECT_EQ(data.communicators[1].name, "");
        ASSERT_FALSE(data.collectives.empty());
        const collective_call& first = data.collectives.front();
        EXPECT_EQ(first.algorithm, collective_algorithm::ring);
        EXPECT_EQ(first.protocol, collective_protocol::ll128);
        EXPECT_EQ(first.channels, 24);
        EXPECT_EQ(first.count, 1000U);
        EXPECT_EQ(first.type, collective_type::f32);
        EXPECT_TRUE(data.quality.dropped.empty());
        // Each kernel is another one, but for those of a group.
        std::vector<std::uint32_t> ops;
        for (const collective_call& each : data.collectives) ops.push_back(each.op);
        std::sort(ops.begin(), ops.end());
        EXPECT_EQ(std::unique(ops.begin(), ops.end()) - ops.begin(), 8);
    }
}

// Version 4 tells neither calls nor launches, and counts gathered and broadcast elements in bytes.
TEST_F(NcclPlugin, SeesEachCollectiveByVersion4) {
    EXPECT_EQ(same_with_and_without("collectives", exited(3), {{"FAKE_NCCL_VERSION", "4"}}), "");
    EXPECT_EQ(described(captured(1).front()), all_of_collectives);
}

// NCCL has the driver call it where others than the GPU take part.
TEST_F(NcclPlugin, SeesWhatIsToldOnAnotherThread) {
    EXPECT_EQ(same_with_and_without("elsewhere", exited(3)), "");
    EXPECT_EQ(described(captured(1).front()), all_of_collectives);
}

TEST_F(NcclPlugin, FindsTheKernelsOfCoalescedBroadcasts) {
    EXPECT_EQ(same_with_and_without("coalesced", exited(3)), "");
    EXPECT_THAT(described(captured(1).front()), ElementsAre("broadcast 7 - 64 ncclDevKernel_AllGatherV_RING_LL root 1",
                                                            "broadcast 7 - 64 ncclDevKernel_AllGatherV_RING_LL root 1",
                                                            "broadcast 7 - 64 ncclDevKernel_AllGatherV_RING_LL root 1",
                                                            "all_reduce 7 0 400 ncclDevKernel_AllReduce",
                                                            "all_reduce 7 1 404 ncclDevKernel_AllReduce"));
}

TEST_F(NcclPlugin, IsCalledInWindowsAlone) {
    EXPECT_EQ(same_with_and_without("windows", exited(3), {{"FAKE_NCCL_VERSION", "5"}}), "");
    const timeline data = captured(1).front();
    std::vector<std::uint64_t> sequences;
    for (const collective_call& each : data.collectives) sequences.push_back(each.sequence);
    EXPECT_THAT(sequences, ElementsAre(0, 1, 2, 3, 14, 15, 16, 17, 28, 29, 30, 31));
    for (const collective_call& each : data.collectives) EXPECT_NE(each.op, npos);
}

TEST_F(NcclPlugin, FindsTheReplaysOfCapturedCollectives) {
    EXPECT_EQ(same_with_and_without("graph", exited(3)), "");
    const timeline data = captured(1).front();
    EXPECT_THAT(described(data), ElementsAre("all_reduce 1 0 400 ncclDevKernel_AllReduce",
                                             "all_reduce 1 - 3200 ncclDevKernel_AllReduce in a graph",
                                             "all_reduce 1 1 400 ncclDevKernel_AllReduce"));
    ASSERT_EQ(data.collectives.size(), 3U);
    const std::uint32_t node = data.ops[data.collectives[1].op].graph_node;
    EXPECT_EQ(std::count_if(data.ops.begin(), data.ops.end(), [&](const gpu_op& op) { return op.graph_node == node; }),
              3);
}

TEST_F(NcclPlugin, SeesCollectivesByCopyEngines) {
    EXPECT_EQ(same_with_and_without("copies", exited(3)), "");
    const timeline data = captured(1).front();
    EXPECT_THAT(described(data),
                ElementsAre("all_reduce 1 0 400 ncclDevKernel_AllReduce", "all_gather 1 0 256 a copy",
                            "all_gather 1 1 256 a copy", "all_reduce 1 1 400 ncclDevKernel_AllReduce"));
}

TEST_F(NcclPlugin, SeesCommunicatorsOfSeveralThreads) {
    EXPECT_EQ(same_with_and_without("threads", exited(3)), "");
    const timeline data = captured(1).front();
    ASSERT_EQ(data.communicators.size(), 4U);
    EXPECT_EQ(data.collectives.size(), 800U);
    std::map<std::uint64_t, std::uint64_t> next;
    for (const collective_call& each : data.collectives) {
        ASSERT_NE(each.communicator, npos);
        const timeline_communicator& of = data.communicators[each.communicator];
        EXPECT_EQ(of.id, of.rank + 1U);
        EXPECT_EQ(each.sequence, next[of.id]++);
        EXPECT_NE(each.op, npos);
    }
}

TEST_F(NcclPlugin, MayBeClosedAndLoadedAgain) {
    EXPECT_EQ(same_with_and_without("again", exited(3)), "");
    EXPECT_EQ(captured(1).front().collectives.size(), 6U);
}

TEST_F(NcclPlugin, LeavesAForkedChildAlone) {
    EXPECT_EQ(same_with_and_without("fork_in_the_middle", exited(3)), "");
    std::size_t largest = 0;
    for (const std::string& path : scratch.files(".prof")) {
        largest = std::max(largest, load_timeline(path).collectives.size());
    }
    EXPECT_EQ(largest, 4U);
}

TEST_F(NcclPlugin, KeepsWhatCameBeforeTheEnd) {
    EXPECT_EQ(same_with_and_without("exit_in_the_middle", exited(3)), "");
    EXPECT_EQ(captured(1).front().collectives.size(), 5U);
}

TEST_F(NcclPlugin, KeepsWhatCameBeforeAKill) {
    EXPECT_EQ(same_with_and_without("killed", SIGKILL), "");
    const timeline data = captured(1).front();
    EXPECT_EQ(data.collectives.size(), 5U);
    ASSERT_EQ(data.communicators.size(), 1U);
    EXPECT_EQ(data.communicators.front().id, 0xBEEFU);
}

TEST_F(NcclPlugin, SurvivesCallsThatNcclDoesNotMake) {
    for (const char* const version : {"6", "5", "4"}) {
        EXPECT_EQ(same_with_and_without("garbage", exited(3), {{"FAKE_NCCL_VERSION", version}}), "");
    }
    EXPECT_EQ(captured(3).size(), 3U);
}

TEST_F(NcclPlugin, IsOffByAnOption) {
    EXPECT_EQ(same_with_and_without("plugin", exited(3), {{"PROF_NCCL", "off"}}), "");
    const timeline data = captured(1).front();
    EXPECT_TRUE(data.collectives.empty());
    EXPECT_TRUE(data.communicators.empty());
}

TEST_F(NcclPlugin, RespectsThatThereIsToBeNone) {
    EXPECT_EQ(same_with_and_without("plugin", exited(3), {{"NCCL_PROFILER_PLUGIN", "NONE"}}), "");
    const std::string file = scratch.path + "/nccl.conf";
    std::ofstream(file) << "# no plugin\nNCCL_DEBUG=WARN\n NCCL_PROFILER_PLUGIN = none\n";
    EXPECT_EQ(same_with_and_without("collectives", exited(3), {{"NCCL_CONF_FILE", file}}), "");
    const std::vector<timeline> all = captured(2);
    std::size_t said = 0;
    for (const timeline& data : all) {
        EXPECT_TRUE(data.collectives.empty());
        said += data.property("nccl_notice").empty() ? 0 : 1;
    }
    EXPECT_GE(said, 1U);
}

// The user's plugin gets exactly what it would get without libprof, whatever version it and NCCL have.
TEST_F(NcclPlugin, CallsThePluginThatTheUserNamed) {
    struct chain_case {
        const char* nccl;
        const char* plugin;
        const char* mask;
    };
    std::size_t cases = 0;
    for (const auto& [nccl, plugin, mask] :
         {chain_case{"6", PROF_TEST_TELLING_5, "2"}, chain_case{"5", PROF_TEST_TELLING_5, "2566"},
          chain_case{"5", PROF_TEST_TELLING_5, "0"}, chain_case{"5", PROF_TEST_TELLING_5, "2048"},
          chain_case{"4", PROF_TEST_TELLING_4, "3"}, chain_case{"5", PROF_TEST_TELLING_4, "2"}}) {
        SCOPED_TRACE(std::string(nccl) + " " + plugin + " " + mask);
        const std::string bare = scratch.path + "/bare" + std::to_string(cases);
        const std::string with = scratch.path + "/with" + std::to_string(cases);
        ++cases;
        environment e = with_log(plugin, mask);
        e["FAKE_NCCL_VERSION"] = nccl;
        e["TELLING_PLUGIN_LOG"] = bare;
        EXPECT_EQ(run("collectives", false, e).status, exited(3));
        e["TELLING_PLUGIN_LOG"] = with;
        const process_result profiled = run("collectives", true, e);
        EXPECT_EQ(profiled.status, exited(3));
        EXPECT_EQ(profiled.err, "");
        // By NCCL's own translation an earlier plugin has a later one's events.
        if (std::string_view(nccl) == "5" && std::string_view(plugin) == PROF_TEST_TELLING_4) {
            EXPECT_THAT(contents(with), testing::HasSubstr("AllReduce 1000 RING\n"));
        } else {
            EXPECT_EQ(contents(with), contents(bare));
            EXPECT_THAT(contents(with), testing::HasSubstr("end world\n"));
        }
    }
    for (const timeline& data : captured(cases)) {
        EXPECT_EQ(described(data), all_of_collectives);
        EXPECT_THAT(data.property("nccl_notice"), testing::HasSubstr("is called by libprof"));
    }
}

TEST_F(NcclPlugin, SaysThatAnOlderPluginIsNotCalled) {
    environment e = with_log(PROF_TEST_TELLING_3, "2");
    e["TELLING_PLUGIN_LOG"] = scratch.path + "/log";
    EXPECT_EQ(run("collectives", true, e).status, exited(3));
    const timeline data = captured(1).front();
    EXPECT_EQ(described(data), all_of_collectives);
    EXPECT_THAT(data.property("nccl_notice"), testing::HasSubstr("is not called, since it has no interface"));
}

// The real library needs a GPU for a communicator. It has the words of a version that libprof shows.
TEST_F(NcclPlugin, HasAnInterfaceThatTheRealNcclLooksFor) {
    const std::string nccl = contents(PROF_TEST_NCCL);
    if (nccl.empty()) GTEST_SKIP() << "no libnccl.so.2 beside the CUDA headers";
    EXPECT_THAT(nccl, testing::HasSubstr("NCCL_PROFILER_PLUGIN"));
    const std::string libprof = contents(PROF_TEST_LIBRARY);
    bool fits = false;
    for (const char* const table : {"ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6"}) {
        fits = fits || (nccl.find(table) != std::string::npos && libprof.find(table) != std::string::npos);
    }
    EXPECT_TRUE(fits);
}

// A process that inherits the environment and does not preload libprof: its plugin is the user's.
TEST_F(NcclPlugin, DoesNotHarmAProcessWithoutIt) {
    const process_result gone = run("collectives", false, {{"NCCL_PROFILER_PLUGIN", "/nowhere/libprof.so.0"}});
    EXPECT_EQ(gone.status, exited(3));
    EXPECT_EQ(gone.err, "");
}

}  // namespace
}  // namespace prof::test
