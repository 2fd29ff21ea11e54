// SPDX-License-Identifier: Apache-2.0
#include "report/tables/step_estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "analysis/steps/captured_steps.hpp"
#include "analysis/tables.hpp"
#include "report/makers.hpp"
#include "support/capture_builder.hpp"

namespace prof::step_estimate_test {
namespace {

using testing::ElementsAre;

// Of a run of 42 steps, 0 to 41, the windows [100, 300) and [1000, 1100), with steps 5 and 6, and step 30. Of the steps
// one was drawn from 1 to 20 and, as far as the capture says, one from 21 to 60, of which 21 came.
struct StepEstimate : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");

    record step(std::uint64_t ns, std::uint64_t number) {
        return {.ticks = ns,
                .value = number,
                .name = capture.name("step"),
                .domain = own,
                .kind = record_kind::mark,
                .flags = static_cast<std::uint8_t>(payload_type::u64)};
    }
    static record begins(std::uint64_t ns, std::uint32_t epoch) {
        return {.ticks = ns, .value = epoch, .kind = record_kind::window};
    }
    void window(const format::window_entry& entry) { capture.parts().windows.insert_or_assign(entry.epoch, entry); }

    timeline two_windows(std::uint32_t second_ends_with_step = 1) {
        capture.parts().properties["steps"] = "42";
        window({.epoch = 1,
                .begin_ticks = 100,
                .end_ticks = 300,
                .first_step = 5,
                .last_step = 6,
                .drawn_first = 1,
                .drawn_among = 20,
                .ends_with_step = 1});
        window({.epoch = 2,
                .begin_ticks = 1000,
                .end_ticks = 1100,
                .first_step = 30,
                .last_step = 30,
                .drawn_first = 21,
                .drawn_among = 40,
                .ends_with_step = second_ends_with_step});
        capture.thread("main")
            .add(step(100, 5))
            .push(110, "forward")
            .launch(120, 1)
            .pop(130)
            .add(step(200, 6))
            .push(210, "forward")
            .launch(220, 2)
            .pop(230)
            .launch(240, 3)
            .add(begins(1000, 2))
            .add(step(1001, 30))
            .push(1010, "forward")
            .launch(1020, 4)
            .launch(1021, 5)
            .pop(1030);
        // Kernels run later than the step that launched them.
        for (const auto& [key, ns] : {std::pair{1, 10}, {2, 30}, {3, 4}, {4, 50}, {5, 50}}) {
            const auto start = static_cast<std::uint64_t>(2000 + 100 * key);
            capture.kernel(static_cast<std::uint64_t>(key), start, start + static_cast<std::uint64_t>(ns));
        }
        return capture.build();
    }
};

std::vector<std::uint64_t> numbers(const timeline& data) {
    std::vector<std::uint64_t> out;
    for (const captured_step& step : find_captured_steps(data)) out.push_back(step.number);
    return out;
}

TEST_F(StepEstimate, WeighsWindowsByTheStepsTheyStandFor) {
    const timeline data = two_windows();
    const step_estimate found = estimate_steps(data, attribute(data), {});
    EXPECT_EQ(found.captured_steps, 3U);
    EXPECT_EQ(found.windows, 2U);
    EXPECT_EQ(found.all_steps, 42U);
    EXPECT_EQ(found.stood_for, 20U + 21U);
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_EQ(found.rows[0].path, "forward");
    // (10 + 30) / 2 in the first window, 100 in the second.
    EXPECT_DOUBLE_EQ(found.rows[0].gpu_ns.mean, (20.0 * 20 + 21.0 * 100) / 41);
    EXPECT_DOUBLE_EQ(found.rows[0].instances.mean, 1);
    EXPECT_EQ(found.rows[1].path, "(no range)");
    EXPECT_DOUBLE_EQ(found.rows[1].gpu_ns.mean, 20.0 * 2 / 41);
    EXPECT_DOUBLE_EQ(found.total.gpu_ns.mean, (20.0 * 22 + 21.0 * 100) / 41);
    EXPECT_TRUE(found.total.gpu_ns.half_width);
    EXPECT_TRUE(has_part_of_steps(data));
}

TEST_F(StepEstimate, LeavesOutAStepCutByItsWindow) {
    const timeline data = two_windows(0);
    EXPECT_THAT(numbers(data), ElementsAre(5, 6));
    const step_estimate found = estimate_steps(data, attribute(data), {});
    EXPECT_DOUBLE_EQ(found.rows.front().gpu_ns.mean, 20);
    EXPECT_FALSE(found.rows.front().gpu_ns.half_width);
}

TEST_F(StepEstimate, NeedsStepMarksOfLibprof) {
    capture.thread("main").mark(1, "step").launch(2, 1).mark(3, "step");
    const timeline data = capture.build();
    EXPECT_TRUE(find_captured_steps(data).empty());
    const table shown_table = steps_report({.data = data});
    EXPECT_TRUE(shown_table.rows.empty());
    ASSERT_EQ(shown_table.notes.size(), 1U);
    EXPECT_THAT(shown_table.notes[0], testing::HasSubstr("prof_step"));
}

// A recording from a program that pauses by hand: it stands for all steps, in equal parts.
TEST_F(StepEstimate, NotesWindowsThatWereNotDrawn) {
    capture.parts().properties["steps"] = "12";
    window({.epoch = 1, .begin_ticks = 1, .end_ticks = 300});
    capture.thread("main").add(step(10, 1)).launch(20, 1).add(step(30, 2)).launch(40, 2).add(step(50, 3)).launch(60, 3);
    capture.kernel(1, 100, 110).kernel(2, 110, 130).kernel(3, 130, 230);
    const timeline data = capture.build();
    EXPECT_THAT(numbers(data), ElementsAre(1, 2));
    const step_estimate found = estimate_steps(data, attribute(data), {});
    EXPECT_EQ(found.stood_for, 0U);
    EXPECT_DOUBLE_EQ(found.total.gpu_ns.mean, 15);
    const table shown_table = steps_table(found);
    ASSERT_EQ(shown_table.notes.size(), 1U);
    EXPECT_THAT(shown_table.notes[0], testing::HasSubstr("2 of 12 steps, in 1 window that"));
}

// A process that was killed did not say how many steps there were: at least those until the last that was captured, and
// each window that was drawn stands for all of its stratum.
TEST_F(StepEstimate, UsesTheKnownStepsOfADeadProcess) {
    const timeline closed = two_windows();
    capture.parts().properties.erase("steps");
    const timeline data = capture.build();
    const step_estimate found = estimate_steps(data, attribute(data), {});
    EXPECT_EQ(found.all_steps, 31U);
    EXPECT_EQ(found.stood_for, 20U + 40U);
    EXPECT_DOUBLE_EQ(found.rows[0].gpu_ns.mean, (20.0 * 20 + 40.0 * 100) / 60);
    EXPECT_TRUE(has_part_of_steps(data));
    EXPECT_THAT(steps_table(found).notes,
                ElementsAre("from 3 of at least 31 steps, in 2 windows chosen at random among 60"));
    EXPECT_TRUE(estimate_steps(closed, attribute(closed), {}).step_count_is_known);
}

// Windows that were not drawn stand for the steps between them, too: the interval of 2 steps of at least 31 is none of
// 0.
TEST_F(StepEstimate, DoesNotTakeADeadProcesssWindowsForAllSteps) {
    (void)two_windows();
    capture.parts().properties.erase("steps");
    for (auto& [epoch, entry] : capture.parts().windows) entry.drawn_among = 0;
    const timeline data = capture.build();
    const step_estimate found = estimate_steps(data, attribute(data), {});
    // Two steps of 20 and one of 100, which stand for 31 in equal parts. The means differ by 80, so each varies by
    // 3200; variance 3200 ((2/3)^2 + (1/3)^2) (1 - 3/31) with one degree of freedom.
    EXPECT_DOUBLE_EQ(found.rows[0].gpu_ns.mean, (2 * 20 + 100) / 3.0);
    ASSERT_TRUE(found.rows[0].gpu_ns.half_width);
    EXPECT_NEAR(*found.rows[0].gpu_ns.half_width, 12.70620473617 * std::sqrt(3200.0 * 5 / 9 * 28 / 31), 1e-6);
}

// Windows of a schedule of which one is marked as drawn: they do not count as drawn.
TEST_F(StepEstimate, TreatsWindowsAsDrawnOnlyIfAllWere) {
    (void)two_windows();
    capture.parts().windows[1].drawn_among = 0;
    const timeline data = capture.build();
    EXPECT_EQ(estimate_steps(data, attribute(data), {}).stood_for, 0U);
}

// A step has what begins in its first moment, and nothing of the moment in which it ends.
TEST_F(StepEstimate, CountsFromAStepsBeginningToItsEnd) {
    window({.epoch = 1, .begin_ticks = 1, .end_ticks = 60, .first_step = 1, .last_step = 2, .ends_with_step = 1});
    capture.parts().properties["steps"] = "3";
    capture.thread("main").add(step(10, 1)).launch(10, 1).add(step(20, 2)).launch(20, 2).launch(60, 3);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 130, 230);
    const timeline data = capture.build();
    EXPECT_THAT(numbers(data), ElementsAre(1, 2));
    EXPECT_DOUBLE_EQ(estimate_steps(data, attribute(data), {}).total.gpu_ns.mean, 5.5);
}

