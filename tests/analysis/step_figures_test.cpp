// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/step_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/steps/captured_steps.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::step_figures_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> parts_of(const step_figures& steps) {
    std::vector<std::string> out;
    for (const step_part& part : steps.parts) {
        out.push_back(part.name + ' ' + std::to_string(part.gpu_sum_ns) + ' ' + std::to_string(part.ops));
    }
    return out;
}

struct StepFigures : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t phases = capture.domain(std::string(phase_domain));

    void begin_step(thread_script& on, std::uint64_t ns, std::uint32_t witness) {
        on.add({.ticks = ns,
                .name = capture.name("step"),
                .category = witness,
                .domain = phases,
                .kind = record_kind::range_push});
    }
    void next_step(thread_script& on, std::uint64_t ns, std::uint32_t witness = optimizer_witness) {
        on.pop(ns, phases);
        begin_step(on, ns, witness);
    }
    void mark_step(thread_script& on, std::uint64_t ns, std::uint64_t number) { on.step(ns, number, own); }
    std::optional<step_figures> measure(const domain_filter& domains = {}) const {
        const timeline data = capture.build();
        return measure_steps(data, attribute(data, {.domains = domains}));
    }
};

// Steps [100, 300), [300, 500), [500, 900) and one that the end of the program ends. The first takes part in nothing.
TEST_F(StepFigures, MatchObservedStepsWorkedByHand) {
    thread_script& main = capture.thread("python");
    thread_script& other = capture.thread("prefetch");
    main.push(0, "startup", phases).launch(10, 1).pop(99, phases);
    begin_step(main, 100, 0);
    main.push(110, "forward", phases).launch(120, 2).pop(190, phases);
    next_step(main, 300);
    main.push(310, "mine").push(320, "forward", phases).launch(330, 3).push(340, "layer").launch(350, 4).pop(355);
    main.pop(360, phases).launch(365, 5).pop(370);
    main.push(380, "backward", phases).push(385, "recompute", phases).launch(390, 6).pop(395, phases).pop(400, phases);
    other.launch(410, 7);
    next_step(main, 500);
    main.push(510, "forward", phases).launch(520, 8).pop(530, phases);
    next_step(main, 900);
    main.push(910, "forward", phases).launch(920, 9).pop(930, phases).launch(2000, 10).pop(3000, phases);
    // Of the steps that count: 3 and 4 overlap for 5; 6 runs on another GPU; 8 in the time of the last step.
    capture.kernel(1, 1000, 1500).kernel(2, 1500, 1700);
    capture.kernel(3, 1700, 1710).kernel(4, 1705, 1725, {.stream = 8}).kernel(5, 1730, 1733);
    capture.kernel(6, 1700, 1740, {.device = 1}).kernel(7, 1740, 1744).kernel(8, 1800, 1860);
    capture.kernel(9, 2000, 2100).kernel(10, 2100, 2300);

    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_FALSE(found->is_first);
    EXPECT_EQ(found->source, step_source::observed);
    EXPECT_EQ(found->witness, optimizer_witness);
    EXPECT_EQ(found->host_median_ns, (200 + 400) / 2.0);
    EXPECT_EQ(found->host_ns, 600);
    EXPECT_TRUE(found->has_gpu);
    EXPECT_EQ(found->gpu_sum_ns, 10 + 20 + 3 + 40 + 4 + 60);
    EXPECT_EQ(found->gpu_busy_ns, 25 + 3 + 40 + 4 + 60);
    EXPECT_EQ(found->ops, 6U);
    EXPECT_EQ(found->devices, 2U);
    EXPECT_THAT(parts_of(*found), ElementsAre("forward 90 3", "backward 40 1", " 7 2"));
    EXPECT_FALSE(measure({.include = {}, .exclude = {"prof.phases"}}));
}

