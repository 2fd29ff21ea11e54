// SPDX-License-Identifier: Apache-2.0
// Phases "step" among a program's own ranges for its iterations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::phase_walk_test {
namespace {

using testing::ElementsAre;

// "parent > name [start, end)", for each range in order.
std::vector<std::string> shown(const timeline& data) {
    std::vector<std::string> lines;
    for (const timeline_range& range : data.ranges) {
        std::string line;
        if (range.parent != npos) line += std::string{data.name(data.ranges[range.parent].name)} + " > ";
        line += std::string{data.name(range.name)};
        lines.push_back(line + " [" + std::to_string(range.start_ns) + ", " + std::to_string(range.end_ns) + ")");
        const std::uint32_t depth = range.parent == npos ? 0 : data.ranges[range.parent].depth + 1;
        EXPECT_EQ(range.depth, depth) << lines.back();
    }
    return lines;
}

// Names of the ranges for which the call counts, innermost first.
std::vector<std::string> open_at(const timeline& data, std::size_t call) {
    std::vector<std::string> names;
    for (std::uint32_t node = data.api_calls[call].open; node != npos; node = data.open_nodes[node].below) {
        names.emplace_back(data.name(data.ranges[data.open_nodes[node].range].name));
    }
    return names;
}

struct PhaseWalk : testing::Test {
    capture_builder capture;
    std::uint16_t phases = capture.domain(std::string(phase_domain));
};

// Each step is observed at the forward, and belongs to the iteration that the program has begun before. What was
// launched before the forward counts for it, too.
TEST_F(PhaseWalk, StepsBeginWithTheProgramsIterations) {
    auto& main = capture.thread("main");
    main.push(1, "startup", phases);
    main.push(10, "iteration 0").launch(11, 1).push(12, "forward").pop(13, phases).push(13, "step", phases);
    main.push(14, "forward", phases).launch(15, 2).pop(16, phases).pop(17).launch(18, 3).pop(19);
    main.push(20, "iteration 1").launch(21, 4).push(22, "forward").pop(23, phases).push(23, "step", phases);
    main.push(24, "forward", phases).launch(25, 5).pop(26, phases).pop(27).pop(29).pop(30, phases);
    const timeline data = capture.build();

    EXPECT_THAT(shown(data), ElementsAre("startup [1, 10)", "step [10, 20)", "step > iteration 0 [10, 19)",
                                         "iteration 0 > forward [12, 17)", "forward > forward [14, 16)",
                                         "step [20, 30)", "step > iteration 1 [20, 29)",
                                         "iteration 1 > forward [22, 27)", "forward > forward [24, 26)"));
    EXPECT_THAT(open_at(data, 0), ElementsAre("iteration 0", "step"));
    EXPECT_THAT(open_at(data, 1), ElementsAre("forward", "forward", "iteration 0", "step"));
    EXPECT_THAT(open_at(data, 2), testing::UnorderedElementsAre("iteration 0", "step"));
    EXPECT_THAT(open_at(data, 3), ElementsAre("iteration 1", "step"));
    EXPECT_THAT(open_at(data, 4), ElementsAre("forward", "forward", "iteration 1", "step"));
}

// A range around the loop encloses the steps: the first one ends before it does.
TEST_F(PhaseWalk, StepsAreInsideARangeAroundTheLoop) {
    auto& main = capture.thread("main");
    main.push(1, "epoch").push(2, "step", phases).push(3, "forward", phases).pop(4, phases).pop(5, phases);
    main.push(5, "step", phases).push(6, "forward", phases).pop(7, phases).pop(8).pop(9, phases);
    EXPECT_THAT(shown(capture.build()), ElementsAre("epoch [1, 8)", "epoch > step [2, 5)", "step > forward [3, 4)",
                                                    "epoch > step [5, 9)", "step > forward [6, 7)"));
}

// A range that was open during a part of the previous step's work does not move this step's beginning there.
TEST_F(PhaseWalk, StepsDoNotTakeThePreviousOnesWork) {
    auto& main = capture.thread("main");
    main.push(1, "step", phases).push(2, "forward", phases).pop(3, phases).push(4, "turn");
    main.push(5, "optimizer", phases).pop(6, phases).pop(7, phases).push(7, "step", phases);
    main.push(8, "forward", phases).pop(9, phases).pop(10).pop(11, phases);
    const timeline data = capture.build();
    EXPECT_EQ(data.ranges[0].end_ns, 7);
    EXPECT_THAT(shown(data), testing::Contains("step [7, 11)"));
}

// What the timeline has of a program that has ended by itself.
timeline ended(const capture_builder& capture, const char* plan = "") {
    capture_contents contents = capture.contents();
    contents.end.reason = format::end_reason::exited;
    contents.properties["plan"] = plan;
    return build_timeline(std::move(contents));
}

// Steps begin at 10 and 20; each has its loss read and its metrics after the phase. The loop ends at 29. What follows
// is no part of the last step, which nothing ends.
void fill_last_step(capture_builder& capture, std::uint16_t phases) {
    thread_script& main = capture.thread("python");
    main.push(5, "epoch");
    for (std::uint64_t at : {10U, 20U}) {
        if (at != 10) main.pop(at, phases);
        main.push(at, "step", phases).push(at + 1, "forward", phases).launch(at + 2, at + 2).pop(at + 3, phases);
        main.wait(at + 4, at + 5, at + 4);
        main.push(at + 6, "metrics").launch(at + 7, at + 7).pop(at + 8);
    }
    main.pop(31).launch(32, 32).push(33, "ncclCommDestroy").push(34, "inner").launch(35, 35).pop(36).pop(90);
    main.push(91, "save");
    for (const std::uint64_t of : {12U, 17U, 22U, 27U, 32U, 35U}) capture.kernel(of, 100 + of, 101 + of);
}

TEST_F(PhaseWalk, TheLastStepEndsWithItsWork) {
    fill_last_step(capture, phases);
    const timeline data = ended(capture);
    EXPECT_THAT(shown(data), ElementsAre("epoch [5, 31)", "epoch > step [10, 20)", "step > forward [11, 13)",
                                         "step > metrics [16, 18)", "epoch > step [20, 28)", "step > forward [21, 23)",
                                         "step > metrics [26, 28)", "ncclCommDestroy [33, 90)",
                                         "ncclCommDestroy > inner [34, 36)", "save [91, 136)"));
    EXPECT_FALSE(data.ranges[4].open_at_end);
    EXPECT_THAT(open_at(data, 4), ElementsAre("step", "epoch"));  // the wait
    EXPECT_THAT(open_at(data, 5), ElementsAre("metrics", "step", "epoch"));
    EXPECT_THAT(open_at(data, 6), ElementsAre());
    EXPECT_THAT(open_at(data, 7), ElementsAre("inner", "ncclCommDestroy"));
    EXPECT_EQ(data.api_calls[6].open_on_thread, npos);
}

// A step goes on after its last phase for as long as the others do, by their median: 7 here, from 23 to before 30.
TEST_F(PhaseWalk, TheLastStepHasTheUsualTimeAfterItsLastPhase) {
    thread_script& main = capture.thread("python");
    main.push(10, "step", phases).push(11, "forward", phases).launch(12, 12).pop(13, phases).pop(20, phases);
    main.push(20, "step", phases).push(21, "forward", phases).launch(22, 22).pop(23, phases);
    main.launch(29, 29).launch(30, 30);
    EXPECT_THAT(shown(ended(capture)), testing::Contains("step [20, 30)"));
}

// Where the program has not ended by itself, or recorded by a plan, the step may be in the middle of its work.
TEST_F(PhaseWalk, AStepThatIsCutIsLeftAsItIs) {
    fill_last_step(capture, phases);
    for (const format::end_reason reason : {format::end_reason::none, format::end_reason::stopped,
                                            format::end_reason::died, format::end_reason::dumped}) {
        capture_contents contents = capture.contents();
        contents.end.reason = reason;
        EXPECT_THAT(shown(build_timeline(std::move(contents))), testing::Contains("epoch > step [20, 136)"));
    }
    EXPECT_THAT(shown(ended(capture, "schedule wait=1,active=2")), testing::Contains("epoch > step [20, 136)"));
}

// The loop's own range is open until the end: what follows its last phase is part of it.
TEST_F(PhaseWalk, ALastStepWithAnOpenPartGoesOn) {
    thread_script& main = capture.thread("python");
    main.push(10, "step", phases).push(11, "turn 1").push(12, "forward", phases).launch(13, 13).pop(14, phases);
    capture.kernel(13, 20, 21);
    EXPECT_THAT(shown(ended(capture)), testing::Contains("step [10, 21)"));
}

// What another thread does has nothing to do with it, and a step without a phase is not cut.
TEST_F(PhaseWalk, OnlyTheThreadOfTheStepsCounts) {
    capture.thread("python").push(10, "step", phases).push(11, "forward", phases).launch(12, 12).pop(14, phases);
    capture.thread("other").launch(13, 13).launch(90, 90);
    capture.kernel(12, 20, 21);
    EXPECT_THAT(shown(ended(capture)), ElementsAre("step [10, 14)", "step > forward [11, 14)"));

    capture_builder another;
    another.thread("python").push(10, "step", another.domain(std::string(phase_domain))).launch(12, 12);
    another.kernel(12, 20, 21);
    EXPECT_THAT(shown(ended(another)), ElementsAre("step [10, 21)"));
}

}  // namespace
}  // namespace prof::phase_walk_test
