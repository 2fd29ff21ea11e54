// SPDX-License-Identifier: Apache-2.0
// Phases "step" among a program's own ranges for its iterations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
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

}  // namespace
}  // namespace prof::phase_walk_test
