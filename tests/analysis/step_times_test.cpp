// SPDX-License-Identifier: Apache-2.0
// Which steps count, where they begin and end, and that every report has the same ones. Worked by hand, and against a
// search of all operations.
#include "analysis/steps/step_times.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/selection/step_marks.hpp"
#include "analysis/steps/step_figures.hpp"
#include "record/label.hpp"
#include "report/tables/step_estimate.hpp"
#include "support/capture_builder.hpp"

namespace prof::step_times_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Optional;
using testing::SizeIs;

constexpr cuda_function copy_async{api_domain::runtime, 41, api_class::launch};

struct StepTimes : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    thread_script& main = capture.thread("python");

    void mark_step(std::uint64_t ns, std::uint64_t number) { main.step(ns, number, own); }
    static std::vector<std::int64_t> lengths(const timeline& data) {
        return lengths_of(find_whole_steps(data, attribute(data)).steps);
    }
};

// The host needs 10 or 90 for a step, the GPU 100.
TEST_F(StepTimes, AreTheGpusWhereTheHostRunsAhead) {
    std::uint64_t now = 1'000;
    for (std::uint64_t i = 0; i < 8; ++i) {
        mark_step(now, i + 1);
        main.launch(now + 2, i + 1);
        capture.kernel(i + 1, 1'005 + i * 100, 1'105 + i * 100);
        now += i % 2 == 0 ? 10 : 90;
    }
    mark_step(now, 9);
    const timeline data = capture.build();
    // The first begins before its kernel does.
    EXPECT_THAT(lengths(data), ElementsAre(105, 100, 100, 100, 100, 100, 100, 100));
    const auto of = find_whole_steps(data, attribute(data)).steps;
    for (std::size_t i = 1; i < of.size(); ++i) EXPECT_EQ(of[i].from_ns(), of[i - 1].to_ns());
}