// Where all that there is was captured, a step's costs times the steps are the projection's sums, row by row: of a
// graph that is replayed outside of ranges and inside, of work that either of two threads may have asked for, in ranges
// of its own and in such a graph, too.
TEST_F(StepEstimate, EqualsTheProjectionWhenAllStepsAreCaptured) {
    window({.epoch = 1, .begin_ticks = 1, .end_ticks = 3000, .first_step = 1, .last_step = 2, .ends_with_step = 1});
    capture.parts().properties["steps"] = "2";
    thread_script& main = capture.thread("main");
    thread_script& other = capture.thread("other");
    main.add(step(10, 1)).push(11, "prepare").begin_capture(12, 90).push(13, "forward").node(14, 1).pop(15).node(16, 2);
    for (std::uint64_t i = 1; i <= 2; ++i) main.copy(20 + i, 100 + i, i);
    main.exit(24, 90).pop(25).launch(30, 1, "").launch(40, 2).add(step(1000, 2)).push(1010, "step").launch(1011, 3, "");
    main.pop(1030);
    other.launch(50, 4).push(1005, "a").pop(1035);
    capture.thread("pt_autograd_0").launch(1020, 5).push(1022, "layer").launch(1023, 6).pop(1025).launch(1026, 7, "");
    capture.kernel(1, 100, 110, {.graph_node = 101}).kernel(1, 110, 113, {.graph_node = 102}).kernel(2, 120, 140);
    capture.kernel(3, 1100, 1110, {.graph_node = 101}).kernel(3, 1110, 1113, {.graph_node = 102});
    capture.kernel(4, 150, 155).kernel(5, 1200, 1240).kernel(6, 1240, 1249);
    capture.kernel(7, 1300, 1310, {.graph_node = 101}).kernel(7, 1310, 1313, {.graph_node = 102});
    const timeline data = capture.build();
    const attribution att = attribute(data);
    const projection p = project(data, att);
    const step_estimate found = estimate_steps(data, att, {});
    ASSERT_EQ(found.captured_steps, 2U);
    auto next = found.rows.begin();
    for (const projection_row& row : p.rows) {
        if (row.ops == 0 && row.instances == 0) continue;
        ASSERT_NE(next, found.rows.end()) << row.path;
        EXPECT_EQ(next->path, row.path);
        EXPECT_EQ(next->kind, row.kind) << row.path;
        EXPECT_EQ(next->is_captured, row.is_captured) << row.path;
        EXPECT_EQ(next->name, row.name) << row.path;
        const std::string above = row.parent == npos ? "" : p.rows[row.parent].path;
        EXPECT_EQ(next->parent == npos ? "" : found.rows[next->parent].path, above) << row.path;
        EXPECT_DOUBLE_EQ(2 * next->instances.mean, static_cast<double>(row.instances)) << row.path;
        EXPECT_DOUBLE_EQ(2 * next->gpu_ns.mean, static_cast<double>(row.gpu_sum_ns)) << row.path;
        ++next;
    }
    EXPECT_EQ(next, found.rows.end());
    EXPECT_THAT(rows_of(steps_table(found), {"path", "gpu_ns"}),
                testing::IsSupersetOf({"prepare 6.5", "prepare/forward 5", "step 6.5", "step/forward 5",
                                       "(ambiguous) 31", "(ambiguous)/layer 4.5", "(ambiguous)/prepare 6.5",
                                       "(ambiguous)/prepare/forward 5", "(no range) 12.5", "all GPU work 56.5"}));
}

