// SPDX-License-Identifier: Apache-2.0
// Children that are forked while their parent records: each has a capture of its own, from its first range on. Scenes
// of forked_victim.cpp, each run without libprof and with it.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capture/recovery/seal.hpp"
#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using range_counts = std::map<std::string, int>;

range_counts ranges_of(const timeline& data) {
    range_counts out;
    for (const timeline_range& r : data.ranges) ++out[std::string(data.name(r.name))];
    return out;
}

bool is_childs(const timeline& data) { return data.properties.contains("forked_from"); }

struct ForkedChildren : bare_and_profiled {
    // Of all captures, the parent's first. Each is whole.
    std::vector<timeline> all(std::size_t count) const {
        std::vector<timeline> out = captured(count);
        std::stable_partition(out.begin(), out.end(), [](const timeline& data) { return !is_childs(data); });
        return out;
    }
    static void expect_whole(const std::vector<timeline>& captures) {
        for (const timeline& data : captures) {
            EXPECT_TRUE(data.quality.ended || data.quality.died);
            EXPECT_THAT(data.quality.dropped, IsEmpty());
        }
    }
    std::vector<range_counts> recorded(std::size_t count) const {
        const std::vector<timeline> captures = all(count);
        expect_whole(captures);
        std::vector<range_counts> out;
        for (const timeline& data : captures) out.push_back(ranges_of(data));
        return out;
    }
    // Rings that processes have left.
    std::size_t rings() const { return scratch.files(".rings").size(); }
};

TEST_F(ForkedChildren, MayUseTheirParentsHandles) {
    EXPECT_EQ(same_with_and_without("handles", exited(3)), "");
    const std::vector<timeline> captures = all(2);
    expect_whole(captures);
    EXPECT_THAT(ranges_of(captures[0]), ElementsAre(Pair("fetch", 2)));
    EXPECT_THAT(ranges_of(captures[1]), ElementsAre(Pair("decode", 1), Pair("fetch", 2)));
    std::map<std::string, int> domains;
    for (const timeline_range& r : captures[1].ranges) {
        const std::string& domain = captures[1].domains[r.domain].name;
        ++domains[domain];
        if (domain != "loader") continue;
        EXPECT_EQ(captures[1].name(captures[1].category_names.at((std::uint64_t{r.domain} << 32) | r.category)),
                  "disk");
    }
    EXPECT_THAT(domains, ElementsAre(Pair("", 1), Pair("child's", 1), Pair("loader", 1)));
    EXPECT_EQ(captures[1].properties.at("forked_from"), captures[0].properties.at("pid"));
    EXPECT_EQ(captures[1].properties.at("name"), captures[0].properties.at("name"));
}

TEST_F(ForkedChildren, MayEndTheirParentsRanges) {
    EXPECT_EQ(same_with_and_without("open_ranges", exited(3)), "");
    const std::vector<timeline> captures = all(3);  // the first child made none
    EXPECT_THAT(ranges_of(captures[0]), ElementsAre(Pair("inner", 1), Pair("outer", 1), Pair("process-wide", 1)));
    EXPECT_THAT(captures[0].quality.dropped, IsEmpty());
    std::vector<std::uint64_t> wrong_pops;
    for (std::size_t i : {1U, 2U}) {
        EXPECT_TRUE(captures[i].quality.ended);
        const auto& dropped = captures[i].quality.dropped;
        wrong_pops.push_back(dropped.empty() ? 0 : dropped.at("pop_without_push"));
        for (const auto& [name, count] : ranges_of(captures[i])) EXPECT_EQ(name, "child's");
    }
    EXPECT_THAT(wrong_pops, UnorderedElementsAre(0U, 1U));
}

TEST_F(ForkedChildren, LeaveNoCaptureWithoutARange) {
    EXPECT_EQ(same_with_and_without("silent_child", exited(3)), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 1}}));
}

TEST_F(ForkedChildren, MayAnnotateByLibprofsOwnFunctions) {
    EXPECT_EQ(same_with_and_without("annotations", exited(3)), "");
    const std::vector<timeline> captures = all(1 + 9);
    expect_whole(captures);
    std::vector<std::string> recorded;
    for (const timeline& data : captures) {
        for (const auto& [name, count] : ranges_of(data)) recorded.push_back(name);
        for (const timeline_mark& each : data.marks) recorded.emplace_back(data.name(each.name));
    }
    EXPECT_THAT(recorded, UnorderedElementsAre("parent's", "pushed", "begun", "forward", "marked", "counted",
                                               "on a thread", "named", "of a thread's child", "grandchild's"));
}