TEST_F(StepTimes, AreTheHostsWhereTheHostIsTheLimit) {
    for (std::uint64_t i = 0; i < 5; ++i) {
        mark_step(1'000 + i * 100, i + 1);
        main.launch(1'050 + i * 100, i + 1);
        capture.kernel(i + 1, 1'055 + i * 100, 1'095 + i * 100);
    }
    mark_step(1'500, 6);
    const timeline data = capture.build();
    EXPECT_THAT(lengths(data), Each(100));
    EXPECT_EQ(find_whole_steps(data, attribute(data)).steps.front().from_ns(), 1'000);
}

// A copy of 10,000 in a stream of its own, for which nobody waits, and a kernel that outlives the loop.
TEST_F(StepTimes, AreNotThoseOfWorkThatNobodyWaitsFor) {
    for (std::uint64_t i = 0; i < 8; ++i) {
        mark_step(1'000 + i * 100, i + 1);
        main.launch(1'010 + i * 100, i + 1);
        capture.kernel(i + 1, 1'015 + i * 100, 1'090 + i * 100);
    }
    main.call(1'720, 1'721, 100, copy_async).launch(1'730, 101);
    mark_step(1'800, 9);
    transfer_record copy = transfer_between(transfer_kind::memcpy, 1'725, 11'725, 100, 64, {.stream = 9});
    copy.copy_kind = 1;
    capture.transfer(copy).kernel(101, 1'735, 90'000, {.stream = 11}, "background");
    const timeline data = capture.build();
    EXPECT_THAT(lengths(data), Each(100));
    const auto of = break_down(data, attribute(data));
    ASSERT_TRUE(of);
    EXPECT_EQ(of->steps, 8U);
    EXPECT_EQ(of->wall_ns, 800);
    EXPECT_FALSE(of->by_gpu);
}

// Steps that compute in two streams in turn wait for both.
TEST_F(StepTimes, AreThoseOfAllStreamsInWhichStepsCompute) {
    for (std::uint64_t i = 0; i < 8; ++i) {
        mark_step(1'000 + i * 10, i + 1);
        main.launch(1'001 + i * 10, i + 1);
        capture.kernel(i + 1, 1'100 + i * 100, 1'200 + i * 100, {.stream = static_cast<std::uint32_t>(7 + i % 2)});
    }
    mark_step(1'080, 9);
    EXPECT_THAT(lengths(capture.build()), ElementsAre(200, 100, 100, 100, 100, 100, 100, 100));
}

// With one stream: a step begins when the host has begun it and all that was launched before is done.
TEST(StepTimesOracle, AgreesWithASearchOfAllOperations) {
    std::uint64_t delayed = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint64_t>(random() % n); };
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        thread_script& main = capture.thread("python");
        std::vector<std::int64_t> begins_ns;
        std::vector<std::pair<std::int64_t, std::int64_t>> work;  // launch, end
        std::uint64_t now = 100;
        std::uint64_t free_ns = 0;
        const std::uint32_t longest = 1 + static_cast<std::uint32_t>(below(40));
        for (std::uint64_t i = 0; i < 80; ++i) {
            now += 2 + below(20);
            if (below(4) == 0) {
                main.step(now, begins_ns.size() + 1, own);
                begins_ns.push_back(static_cast<std::int64_t>(now));
                continue;
            }
            main.launch(now, i + 1);
            const std::uint64_t start = std::max(now + 1, free_ns) + below(3);
            free_ns = start + 1 + below(longest);
            capture.kernel(i + 1, start, free_ns);
            work.emplace_back(now, free_ns);
        }
        const timeline data = capture.build();
        const whole_steps found = find_whole_steps(data, attribute(data));
        ASSERT_EQ(found.steps.size() + 1, begins_ns.size());
        const auto done = [&](std::int64_t ns) {
            std::int64_t out = ns;
            for (const auto& [launch, end] : work) {
                if (launch < ns) out = std::max(out, end);
            }
            return out;
        };
        // Nothing counts if no step has work.
        const bool has_work = std::any_of(work.begin(), work.end(), [&](const auto& each) {
            return each.first >= begins_ns.front() && each.first < begins_ns.back();
        });
        for (std::size_t i = 0; i < found.steps.size(); ++i) {
            ASSERT_EQ(found.steps[i].start_ns, begins_ns[i]);
            ASSERT_EQ(found.steps[i].from_ns(), has_work ? done(begins_ns[i]) : begins_ns[i]) << seed;
            ASSERT_EQ(found.steps[i].to_ns(), has_work ? done(begins_ns[i + 1]) : begins_ns[i + 1]) << seed;
            delayed += found.steps[i].start_delay_ns > 0 ? 1 : 0;
        }
        // What was launched in a step runs in it.
        for (const gpu_op& op : data.ops) {
            for (const whole_step& step : found.steps) {
                const std::int64_t called_ns = data.api_calls[op.launch].start_ns;
                if (!has_work || called_ns < step.start_ns || called_ns >= step.end_ns) continue;
                ASSERT_GE(op.start_ns, step.from_ns());
                ASSERT_LE(op.end_ns, step.to_ns());
            }
        }
    }
    EXPECT_GT(delayed, 100U);
}

// The recording's share in which the GPU is busy has nothing to do with steps, or with those that were chosen.
TEST_F(StepTimes, TheGpuIsBusyInAllThatWasRecorded) {
    main.launch(100, 50);
    capture.kernel(50, 101, 601);  // before the first step
    for (std::uint64_t i = 0; i < 5; ++i) {
        mark_step(1'000 + i * 100, i);
        main.launch(1'010 + i * 100, i + 1);
        capture.kernel(i + 1, 1'020 + i * 100, 1'030 + i * 100);
        capture.kernel(i + 1, 1'025 + i * 100, 1'035 + i * 100, {.stream = 8});
    }
    const timeline data = capture.build();
    std::int64_t recorded_ns = 0;
    for (const timeline_window& window : data.windows) recorded_ns += window.end_ns - window.start_ns;
    const auto of = break_down(data, attribute(data));
    ASSERT_TRUE(of);
    EXPECT_EQ(of->recorded_busy_ns, 500 + 5 * 15);
    EXPECT_EQ(of->recorded_ns, recorded_ns);
    const selected_part part(data, {}, {.steps = "2:3"});
    const auto of_part = break_down(part.whole(), part.whole_att(), {}, part.scope());
    ASSERT_TRUE(of_part);
    EXPECT_EQ(of_part->steps, 1U);
    EXPECT_EQ(of_part->recorded_busy_ns, of->recorded_busy_ns);
    EXPECT_EQ(of_part->recorded_ns, of->recorded_ns);
}

// A thread that logs, and never calls CUDA, has ranges that recur more often than the steps.
TEST_F(StepTimes, AreNotThoseOfAThreadThatLaunchesNothing) {
    thread_script& logger = capture.thread("logger");
    main.push(900, "main");
    for (std::uint64_t i = 0; i < 8; ++i) {
        main.push(1'000 + i * 100, "iteration " + std::to_string(i));
        main.launch(1'010 + i * 100, i + 1).pop(1'099 + i * 100);
        capture.kernel(i + 1, 1'015 + i * 100, 1'090 + i * 100);
    }
    for (std::uint64_t i = 0; i < 80; ++i) logger.push(1'000 + i * 10, "flush").pop(1'009 + i * 10);
    main.pop(1'900);
    const timeline data = capture.build();
    const whole_steps found = find_whole_steps(data, attribute(data));
    EXPECT_EQ(found.range, "iteration #");
    EXPECT_THAT(lengths_of(found.steps), Each(100));
    EXPECT_THAT(found.steps, SizeIs(7));
}

// Of a program that launches nothing, the thread with the most time.
TEST_F(StepTimes, AreThoseOfTheBusiestThreadWhereNoneLaunches) {
    thread_script& logger = capture.thread("logger");
    for (std::uint64_t i = 0; i < 8; ++i) {
        main.push(1'000 + i * 100, "iteration").pop(1'099 + i * 100);
        logger.push(1'000 + i * 100, "flush").pop(1'060 + i * 100);
    }
    const timeline data = capture.build();
    EXPECT_EQ(find_whole_steps(data, attribute(data)).range, "iteration");
}

// A trace with torch.profiler.schedule(active=1): its only step has its end.
TEST_F(StepTimes, HaveTheirEndWhereThereIsOnlyOne) {
    main.push(1'000, "ProfilerStep#7").launch(1'010, 1).pop(2'000);
    capture.kernel(1, 1'020, 1'500);
    timeline data = capture.build();
    const auto found = measure_steps(data, attribute(data));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->steps, 1U);
    EXPECT_EQ(found->total_ns, 1'000);
    EXPECT_EQ(found->whole.steps.front().number, 7U);
    count_steps_by(data, "ProfilerStep#7");
    const auto counted = measure_steps(data, attribute(data));
    ASSERT_TRUE(counted);
    EXPECT_EQ(counted->total_ns, 1'000);
}

// Its work may last longer than the host was in it.
TEST_F(StepTimes, OfTheOnlyStepLastUntilItsWorkIsDone) {
    main.push(1'000, "ProfilerStep#7").launch(1'010, 1).pop(2'000);
    capture.kernel(1, 1'020, 2'500);
    EXPECT_THAT(lengths(capture.build()), ElementsAre(1'500));
}

TEST_F(StepTimes, AreNotKnownOfARangeThatIsCut) {
    main.push(1'000, "ProfilerStep#7").launch(1'010, 1);
    capture.kernel(1, 1'020, 1'500);
    EXPECT_THAT(lengths(capture.build()), SizeIs(0));
}

// Of several, the last may be cut by the end of the profiler; single ones between gaps count.
TEST_F(StepTimes, LastUntilTheNextOneBeginsIfLittleIsBetween) {
    const auto step = [&](std::uint64_t ns, std::uint64_t until_ns, int number) {
        main.push(ns, "ProfilerStep#" + std::to_string(number)).pop(until_ns);
    };
    step(1'000, 1'095, 3);
    step(1'100, 1'190, 4);  // 110 until the next: a tenth of 90 is 9
    step(1'210, 1'305, 5);
    step(2'000, 2'090, 9);
    step(3'000, 3'095, 12);
    EXPECT_THAT(lengths(capture.build()), ElementsAre(100, 90, 95, 90));
}

// What is asked for by number counts, warm-up or not, in all reports; the last step, which is never whole, in none.
TEST_F(StepTimes, ChosenByNumberAreTheSameEverywhere) {
    for (std::uint64_t i = 0; i < 6; ++i) {
        mark_step(1'000 + i * 100, i);
        main.launch(1'010 + i * 100, i + 1);
        capture.kernel(i + 1, 1'020 + i * 100, 1'090 + i * 100);
    }
    main.push(1'590, "end").pop(1'600);
    const timeline data = capture.build();
    using numbers = std::vector<std::uint64_t>;
    for (const auto& [steps, expected] :
         std::vector<std::pair<std::string, numbers>>{{"0:3", {0, 1, 2}}, {"3:", {3, 4}}, {"0:1", {0}}}) {
        const selection_request request{.steps = steps};
        const selected_part part(data, {}, request);
        EXPECT_EQ(part.facts().steps, expected) << steps;
        const auto measured = measure_steps(part.whole(), part.whole_att(), {}, &*part.scope().steps);
        ASSERT_TRUE(measured) << steps;
        EXPECT_EQ(measured->steps, expected.size()) << steps;
        const auto broken_down = break_down(part.whole(), part.whole_att(), {}, part.scope());
        ASSERT_TRUE(broken_down) << steps;
        EXPECT_EQ(broken_down->steps, expected.size()) << steps;
        EXPECT_EQ(choose_whole_steps(data, attribute(data), request).steps.size(), expected.size()) << steps;
        const auto estimated = estimate_steps(part.data(), part.att(), {}, &*part.scope().steps);
        EXPECT_EQ(estimated.captured_steps, expected.size()) << steps;
        EXPECT_EQ(estimated.total.gpu_ns.mean, 70) << steps;
    }
}

// Steps that nobody counted are steps of the report of that name, too: observed ones here.
TEST_F(StepTimes, OfTheReportStepsAreThoseOfTheHeading) {
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    for (std::uint64_t i = 0; i < 6; ++i) {
        main.add({.ticks = 1'000 + i * 100,
                  .name = capture.name("step"),
                  .category = i == 0 ? 0 : optimizer_witness,
                  .domain = phases,
                  .kind = record_kind::range_push});
        main.launch(1'010 + i * 100, i + 1);
        main.pop(1'100 + i * 100, phases);
        capture.kernel(i + 1, 1'020 + i * 100, 1'080 + i * 100);
    }
    const timeline data = capture.build();
    const attribution att = attribute(data);
    const auto measured = measure_steps(data, att);
    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->steps, 4U);  // without the first and the last
    const step_estimate estimated = estimate_steps(data, att, {});
    EXPECT_EQ(estimated.captured_steps, measured->steps);
    EXPECT_EQ(estimated.warm_up, measured->warm_up);
    EXPECT_EQ(estimated.all_steps, 6U);
    EXPECT_EQ(estimated.total.gpu_ns.mean, 60);
}

}  // namespace
}  // namespace prof::step_times_test