// forward runs eagerly in step 1 (7 ns), and as part of a graph in step 2 (10 ns).
TEST_F(StepEstimate, DistinguishesCapturedRowsOfTheSamePath) {
    capture.parts().properties["steps"] = "2";
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "forward").node(3, 77).pop(4);
    main.add(step(10, 1)).push(11, "iteration").push(12, "forward").launch(13, 1).pop(15).pop(16);
    main.add(step(20, 2)).push(21, "iteration").launch(22, 2).pop(24).add(step(30, 3));
    capture.kernel(1, 40, 47).kernel(2, 60, 70, {.graph_node = 77});
    const timeline data = capture.build();
    const table shown_table = steps_report({.data = data});
    EXPECT_THAT(rows_of(shown_table, {"path", "type", "gpu_ns", "instances"}),
                ElementsAre("iteration push_pop 8.5 1", "iteration/forward push_pop 3.5 0.5",
                            "iteration/forward captured 5 0.5", "all GPU work total 8.5 "));
    EXPECT_THAT(rows_of(shown_table, {""}),
                ElementsAre("iteration", "iteration/forward", "iteration/forward (captured)", "all GPU work"))
        << "which is what text has instead";
}

// outer began before the step and launched nothing in it: it has no row, and inner, though deeper than the row before
// it, is not below that one.
TEST_F(StepEstimate, RowsHaveTheNearestRowAboveAsParent) {
    capture.parts().properties["steps"] = "1";
    thread_script& main = capture.thread("main");
    thread_script& other = capture.thread("other");
    main.push(3, "outer").add(step(10, 0)).push(20, "inner").push(21, "leaf").launch(22, 1).pop(23).pop(24);
    main.add(step(30, 1)).pop(40);
    other.push(2, "first").launch(11, 2).pop(12).push(13, "second").pop(14);
    capture.kernel(1, 100, 101).kernel(2, 200, 240);
    timeline data = capture.build();
    for (timeline_api_call& call : data.api_calls) {
        if (call.correlation == 1) call.open = npos;  // the kernel counts for no range
    }
    const step_estimate found = estimate_steps(data, attribute(data), {});
    const auto rows = [](const step_estimate& of) {
        std::vector<std::string> out;
        for (const step_estimate_row& row : of.rows) {
            out.push_back(row.path + " below " + (row.parent == npos ? "none" : of.rows[row.parent].path));
        }
        return out;
    };
    EXPECT_THAT(rows(found),
                ElementsAre("first below none", "outer/inner below none", "outer/inner/leaf below outer/inner",
                            "second below none", "(no range) below none"));
    EXPECT_EQ(found.rows[1].name, "inner");
    EXPECT_EQ(found.rows[1].depth, 1U);

    // The rows above those that are left are left as well.
    step_estimate heavy = found;
    heavy.rows[2].gpu_ns.mean = 1000;
    table whole = steps_table(heavy);
    whole.rows = whole.shorten(whole, {.rows = 4}).rows;
    EXPECT_THAT(rows_of(whole, {"path"}), ElementsAre("outer/inner", "outer/inner/leaf", "(no range)", "all GPU work"));
}

