// SPDX-License-Identifier: Apache-2.0
// The line that tells which steps were recorded.
#include "analysis/quality/capture_notes.hpp"

#include <gtest/gtest.h>

#include "support/capture_builder.hpp"

namespace prof::capture_notes_test {
namespace {

struct WindowsLine : testing::Test {
    capture_builder capture;

    void mark_step(thread_script& on, std::uint64_t ns, std::uint64_t number) {
        on.add({.ticks = ns,
                .value = number,
                .name = capture.name("step"),
                .domain = capture.domain("prof"),
                .kind = record_kind::mark,
                .flags = static_cast<std::uint8_t>(payload_type::u64)});
    }

    // Steps 3 and 4 in [100, 300), and from 1000 on step 8 and, if it came to them, the next ones.
    std::string line(std::uint64_t last_begun, const format::window_entry& second) {
        capture.parts().properties["plan"] = "schedule wait=3,active=2";
        capture.parts().windows[1] = {
            .epoch = 1, .begin_ticks = 100, .end_ticks = 300, .first_step = 3, .last_step = 4, .ends_with_step = 1};
        capture.parts().windows[2] = second;
        thread_script& main = capture.thread("main");
        mark_step(main, 100, 3);
        mark_step(main, 200, 4);
        main.add({.ticks = 1000, .value = 2, .kind = record_kind::window});
        for (std::uint64_t step = 8; step <= last_begun; ++step) mark_step(main, 1000 + 10 * step, step);
        return windows_line(capture.build());
    }
};

TEST_F(WindowsLine, ListsTheStepsOfEachWindow) {
    capture.parts().properties["steps"] = "12";
    EXPECT_EQ(
        line(
            9,
            {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1200, .first_step = 8, .last_step = 9, .ends_with_step = 1}),
        "recorded 4 of 12 steps, in 2 windows: steps 3 to 4, 8 to 9");
}

TEST_F(WindowsLine, LeavesOutAStepCutByTheProgramsEnd) {
    capture.parts().properties["steps"] = "9";  // prof_step was called nine times, and step 9 has nothing
    EXPECT_EQ(line(9, {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1200, .first_step = 8, .last_step = 9}),
              "recorded 3 of 9 steps, in 2 windows: steps 3 to 4, 8");
}

TEST_F(WindowsLine, HasALowerBoundOfStepsForADeadProcess) {
    capture.parts().end.reason = format::end_reason::died;
    EXPECT_EQ(
        line(
            9,
            {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1200, .first_step = 8, .last_step = 9, .ends_with_step = 1}),
        "recorded 4 of at least 10 steps, in 2 windows: steps 3 to 4, 8 to 9");
}

// As capture ranges have them, which do not end where steps do.
TEST_F(WindowsLine, CountsAStepOfTwoWindowsOnce) {
    capture.parts().properties["steps"] = "12";
    EXPECT_EQ(line(7, {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1200, .first_step = 4, .last_step = 6}),
              "recorded 4 of 12 steps, in 2 windows: steps 3 to 4, 4 to 6");
}

// Killed in its second window, in step 11: steps 8 to 10 are whole.
TEST_F(WindowsLine, ListsTheWholeStepsOfAWindowCutByADeath) {
    capture.parts().end.reason = format::end_reason::died;
    EXPECT_EQ(line(11, {.epoch = 2, .begin_ticks = 1000, .first_step = 8}),
              "recorded 5 of at least 11 steps, in 2 windows: steps 3 to 4, 8 to 10");
}

}  // namespace
}  // namespace prof::capture_notes_test
