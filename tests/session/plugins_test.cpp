// SPDX-License-Identifier: Apache-2.0
// Shared objects that are closed, with names in them or with libprof: each scene of plugins_victim.cpp is run without
// libprof and with it.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

struct Plugins : bare_and_profiled {
    // The program loads `library` itself, if that is not empty, and `plugin` is its plugin A.
    void expect_same_without_preloading(const std::string& scene, const std::string& library,
                                        const std::string& plugin) const {
        const process_result bare = run(scene, false, {{"PLUGIN_A", PROF_TEST_PLUGIN_A}});
        const process_result profiled =
            run(scene, true, {{"LD_PRELOAD", ""}, {"DLOPENED", library}, {"PLUGIN_A", plugin}});
        EXPECT_EQ(bare.status, exited(3)) << bare.err;
        EXPECT_EQ(profiled.status, exited(3)) << profiled.err;
        EXPECT_EQ(profiled.out, bare.out);
        EXPECT_EQ(profiled.err, "");
    }
};

std::map<std::string, int> range_names(const timeline& data) {
    std::map<std::string, int> out;
    for (const auto& range : data.ranges) ++out[std::string(data.name(range.name))];
    return out;
}

std::map<std::string, int> kernel_names(const timeline& data) {
    std::map<std::string, int> out;
    for (const gpu_op& op : data.ops) ++out[std::string(data.kernel_symbol(op))];
    return out;
}

TEST_F(Plugins, KeepTheirNamesWhenClosed) {
    const environment both = {{"PLUGIN_A", PROF_TEST_PLUGIN_A}, {"PLUGIN_B", PROF_TEST_PLUGIN_B}};
    EXPECT_EQ(same_with_and_without("plugins", exited(3), both), "");
    const timeline data = captured(1).front();
    EXPECT_THAT(range_names(data), ElementsAre(Pair("plain of a", 10), Pair("plain of b", 10), Pair("site of a", 10),
                                               Pair("site of b", 10), Pair("text of a", 10), Pair("text of b", 10)));
    EXPECT_THAT(kernel_names(data), ElementsAre(Pair("kernel_of_a", 10), Pair("kernel_of_b", 10)));
    EXPECT_TRUE(data.quality.ended);
    EXPECT_TRUE(data.quality.dropped.empty());
}

// Sixteen that start NVTX at the same time: the first one starts the recording, and none finds it half started.
TEST_F(Plugins, MayMakeTheirFirstRangesConcurrently) {
    const environment e = {{"PLUGIN_A", PROF_TEST_PLUGIN_A},
                           {"LD_PRELOAD", PROF_TEST_SLOW_START ":" PROF_TEST_LIBRARY}};
    const process_result result = run("first_ranges_at_once", true, e);
    EXPECT_EQ(result.status, exited(3));
    EXPECT_EQ(result.err, "");
    const timeline data = captured(1).front();
    EXPECT_THAT(range_names(data), ElementsAre(Pair("plain of a", 16), Pair("site of a", 16), Pair("text of a", 16)));
    EXPECT_TRUE(data.quality.ended);
    EXPECT_TRUE(data.quality.dropped.empty());
}

// A launch gets its kernel's name in the callback, by the address of the symbol.
TEST_F(Plugins, MayReuseTheAddressesOfKernelSymbols) {
    EXPECT_EQ(same_with_and_without("symbols_at_one_place", exited(3)), "");
    const timeline data = captured(1).front();
    std::map<std::string, int> launched;
    for (const timeline_api_call& call : data.api_calls) {
        if (call.kernel_name != 0) ++launched[std::string(data.name(call.kernel_name))];
    }
    EXPECT_THAT(launched, ElementsAre(Pair("kernel_of_the_first", 3), Pair("kernel_of_the_other", 3)));
    EXPECT_EQ(data.property("device_launches_notice"), "");
}

// Dynamic parallelism: launches from kernels have no records, and the capture has a notice.
TEST_F(Plugins, AreReportedWhenTheirKernelsLaunchOthers) {
    EXPECT_EQ(same_with_and_without("kernels_that_launch", exited(3)), "");
    EXPECT_THAT(captured(1).front().property("device_launches_notice"), testing::HasSubstr("dynamic parallelism"));
}

TEST_F(Plugins, MayReuseTheAddressesOfNames) {
    EXPECT_EQ(same_with_and_without("names_at_one_place", exited(3)), "");
    EXPECT_THAT(range_names(captured(1).front()),
                ElementsAre(Pair("", 2), Pair("l", 2), Pair("long", 2), Pair("long nama", 2), Pair("long name", 4),
                            Pair("longer", 2), Pair("xxxxxxxxx", 2), Pair(std::string(100, 'x'), 2)));
}

// libprof stays: its hooks may be running.
TEST_F(Plugins, LeaveLibprofLoadedWhenItIsClosed) {
    for (const char* scene : {"closes_libprof", "closes_libprof_unused"}) {
        expect_same_without_preloading(scene, PROF_TEST_LIBRARY, "");
    }
    for (const timeline& data : captured(2)) {
        EXPECT_THAT(range_names(data), ElementsAre(Pair("step", 5)));
        EXPECT_THAT(kernel_names(data), ElementsAre(Pair("step_k", 5)));
        EXPECT_TRUE(data.quality.ended);
    }
}

// The program used NVTX before. What came first is lost, and the capture has a note about that.
TEST_F(Plugins, AreRecordedWhereNvtxWasUsedBeforeLibprof) {
    expect_same_without_preloading("ranges_before_libprof", PROF_TEST_LIBRARY, "");
    const timeline data = captured(1).front();
    EXPECT_THAT(range_names(data), ElementsAre(Pair("a new site", 1), Pair("a text", 1), Pair("after", 1)));
    EXPECT_THAT(kernel_names(data), ElementsAre(Pair("kernel_after", 1)));
    EXPECT_EQ(data.property("nvtx_notice"),
              "NVTX was used before libprof was loaded, in the program: its ranges are recorded from then on, but "
              "domains and registered names from before are not known, and a PROF_RANGE that was entered before is not "
              "recorded; load libprof before the first range (prof run, LD_PRELOAD, or link it)");
    EXPECT_TRUE(data.quality.ended);
}

// Where it came first there is nothing to note, whichever way it came.
TEST_F(Plugins, HaveNoNoteWhereLibprofCameFirst) {
    expect_same_without_preloading("closes_libprof", PROF_TEST_LIBRARY, "");
    expect_same_without_preloading("plugin_with_libprof", "", PROF_TEST_LINKED_PLUGIN);
    EXPECT_EQ(same_with_and_without("ranges_before_libprof", exited(3), {{"DLOPENED", ""}}), "");
    for (const timeline& data : captured(3)) EXPECT_EQ(data.property("nvtx_notice"), "");
}

TEST_F(Plugins, LeaveLibprofLoadedWhenLinkedToIt) {
    expect_same_without_preloading("plugin_with_libprof", "", PROF_TEST_LINKED_PLUGIN);
    const timeline data = captured(1).front();
    EXPECT_THAT(range_names(data),
                ElementsAre(Pair("plain of l", 1), Pair("site of l", 1), Pair("step", 5), Pair("text of l", 1)));
    EXPECT_THAT(kernel_names(data), ElementsAre(Pair("kernel_of_l", 1), Pair("step_k", 5)));
    EXPECT_TRUE(data.quality.ended);
}

}  // namespace
}  // namespace prof::test
