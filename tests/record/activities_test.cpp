// SPDX-License-Identifier: Apache-2.0
#include "record/activities.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace prof::activities_test {
namespace {

activity_set set_of(std::initializer_list<activity> wanted) {
    activity_set out;
    for (const activity a : wanted) out.add(a);
    return out;
}

activity_set parsed(std::string_view list) {
    activity_set out;
    EXPECT_TRUE(parse_activities(list, out)) << list;
    return out;
}

TEST(Activities, AddLaunchesForGpuWork) {
    using enum activity;
    EXPECT_EQ(parsed("kernels"), set_of({kernels, launches}));
    EXPECT_EQ(parsed("sets,waits"), set_of({sets, launches, waits}));
    EXPECT_EQ(parsed("waits,allocations"), set_of({waits, allocations}));
    EXPECT_EQ(parsed("kernels,graph_nodes,kernels"), set_of({kernels, launches, graph_nodes}));
    EXPECT_EQ(parsed("copies,no_launches"), set_of({copies}));
    EXPECT_EQ(parsed("no_launches,copies,waits"), set_of({copies, waits}));
    EXPECT_EQ(parsed("all"), set_of({kernels, copies, sets, launches, waits, allocations, graph_nodes}));
    EXPECT_EQ(parsed("all"), activity_set::all());
    EXPECT_EQ(parsed("all,no_launches"), set_of({kernels, copies, sets, waits, allocations}));
    EXPECT_TRUE(parsed("none").is_empty());
}

TEST(Activities, RefuseInvalidLists) {
    for (const std::string_view list :
         {"", ",", "kernels,", ",kernels", "kernel", "Kernels", "kernels, copies", "launches", "kernels,launches",
          "none,kernels", "kernels,none", "no_launches", "waits,no_launches", "graph_nodes", "graph_nodes,waits",
          "kernels,graph_nodes,no_launches"}) {
        activity_set out = set_of({activity::sets});
        EXPECT_FALSE(parse_activities(list, out)) << list;
        EXPECT_EQ(out, set_of({activity::sets})) << list;
    }
}

TEST(Activities, NameWhatIsLeftOut) {
    EXPECT_EQ(activities_left_out(activity_set::all()), "");
    EXPECT_EQ(activities_left_out(parsed("kernels,sets,waits")), "copies, allocations, graph_nodes");
    EXPECT_EQ(activities_left_out({}), "kernels, copies, sets, launches, waits, allocations, graph_nodes");
    for (const std::string_view name : activity_names) {
        if (name == "launches") continue;
        EXPECT_NE(accepted_activities.find(name), std::string_view::npos) << name;
    }
}

}  // namespace
}  // namespace prof::activities_test
