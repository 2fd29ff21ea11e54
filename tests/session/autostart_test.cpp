// SPDX-License-Identifier: Apache-2.0
// When a recording begins by itself: by the way in which libprof came into the process (autostart_victim.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/quality/capture_notes.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using names = std::set<std::string>;

struct Autostart : testing::Test, profiled_program {
    Autostart() : profiled_program(way_in::its_own, {{"PROF_CUPTI_LIBRARY", ""}, {"FAKE_GPU_CLOCK", ""}}) {}

    // The names of the ranges of each capture that the scene leaves.
    std::vector<names> captures(const std::string& scene, const environment& more = {}) {
        const process_result result = run({scene}, more);
        EXPECT_EQ(result.exit_code(), 3) << result.err;
        EXPECT_EQ(result.err, "");
        std::vector<names> out;
        timelines = all_captures();
        for (const timeline& data : timelines) {
            names& found = out.emplace_back();
            for (const timeline_range& range : data.ranges) found.emplace(data.name(range.name));
        }
        return out;
    }
    std::vector<timeline> timelines;
};

TEST_F(Autostart, NothingIsRecordedWhereTheProgramOnlyLinksIt) { EXPECT_THAT(captures("range"), IsEmpty()); }

TEST_F(Autostart, AProgramMayAskForIt) { EXPECT_THAT(captures("asks"), ElementsAre(names{"first"})); }

TEST_F(Autostart, AProgramMayAskForItAfterItsFirstRange) {
    EXPECT_THAT(captures("asks-late"), ElementsAre(names{"late"}));
}

TEST_F(Autostart, APreloadAsksForIt) {
    EXPECT_THAT(captures("range", {{"LD_PRELOAD", PROF_TEST_LIBRARY}}), ElementsAre(names{"first"}));
}

TEST_F(Autostart, AnInjectionAsksForIt) {
    EXPECT_THAT(captures("range", {{"NVTX_INJECTION64_PATH", PROF_TEST_LIBRARY}}), ElementsAre(names{"first"}));
}

TEST_F(Autostart, TheOptionDecidesBeforeAllElse) {
    EXPECT_THAT(captures("asks", {{"PROF_AUTOSTART", "0"}}), IsEmpty());
    EXPECT_THAT(captures("range", {{"PROF_AUTOSTART", "0"}, {"LD_PRELOAD", PROF_TEST_LIBRARY}}), IsEmpty());
    EXPECT_THAT(captures("range", {{"PROF_AUTOSTART", "1"}}), ElementsAre(names{"first"}));
}

TEST_F(Autostart, ASessionNeedsNone) { EXPECT_THAT(captures("session"), ElementsAre(names{"mine"})); }

// The session's recording is the program's own; the one before is complete, and says why it ended.
TEST_F(Autostart, ASessionEndsARecordingThatBeganByItself) {
    EXPECT_THAT(captures("asks-then-session"), UnorderedElementsAre(names{"first", "around"}, names{"mine"}));
    for (const timeline& data : timelines) {
        const bool is_first = data.name(data.ranges.front().name) == "first";
        const auto said = Contains(HasSubstr("the program's prof_start ended it"));
        EXPECT_THAT(texts_of(capture_notes(data), every_weight),
                    is_first ? testing::Matcher<const std::vector<std::string>&>(said) : Not(said));
    }
}

TEST_F(Autostart, ARecordingOfTheProgramsIsNotEnded) {
    EXPECT_THAT(captures("starts-twice"), ElementsAre(names{"first"}));
}

TEST_F(Autostart, ChildrenInheritIt) {
    EXPECT_THAT(captures("child"), IsEmpty());
    EXPECT_THAT(captures("asks-then-child"), ElementsAre(names{"first"}));
}

}  // namespace
}  // namespace prof::test
