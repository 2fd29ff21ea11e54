// SPDX-License-Identifier: Apache-2.0
// Ranges of a signal handler that has interrupted the allocator (allocator_signals_victim.cpp): libprof does not enter
// the allocator there. A thread's first range is recorded all the same. One that would begin a recording is not, and
// the next one outside of a handler begins it.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "support/run_process.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;
using names = std::map<std::string, int>;

struct AllocatorSignals : testing::Test {
    // By capture.
    std::vector<names> ranges_of(const std::string& scene) const {
        const scratch_directory scratch;
        const process_result result = run_process({PROF_TEST_VICTIM, scene},
                                                  {{"PROF_OUTPUT_DIR", scratch.path},
                                                   {"PROF_RINGS", scratch.path},
                                                   {"PROF_EXPORT", "none"},
                                                   {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                                   {"LD_PRELOAD", ""},
                                                   {"CUDA_INJECTION64_PATH", ""},
                                                   {"NVTX_INJECTION64_PATH", ""}},
                                                  scratch.path);
        EXPECT_EQ(result.status, 0);
        EXPECT_EQ(result.out, "done\n");
        EXPECT_EQ(result.err, "");
        std::vector<names> out;
        for (const std::string& path : scratch.files(".prof")) {
            const timeline data = load_timeline(path);
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