TEST_F(StepFigures, GiveReplayedGraphsThePhasesOfTheirCapture) {
    thread_script& main = capture.thread("python");
    main.push(1, "warmup")
        .begin_capture(2, 90)
        .push(3, "forward", phases)
        .node(4, 77)
        .pop(5, phases)
        .node(6, 78)
        .pop(7);
    begin_step(main, 100, 1);
    main.launch(110, 1, "");
    next_step(main, 200);
    main.pop(300, phases);
    capture.kernel(1, 1000, 1010, {.graph_node = 77}).kernel(1, 1010, 1013, {.graph_node = 78});
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_THAT(parts_of(*found), ElementsAre("forward 10 1", " 3 1"));
}

TEST_F(StepFigures, UseTheFirstStepOnlyIfItIsAlone) {
    thread_script& main = capture.thread("python");
    begin_step(main, 100, 0);
    next_step(main, 300);
    main.pop(350, phases);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 1U);
    EXPECT_TRUE(found->is_first);
    EXPECT_EQ(found->host_median_ns, 200);
    EXPECT_FALSE(found->has_gpu) << "nothing was launched, so nothing can be said of the GPU";
    EXPECT_TRUE(found->parts.empty());
}

TEST_F(StepFigures, NeedAWholeStep) {
    EXPECT_FALSE(measure());
    thread_script& main = capture.thread("python");
    main.push(10, "step").pop(20).push(30, "step").pop(40);
    EXPECT_FALSE(measure()) << "a range of the program's that is called step says nothing";
    begin_step(main, 100, 0);
    main.launch(110, 1).pop(300, phases);
    capture.kernel(1, 1000, 1010);
    EXPECT_FALSE(measure());
}

// The outermost range that recurs: [10, 30), [30, 50), [50, 70), and one that nothing follows. The first is warm-up.
TEST_F(StepFigures, AreGuessedFromRangesThatRecur) {
    thread_script& main = capture.thread("python");
    main.push(0, "train");
    for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t at = 10 + i * 20;
        main.push(at, "iteration " + std::to_string(i)).push(at + 1, "forward").launch(at + 2, 2 * i + 1).pop(at + 4);
        main.push(at + 5, "backward").launch(at + 6, 2 * i + 2).pop(at + 10).pop(at + 15);
        capture.kernel(2 * i + 1, at + 3, at + 5).kernel(2 * i + 2, at + 7, at + 11);
    }
    main.pop(100);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, step_source::recurring);
    EXPECT_EQ(found->range, "iteration #");
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->warm_up, 1U);
    EXPECT_EQ(found->host_ns, 40);
    EXPECT_THAT(parts_of(*found), ElementsAre("backward 8 2", "forward 4 2", " 0 0"));
}

// No range is around a step: it begins with the first of its parts.
TEST_F(StepFigures, AreGuessedFromPartsThatRecur) {
    thread_script& main = capture.thread("python");
    main.push(0, "setup").launch(1, 100).pop(9);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t at = 10 + i * 20;
        main.push(at, "forward").launch(at + 2, 2 * i + 1).pop(at + 4);
        main.push(at + 5, "backward").launch(at + 6, 2 * i + 2).pop(at + 17);
        capture.kernel(2 * i + 1, at + 3, at + 5).kernel(2 * i + 2, at + 7, at + 11);
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->range, "forward");
    EXPECT_EQ(found->steps, 1U);
    EXPECT_EQ(found->host_ns, 20);
    EXPECT_THAT(parts_of(*found), ElementsAre("backward 4 1", "forward 2 1", " 0 0"));
}

// Eight ranges of 100 ns each 110 ns, and an evaluation of 80 after the fifth: that gap is in no step.
TEST_F(StepFigures, OfRangesThatRecurHaveNoUnusualGap) {
    thread_script& main = capture.thread("python");
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < 8; ++i) {
        main.push(at, "iteration " + std::to_string(i)).launch(at + 2, i + 1).pop(at + 100);
        capture.kernel(i + 1, at + 3, at + 5);
        at += i == 4 ? 180 : 110;
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 6U);
    EXPECT_EQ(found->host_ns, 5 * 110 + 100);
}