TEST_F(StepEstimate, HasARowForAllWork) {
    const timeline data = two_windows();
    EXPECT_THAT(rows_of(steps_report({.data = data}), {"path", "gpu_ns", "instances"}),
                ElementsAre("forward 60.9756 1", "(no range) 0.97561 0", "all GPU work 61.9512 "));
}

// Digits would be folded.
std::string in_letters(std::uint32_t number) {
    std::string out = "batch ";
    for (; number != 0; number /= 26) out += static_cast<char>('a' + number % 26);
    return out;
}

long most_memory_kib() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

// A long run of which each step has a range of another name: 400 MB if each row had a place for each window.
TEST_F(StepEstimate, BoundsItsMemory) {
    constexpr std::uint32_t windows = 5'000;
    capture.parts().properties["steps"] = std::to_string(windows);
    thread_script& main = capture.thread("main");
    for (std::uint32_t i = 0; i < windows; ++i) {
        const std::uint64_t at = 100 + 100 * std::uint64_t{i};
        window({.epoch = 1 + i,
                .begin_ticks = at,
                .end_ticks = at + 90,
                .first_step = 1 + i,
                .last_step = 1 + i,
                .ends_with_step = 1});
        main.add(begins(at, 1 + i)).add(step(at + 1, 1 + i)).push(at + 10, in_letters(i));
        main.launch(at + 20, 1 + i).pop(at + 30);
        capture.kernel(1 + i, at + 40, at + 50);
    }
    const timeline data = capture.build();
    const attribution att = attribute(data);
    const pid_t child = fork();
    if (child == 0) {
        const long before_kib = most_memory_kib();
        const step_estimate found = estimate_steps(data, att, {});
        const bool is_right =
            found.windows == windows && found.rows.size() == windows && std::abs(found.total.gpu_ns.mean - 10) < 1e-6;
        if (!is_right) _exit(2);
        _exit(most_memory_kib() - before_kib < 100'000 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace prof::step_estimate_test
