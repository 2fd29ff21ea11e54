// SPDX-License-Identifier: Apache-2.0
// Ranges of a signal handler that has interrupted the allocator (allocator_signals_victim.cpp): libprof does not enter
// the allocator there. A thread's first range is recorded all the same. One that would begin a recording is not, and
// the next one outside of a handler begins it.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;
using names = std::map<std::string, int>;

struct AllocatorSignals : testing::Test {
    // By capture.
    std::vector<names> ranges_of(const std::string& scene) const {
        const profiled_program program(way_in::its_own, {{"FAKE_GPU_CLOCK", ""}});
        const process_result result = program.run({scene});
        EXPECT_EQ(result.status, 0);
        EXPECT_EQ(result.out, "done\n");
        EXPECT_EQ(result.err, "");
        std::vector<names> out;
        for (const timeline& data : program.all_captures()) {
            EXPECT_TRUE(data.quality.ended);
            names& counts = out.emplace_back();
            for (const timeline_range& range : data.ranges) ++counts[std::string(data.name(range.name))];
        }
        return out;
    }
};

TEST_F(AllocatorSignals, MayMakeTheFirstRangeOfAThread) {
    EXPECT_THAT(ranges_of("thread"),
                ElementsAre(UnorderedElementsAre(Pair("first", 1), Pair("in a handler", 1), Pair("later", 1))));
}

TEST_F(AllocatorSignals, BeginNoRecording) {
    EXPECT_THAT(ranges_of("process"), ElementsAre(ElementsAre(Pair("later", 1))));
}

TEST_F(AllocatorSignals, BeginNoRecordingOfAForkedChild) {
    EXPECT_THAT(ranges_of("child"), UnorderedElementsAre(ElementsAre(Pair("first", 1)), ElementsAre(Pair("later", 1))));
}

}  // namespace
}  // namespace prof::test