// The time between two steps is part of each, as where a range has no data loading in it.
TEST_F(StepFigures, OfRangesThatRecurHaveTheUsualGap) {
    thread_script& main = capture.thread("python");
    for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t at = 140 * i + i % 3;
        main.push(at, "train " + std::to_string(i)).launch(at + 2, i + 1).pop(at + 100);
        capture.kernel(i + 1, at + 3, at + 5);
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->host_median_ns, 141);
}

// Three batches are looked at before the loop of three iterations: they are no part of it.
TEST_F(StepFigures, AreNotGuessedFromRangesThatAreOverBefore) {
    thread_script& main = capture.thread("python");
    for (std::uint64_t i = 0; i < 3; ++i) main.push(i * 10, "look").launch(i * 10 + 1, 10 + i).pop(i * 10 + 9);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t at = 100 + 100 * i;
        main.push(at, "iteration " + std::to_string(i)).launch(at + 2, i + 1).pop(at + 99);
        capture.kernel(i + 1, at + 3, at + 5);
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->range, "iteration #");
}

TEST_F(StepFigures, AreNotGuessedFromRangesThatCoverLittle) {
    thread_script& main = capture.thread("python");
    for (std::uint64_t i = 0; i < 5; ++i) main.push(i * 100, "save").launch(i * 100 + 1, i + 1).pop(i * 100 + 40);
    EXPECT_FALSE(measure());
}

// Of 20 steps of 100 ns, the first takes 5000, the next two 200, and the tenth 300.
TEST_F(StepFigures, LeaveOutTheWarmUp) {
    thread_script& main = capture.thread("python");
    std::uint64_t at = 10;
    for (std::uint64_t i = 0; i < 21; ++i) {
        mark_step(main, at, i);
        at += i == 0 ? 5000 : i < 3 ? 200 : i == 9 ? 300 : 100;
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->warm_up, 3U);
    EXPECT_EQ(found->steps, 17U);
    EXPECT_EQ(found->host_median_ns, 100);
    EXPECT_EQ(found->host_ns, 1900);
}

// Left out are steps observed before the program made its optimizer, and a step given up for an evaluation.
TEST_F(StepFigures, LeaveOutCancelledSteps) {
    thread_script& main = capture.thread("python");
    begin_step(main, 100, 0);
    next_step(main, 110, call_witness);
    next_step(main, 130, call_witness);
    main.pop(160, phases).push(160, "startup", phases).pop(200, phases);
    begin_step(main, 200, 0);
    next_step(main, 1200);
    main.pop(2300, phases).push(2310, "data", phases).pop(2320, phases);
    begin_step(main, 2400, optimizer_witness);
    next_step(main, 2450);
    main.pop(2500, phases);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 1U);
    EXPECT_EQ(found->host_ns, 50);
    EXPECT_EQ(found->witness, optimizer_witness);
}

// The range of an annotation has what the host does: JAX returns before the GPU has worked. A phase between them, as a
// function that is compiled, gives no step up.
TEST_F(StepFigures, EndAnAnnotatedStepAtTheNext) {
    thread_script& main = capture.thread("python");
    begin_step(main, 100, annotation_witness);
    main.launch(110, 1).pop(300, phases);
    begin_step(main, 500, annotation_witness);
    main.push(505, "forward", phases).launch(510, 2).pop(515, phases).pop(520, phases);
    main.push(530, "XLA compilation", phases).launch(540, 3).pop(600, phases);
    begin_step(main, 900, annotation_witness);
    main.launch(910, 4).pop(920, phases);
    begin_step(main, 1000, annotation_witness);
    main.launch(1010, 5).pop(1020, phases);
    for (std::uint32_t i = 1; i <= 5; ++i) capture.kernel(i, 1000 * i, 1000 * i + i);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->host_ns, 400 + 100);
    EXPECT_EQ(found->witness, annotation_witness);
    EXPECT_TRUE(found->function.empty());
    EXPECT_THAT(parts_of(*found), ElementsAre("forward 2 1", " 7 2"));
}

