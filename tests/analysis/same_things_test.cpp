// SPDX-License-Identifier: Apache-2.0
// Rows of phases and of the program's own ranges that are the same thing (analysis/projection/same_things.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/rows.hpp"
#include "analysis/selection/selected_part.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"
#include "support/sanitized.hpp"

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

// A wait in a range counts for every row around it, also for one that several ranges share: no row has less than what
// is directly inside it. Of the whole and of its steps, which cut the ranges at their borders.
void expect_parents_with_all_waits(const projection& of) {
    std::vector<std::int64_t> inside_ns(of.rows.size());
    std::int64_t outermost_ns = 0;
    for (const projection_row& row : of.rows) {
        (row.parent == npos ? outermost_ns : inside_ns[row.parent]) += row.wait_ns;
    }
    for (std::size_t i = 0; i < of.rows.size(); ++i) EXPECT_GE(of.rows[i].wait_ns, inside_ns[i]) << of.rows[i].path;
    EXPECT_EQ(outermost_ns, of.wait_ns);
}

TEST_F(SameThings, HaveTheWaitsOfAllThatIsInThem) {
    auto& main = capture.thread("main");
    for (std::int64_t at = 0; at < 600; at += 100) {
        const auto t = [&](std::int64_t ns) { return static_cast<std::uint64_t>(at + ns); };
        main.push(t(0), "step", phases).push(t(1), "iteration " + std::to_string(at));
        main.push(t(2), "fwd").push(t(3), "forward", phases).wait(t(10), t(30), ++launches);
        main.pop(t(40), phases).pop(t(41)).push(t(42), "backward", phases).pop(t(94), phases);
        main.wait(t(95), t(98), ++launches).pop(t(99)).pop(t(100), phases);
    }
    const timeline data = capture.build();
    const projection all = project(data);
    expect_parents_with_all_waits(all);
    EXPECT_EQ(row_at(all, "iteration #").wait_ns, 6 * 23);
    EXPECT_EQ(row_at(all, "iteration #/fwd").wait_ns, 6 * 20);
    const selected_part part(data, {}, {.steps = "1:4"});
    const projection of_part = project(part.data(), part.att());
    expect_parents_with_all_waits(of_part);
    EXPECT_EQ(row_at(of_part, "iteration #").wait_ns, 3 * 23);
}

TEST(SharedRows, HaveAllWaitsInRandomPrograms) {
    std::size_t shared = 0;
    for (std::uint32_t seed = 1; seed <= test::random_cases(300); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        capture_builder capture;
        const std::uint16_t phases = capture.domain(std::string(phase_domain));
        auto& main = capture.thread("main");
        std::uint64_t now = 0;
        std::uint64_t correlation = 0;
        const auto pass = [&] { return now += 1 + random() % 9; };
        const auto work = [&] {
            if (random() % 2 == 0) {
                const std::uint64_t begin = pass();
                main.wait(begin, now += random() % 50, ++correlation);
            }
            if (random() % 2 == 0) {
                main.launch(pass(), ++correlation);
                capture.kernel(correlation, now + 5, now + 9);
            }
        };
        const bool around_steps = random() % 2 == 0;  // the program's range, or inside of them
        const bool names_phases = random() % 2 == 0;
        for (int i = 0; i < 5; ++i) {
            const std::string iteration = "iteration " + std::to_string(i);
            if (around_steps)
                main.push(now, iteration).push(now, "step", phases);
            else
                main.push(now, "step", phases).push(now, iteration);
            work();
            for (const char* const phase : {"forward", "backward", "optimizer"}) {
                if (names_phases) main.push(now, phase);
                main.push(now, phase, phases);
                work();
                if (random() % 2 == 0) {
                    main.push(pass(), "own");
                    work();
                    main.pop(pass());
                }
                now += 100;
                main.pop(now, phases);
                if (names_phases) main.pop(now);
                work();
            }
            if (around_steps)
                main.pop(now, phases).pop(now);
            else
                main.pop(now).pop(now, phases);
        }
        const timeline data = capture.build();
        const projection all = project(data);
        expect_parents_with_all_waits(all);
        shared += all.rows.front().path == "iteration #" ? 1 : 0;
        const selected_part part(data, {}, {.steps = "1:3"});
        expect_parents_with_all_waits(project(part.data(), part.att()));
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(shared, 10U);
}

}  // namespace
}  // namespace prof::same_things_test