TEST_F(ForkedChildren, MayEndTheirParentsAnnotations) {
    EXPECT_EQ(same_with_and_without("open_annotations", exited(3)), "");
    const std::vector<timeline> captures = all(3);
    expect_whole(captures);
    EXPECT_THAT(ranges_of(captures[0]), ElementsAre(Pair("forward", 1), Pair("outer", 1), Pair("process-wide", 1)));
    EXPECT_THAT(ranges_of(captures[1]), ElementsAre(Pair("child's", 1)));
    EXPECT_THAT(ranges_of(captures[2]), ElementsAre(Pair("child's", 1)));
}

TEST_F(ForkedChildren, MayRecordWhereTheirParentHasNotYet) {
    EXPECT_EQ(same_with_and_without("before_the_first_record", exited(3), {{"PROF_AUTOSTART", "0"}}), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"child's", 1}}));
}

TEST_F(ForkedChildren, MayForkThemselves) {
    EXPECT_EQ(same_with_and_without("grandchildren", exited(3)), "");
    EXPECT_THAT(recorded(3), UnorderedElementsAre(range_counts{{"parent's", 1}}, range_counts{{"child's", 2}},
                                                  range_counts{{"late", 1}, {"of the third generation", 3}}));
}

TEST_F(ForkedChildren, MayHaveThreads) {
    EXPECT_EQ(same_with_and_without("several_threads", exited(3)), "");
    EXPECT_THAT(recorded(2), ElementsAre(range_counts{{"parent's", 1}}, range_counts{{"thread's", 500}}));
}

// Rings have names only under `prof run`, which seals the captures afterwards.
TEST_F(ForkedChildren, MayEndWithoutExit) {
    EXPECT_EQ(same_with_and_without("ends_in_other_ways", exited(3)), "");
    EXPECT_EQ(rings(), 0U);
    std::size_t without_end = 0;
    for (const timeline& data : all(1 + 4 + 2)) without_end += data.quality.ended ? 0 : 1;
    EXPECT_EQ(without_end, 4U);
}

TEST_F(ForkedChildren, LoseNothingWhenSealed) {
    EXPECT_EQ(same_with_and_without("ends_in_other_ways", exited(3), {{"PROF_RUN_ID", "run"}}), "");
    EXPECT_EQ(rings(), 4U);
    for (const std::string& path : scratch.files(".prof"))
        EXPECT_NE(seal_capture(path, 0).result, seal_result::is_running);
    EXPECT_EQ(rings(), 0U);
    EXPECT_THAT(recorded(7), UnorderedElementsAre(range_counts{{"parent's", 3}}, range_counts{{"child's", 10}},
                                                  range_counts{{"child's", 10}}, range_counts{{"child's", 10}},
                                                  range_counts{{"child's", 10}}, range_counts{{"another program's", 1}},
                                                  range_counts{{"another program's", 1}}));
}

TEST_F(ForkedChildren, InheritTheirParentsSettings) {
    EXPECT_EQ(same_with_and_without("by_settings", exited(3), {{"PROF_AUTOSTART", "0"}, {"PROF_RUN_ID", "run"}}), "");
    const std::vector<timeline> captures = all(2);
    expect_whole(captures);
    EXPECT_THAT(ranges_of(captures[1]), ElementsAre(Pair("child's", 3)));
    for (const timeline& data : captures) {
        EXPECT_EQ(data.properties.at("name"), "told");
        EXPECT_EQ(data.properties.at("rank"), "5");
        EXPECT_EQ(data.properties.at("run_id"), "run");
    }
}

TEST_F(ForkedChildren, IgnoreTheirParentsWindows) {
    EXPECT_EQ(same_with_and_without("in_a_plan", exited(3), {{"PROF_SCHEDULE", "wait=2,active=1"}}), "");
    EXPECT_THAT(recorded(3), UnorderedElementsAre(range_counts{{"parent's", 2}}, range_counts{{"child's", 3}},
                                                  range_counts{{"child's", 3}}));
    std::filesystem::remove_all(scratch.path + "/captures");
    EXPECT_EQ(same_with_and_without("in_a_plan", exited(3), {{"PROF_SCHEDULE", "wait=2,active=1,repeat=1"}}), "");
    EXPECT_THAT(recorded(2), ElementsAre(range_counts{{"parent's", 1}}, range_counts{{"child's", 3}}))
        << "after the last window nothing is recorded any more";
}