TEST_F(StepFigures, CountTheFirstAnnotatedStepOfAWindow) {
    capture.parts().properties["plan"] = "schedule wait=10,active=2";
    thread_script& main = capture.thread("python");
    for (const std::uint64_t ns : {100U, 200U, 300U}) {
        begin_step(main, ns, annotation_witness);
        main.pop(ns + 10, phases);
    }
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 2U);
}

TEST_F(StepFigures, EndAMarkedStepAtTheNextMark) {
    thread_script& main = capture.thread("python");
    mark_step(main, 100, 0);  // as step_range counts
    main.launch(110, 1);
    mark_step(main, 400, 1);
    main.push(410, "forward", phases).launch(420, 2).pop(430, phases);
    mark_step(main, 500, 2);
    main.launch(510, 3);
    mark_step(main, 620, 3);
    main.launch(630, 4);
    capture.kernel(1, 1000, 1100).kernel(2, 1100, 1107).kernel(3, 1200, 1209).kernel(4, 1300, 1400);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, step_source::counted);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->host_median_ns, 110);
    EXPECT_THAT(parts_of(*found), ElementsAre("forward 7 1", " 9 1"));
}

// Windows [100, 300) with steps 5 and 6 and [1000, 1100) with step 30, which its end cuts.
TEST_F(StepFigures, CountOnlyWholeStepsOfWindows) {
    capture.parts().windows[1] = {
        .epoch = 1, .begin_ticks = 100, .end_ticks = 300, .first_step = 5, .last_step = 6, .ends_with_step = 1};
    capture.parts().windows[2] = {
        .epoch = 2, .begin_ticks = 1000, .end_ticks = 1100, .first_step = 30, .last_step = 30};
    thread_script& main = capture.thread("python");
    mark_step(main, 100, 5);
    main.launch(110, 1);
    mark_step(main, 220, 6);
    main.launch(230, 2).add({.ticks = 1000, .value = 2, .kind = record_kind::window});
    mark_step(main, 1001, 30);
    main.launch(1010, 3);
    capture.kernel(1, 2000, 2010).kernel(2, 2010, 2030).kernel(3, 2100, 2200);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->host_ns, 200);
    EXPECT_EQ(found->gpu_sum_ns, 30);
}

// Observed steps in two windows: the last of each is not known to be whole.
TEST_F(StepFigures, KeepObservedStepsWithinTheirWindow) {
    capture.parts().windows[1] = {.epoch = 1, .begin_ticks = 100, .end_ticks = 300};
    capture.parts().windows[2] = {.epoch = 2, .begin_ticks = 1000, .end_ticks = 1300};
    thread_script& main = capture.thread("python");
    begin_step(main, 110, 1);
    next_step(main, 150);
    main.pop(290, phases).add({.ticks = 1000, .value = 2, .kind = record_kind::window});
    begin_step(main, 1010, 1);
    next_step(main, 1080);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_EQ(found->host_ns, 40 + 70);
}

TEST_F(StepFigures, MeasureProfilerSteps) {
    thread_script& main = capture.thread("python");
    main.push(0, "ProfilerStep#0").pop(100).push(100, "ProfilerStep#1").launch(110, 1).pop(130);
    main.push(130, "ProfilerStep#2").launch(140, 2).pop(190).push(500, "ProfilerStep#7").pop(600);
    main.push(600, "ProfilerStep#8").pop(610).push(611, "ProfilerStep#x").pop(612);
    capture.kernel(1, 1000, 1010).kernel(2, 1020, 1040);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, step_source::profiler);
    EXPECT_EQ(found->steps, 3U) << "1, 2 and 7: the first is left out, 8 has none behind it";
    EXPECT_EQ(found->host_ns, 30 + 60 + 100);
    EXPECT_EQ(found->gpu_sum_ns, 10 + 20);
    EXPECT_FALSE(measure({.include = {}, .exclude = {"default"}}));
}

