// SPDX-License-Identifier: Apache-2.0
// What happens while a program's first range makes libprof start (first_range_victim.cpp). NVTX has whoever makes a
// range in that time wait for its end.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "session/bare_and_profiled.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

struct FirstRange : bare_and_profiled {
    using names = std::map<std::string, int>;

    // By capture.
    std::vector<names> ranges_of(const std::string& scene, std::size_t captures) const {
        const environment e = {{"LD_PRELOAD", PROF_TEST_IN_START ":" PROF_TEST_LIBRARY}};
        const process_result bare = run(scene, false);
        const process_result profiled = run(scene, true, e);
        EXPECT_EQ(bare.status, exited(3)) << bare.err;
        EXPECT_EQ(profiled.status, exited(3)) << profiled.err;
        EXPECT_EQ(profiled.out, bare.out);
        EXPECT_EQ(profiled.err, "");
        std::vector<names> out;
        for (const timeline& data : captured(captures)) {
            EXPECT_TRUE(data.quality.ended);
            EXPECT_TRUE(data.quality.dropped.empty());
            names& counts = out.emplace_back();
            for (const timeline_range& range : data.ranges) ++counts[std::string(data.name(range.name))];
        }
        return out;
    }
};

TEST_F(FirstRange, AllowsARangeInASignalHandler) {
    EXPECT_THAT(ranges_of("signal", 1), ElementsAre(ElementsAre(Pair("first", 1), Pair("later", 3))));
}

// The header keeps what it finds out about the tool at the first range of the process, and of each place in the source.
TEST_F(FirstRange, AllowsARangeOfTheHeaderInASignalHandler) {
    EXPECT_THAT(ranges_of("header-signal", 1), ElementsAre(ElementsAre(Pair("first", 1), Pair("later", 3))));
}

TEST_F(FirstRange, AllowsAForkWhileTheHeaderFindsTheTool) {
    EXPECT_THAT(ranges_of("header-fork", 2),
                UnorderedElementsAre(ElementsAre(Pair("child's", 1)), ElementsAre(Pair("first", 1), Pair("later", 3))));
}

TEST_F(FirstRange, AllowsAForkOnAnotherThread) {
    EXPECT_THAT(ranges_of("fork", 2),
                UnorderedElementsAre(ElementsAre(Pair("child's", 1)), ElementsAre(Pair("first", 1), Pair("later", 3))));
}

TEST_F(FirstRange, AllowsARangeOnAnotherThread) {
    EXPECT_THAT(ranges_of("thread", 1),
                ElementsAre(ElementsAre(Pair("first", 1), Pair("later", 3), Pair("other's", 1))));
}

}  // namespace
}  // namespace prof::test