TEST_F(ForkedChildren, ArePausedIfTheirParentIs) {
    EXPECT_EQ(same_with_and_without("while_paused", exited(3)), "");
    EXPECT_THAT(recorded(3), UnorderedElementsAre(range_counts{{"parent's", 1}}, range_counts{{"child's", 2}},
                                                  range_counts{{"child's", 3}}));
}

TEST_F(ForkedChildren, MayStopAndStart) {
    EXPECT_EQ(same_with_and_without("own_recordings", exited(3), {{"PROF_RUN_ID", "run"}}), "");
    EXPECT_THAT(recorded(4), UnorderedElementsAre(range_counts{{"parent's", 2}}, range_counts{{"child's", 2}},
                                                  range_counts{{"child's", 3}}, range_counts{{"restarted", 4}}));
    for (const timeline& data : all(4)) EXPECT_EQ(data.windows.size(), 1U);
    EXPECT_EQ(rings(), 0U) << "a child that has stopped leaves none";
}

TEST_F(ForkedChildren, AreLeftOutOnRequest) {
    EXPECT_EQ(same_with_and_without("several_threads", exited(3), {{"PROF_FORKED_CHILDREN", "0"}}), "");
    EXPECT_THAT(recorded(1), ElementsAre(range_counts{{"parent's", 1}}));
}

TEST_F(ForkedChildren, MayUseTheGpuIfTheirParentHasNot) {
    EXPECT_EQ(same_with_and_without("gpu_in_the_child", exited(3)), "");
    const std::vector<timeline> captures = all(2);
    expect_whole(captures);
    EXPECT_EQ(captures[1].ops.size(), 3U * 2);
    EXPECT_EQ(captures[1].quality.launches_without_completion, 0U);
}

TEST_F(ForkedChildren, LeaveCuptiToTheirParent) {
    EXPECT_EQ(same_with_and_without("gpu_in_the_parent", exited(3)), "");
    const std::vector<timeline> captures = all(2);
    expect_whole(captures);
    EXPECT_EQ(captures[0].ops.size(), 2U * 2);
    EXPECT_THAT(ranges_of(captures[1]), ElementsAre(Pair("child's", 1)));
    EXPECT_TRUE(captures[1].ops.empty());
    EXPECT_TRUE(captures[1].api_calls.empty());
}

// Some of the killed children leave rings, up to a limit.
TEST_F(ForkedChildren, LeaveABoundedNumberOfRings) {
    constexpr std::size_t most_rings = 64;
    const char* const wanted = std::getenv("PROF_FORKED_CHILDREN_COUNT");
    for (const std::string run_id : {"", "run"}) {
        const std::size_t drawn = run_id.empty() ? 40 : 2 * most_rings + 8;
        const std::size_t count = wanted == nullptr ? drawn : std::strtoul(wanted, nullptr, 10);
        std::filesystem::remove_all(scratch.path + "/captures");
        const process_result result = run_process({PROF_TEST_VICTIM, "many", std::to_string(count)},
                                                  {{"PROF_OUTPUT_DIR", scratch.path + "/captures"},
                                                   {"PROF_RINGS", scratch.path},
                                                   {"PROF_EXPORT", "none"},
                                                   {"PROF_RUN_ID", run_id},
                                                   {"LD_PRELOAD", PROF_TEST_LIBRARY}},
                                                  scratch.path);
        EXPECT_EQ(result.status, exited(3)) << result.err;
        EXPECT_EQ(result.out, std::to_string(count) + " children ended as they wanted\ndone\n");
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(rings(), run_id.empty() ? 0 : std::min(most_rings, count / 2));
        std::size_t whole = 0;
        for (const timeline& data : captured(1 + count)) {
            if (!is_childs(data) || !data.quality.ended) continue;
            EXPECT_THAT(ranges_of(data), ElementsAre(Pair("child's", 2)));
            ++whole;
        }
        EXPECT_EQ(whole, count / 2);
    }
}

}  // namespace
}  // namespace prof::test
