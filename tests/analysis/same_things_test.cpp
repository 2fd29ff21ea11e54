// SPDX-License-Identifier: Apache-2.0
// Rows of phases and of the program's own ranges that are the same thing (analysis/projection/same_things.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::same_things_test {
namespace {

using testing::ElementsAre;

// "path instances host self | gpu self", of the ranges.
std::vector<std::string> shown(const projection& of) {
    std::vector<std::string> lines;
    for (const projection_row& row : of.rows) {
        if (row.kind != row_kind::range) continue;
        lines.push_back(row.path + " " + std::to_string(row.instances) + " " + std::to_string(row.host_ns) + " " +
                        std::to_string(row.host_self_ns) + " | " + std::to_string(row.gpu_sum_ns) + " " +
                        std::to_string(row.gpu_self_ns));
    }
    return lines;
}

struct SameThings : testing::Test {
    capture_builder capture;
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    std::uint64_t launches = 0;

    // The kernel takes 7 ns.
    void launch(thread_script& on, std::int64_t ns) {
        on.launch(static_cast<std::uint64_t>(ns), ++launches);
        capture.kernel(launches, static_cast<std::uint64_t>(ns) + 1000, static_cast<std::uint64_t>(ns) + 1007);
    }
};

TEST_F(SameThings, ShareOneRowWithTheProgramsName) {
    auto& main = capture.thread("main");
    for (std::int64_t at = 0; at < 300; at += 100) {
        const auto t = [&](std::int64_t ns) { return static_cast<std::uint64_t>(at + ns); };
        main.push(t(0), "step", phases).push(t(1), "iteration " + std::to_string(at));
        main.push(t(2), "fwd").push(t(3), "forward", phases);
        launch(main, at + 10);
        main.pop(t(40), phases).pop(t(41));
        main.push(t(42), "backward", phases);
        main.pop(t(70), phases);
        main.push(t(71), "update").push(t(72), "optimizer", phases);
        launch(main, at + 80);
        main.pop(t(95), phases).pop(t(96)).pop(t(99)).pop(t(100), phases);
    }
    EXPECT_THAT(shown(project(capture.build())),
                ElementsAre("iteration # 3 300 24 | 42 0", "iteration #/fwd 3 117 117 | 21 21",
                            "iteration #/backward 3 84 84 | 0 0", "iteration #/update 3 75 75 | 21 21"));
}

// "loss" is no name for a forward, "data" takes half of it, and "all" is around a part of the step's phases only.
TEST_F(SameThings, AreNotThoseThatDifferInNameOrTime) {
    auto& main = capture.thread("main");
    for (std::int64_t at = 0; at < 300; at += 100) {
        const auto t = [&](std::int64_t ns) { return static_cast<std::uint64_t>(at + ns); };
        main.push(t(0), "step", phases).push(t(0), "data", phases).push(t(0), "data").pop(t(1)).pop(t(2), phases);
        main.push(t(2), "all").push(t(2), "loss").push(t(2), "forward", phases).pop(t(90), phases).pop(t(90));
        main.pop(t(100)).pop(t(100), phases);
    }
    EXPECT_THAT(
        shown(project(capture.build())),
        ElementsAre("step 3 300 0 | 0 0", "step/data 3 6 3 | 0 0", "step/data/data 3 3 3 | 0 0",
                    "step/all 3 294 30 | 0 0", "step/all/loss 3 264 0 | 0 0", "step/all/loss/forward 3 264 264 | 0 0"));
}

}  // namespace
}  // namespace prof::same_things_test