TEST_F(StepFigures, HaveNoGpuTimeWithoutLaunches) {
    thread_script& main = capture.thread("python");
    mark_step(main, 100, 1);
    mark_step(main, 200, 2);
    capture.kernel(1, 110, 120);
    const auto found = measure();
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->has_gpu);
    EXPECT_EQ(found->gpu_sum_ns, 0);
}

// Random programs: every operation is looked up by the shortest road, and the parts add up.
TEST_F(StepFigures, LoseNothingOfRandomPrograms) {
    const std::vector<std::string> names = {"forward", "backward", "optimizer", "mine", "layer"};
    std::uint64_t counted = 0;
    for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        capture_builder made;
        const std::uint16_t domain = made.domain(std::string(phase_domain));
        thread_script& main = made.thread("python");
        struct interval {
            std::int64_t start = 0;
            std::int64_t end = 0;
        };
        struct launched {
            std::int64_t at = 0;
            std::int64_t length = 0;
            std::string phase;
        };
        std::vector<interval> steps;
        std::vector<launched> work;
        std::vector<std::pair<std::string, bool>> open;
        std::uint64_t now = 10;
        std::int64_t began = 0;
        std::uint64_t correlation = 0;
        const std::uint32_t count = 1 + below(6);
        for (std::uint32_t step = 0; step < count; ++step) {
            now += 1 + below(3);
            if (step != 0) {
                main.pop(now, domain);
                steps.push_back({began, static_cast<std::int64_t>(now)});
            }
            main.add({.ticks = now,
                      .name = made.name("step"),
                      .category = step == 0 ? 0U : 1U,
                      .domain = domain,
                      .kind = record_kind::range_push});
            began = static_cast<std::int64_t>(now);
            for (std::uint32_t event = below(20); event > 0 || !open.empty();) {
                now += 1 + below(3);
                const std::uint32_t kind = event == 0 ? 2 : below(4);
                if (event > 0) --event;
                if (kind == 0) {
                    const std::string& name = names[below(5)];
                    const bool is_phase = below(2) == 0;
                    main.push(now, name, is_phase ? domain : std::uint16_t{0});
                    open.emplace_back(name, is_phase);
                } else if (kind == 1 || kind == 3) {
                    main.launch(now, ++correlation);
                    launched l{static_cast<std::int64_t>(now), below(50), ""};
                    for (const auto& [name, is_phase] : open) {
                        if (is_phase && l.phase.empty()) l.phase = name;
                    }
                    const std::uint64_t start = now + below(100);
                    made.kernel(correlation, start, start + static_cast<std::uint64_t>(l.length),
                                {.stream = 7 + below(3), .device = below(2)});
                    work.push_back(l);
                    ++now;
                } else if (!open.empty()) {
                    main.pop(now, open.back().second ? domain : std::uint16_t{0});
                    open.pop_back();
                }
            }
        }
        main.pop(++now, domain);
        if (steps.size() > 1) steps.erase(steps.begin());
        const timeline data = made.build();
        const auto found = measure_steps(data, attribute(data));
        ASSERT_EQ(found.has_value(), !steps.empty());
        if (!found) continue;
        std::map<std::string, std::int64_t> expected;
        std::int64_t sum = 0;
        std::int64_t host = 0;
        for (const interval& step : steps) {
            host += step.end - step.start;
            for (const launched& l : work) {
                if (l.at < step.start || l.at >= step.end) continue;
                expected[l.phase] += l.length;
                sum += l.length;
            }
        }
        ASSERT_EQ(found->steps, steps.size());
        ASSERT_EQ(found->host_ns, host);
        ASSERT_EQ(found->gpu_sum_ns, sum);
        ASSERT_LE(found->gpu_busy_ns, sum);
        std::int64_t parts = 0;
        for (const step_part& part : found->parts) {
            ASSERT_EQ(part.gpu_sum_ns, expected[part.name]) << part.name;
            parts += part.gpu_sum_ns;
        }
        ASSERT_EQ(parts, sum);
        counted += found->ops;
    }
    EXPECT_GT(counted, 10'000U);
}

}  // namespace
}  // namespace prof::step_figures_test
