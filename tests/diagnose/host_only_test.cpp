// SPDX-License-Identifier: Apache-2.0
// Programs without GPU work, put together by hand: what is found on the thread with the steps, and its price, which is
// known from what the program was made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "diagnose/uneven_steps.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::host_only {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

enum class of_whom : std::uint8_t { phases, program, nobody };

// A range, or time in none, with the parts inside it first.
struct part {
    std::string name{};
    std::int64_t us = 0;
    of_whom whose = of_whom::phases;
    std::vector<part> inside{};
};
using parts = std::vector<part>;

part phase(const std::string& name, std::int64_t us, parts inside = {}) {
    return {name, us, of_whom::phases, std::move(inside)};
}
part range(const std::string& name, std::int64_t us, parts inside = {}) {
    return {name, us, of_whom::program, std::move(inside)};
}
part nothing(std::int64_t us) { return {"", us, of_whom::nobody}; }

std::int64_t length_of(const parts& all) {
    std::int64_t out = 0;
    for (const part& each : all) out += each.us + length_of(each.inside);
    return out;
}

// The first of the steps is warm-up, and one that does not count follows the last.
class program {
public:
    explicit program(const std::vector<parts>& steps, of_whom has_steps = of_whom::phases, bool is_observed = true) {
        if (has_steps == of_whom::phases) phases_ = made.domain(std::string(phase_domain));  // else it has none
        thread_ = &made.thread("python");
        if (has_steps == of_whom::phases && is_observed) add(phase("startup", 5'000));  // which PyTorch's programs have
        for (const parts& step : steps) {
            if (has_steps != of_whom::nobody) push(std::string("step"), has_steps);
            for (const part& each : step) add(each);
            if (has_steps != of_whom::nobody) pop(has_steps);
        }
    }

    diagnosis diagnosed() const {
        const timeline data = made.build();
        return diagnose(data, attribute(data));
    }

    capture_builder made;

private:
    void push(const std::string& name, of_whom whose) {
        thread_->push(static_cast<std::uint64_t>(now_ns_), name, whose == of_whom::phases ? phases_ : std::uint16_t{0});
    }
    void pop(of_whom whose) {
        thread_->pop(static_cast<std::uint64_t>(now_ns_), whose == of_whom::phases ? phases_ : std::uint16_t{0});
    }
    void add(const part& of) {
        if (of.whose != of_whom::nobody) push(of.name, of.whose);
        for (const part& each : of.inside) add(each);
        now_ns_ += of.us * us;
        if (of.whose != of_whom::nobody) pop(of.whose);
    }

    std::uint16_t phases_ = 0;
    thread_script* thread_ = nullptr;
    std::int64_t now_ns_ = 1'000'000;
};

constexpr std::size_t counted = 20;

std::vector<parts> always(const parts& step) { return std::vector<parts>(counted + 2, step); }

parts training() {
    return {phase("data", 20), phase("forward", 4'000), nothing(700), phase("zero_grad", 30), phase("backward", 6'000),
            nothing(10),       phase("optimizer", 900)};
}
parts training_and(const part& more) {
    parts out = training();
    out.push_back(more);
    return out;
}

const finding* found_by(const diagnosis& of, std::string_view rule) {
    const auto found =
        std::find_if(of.findings.begin(), of.findings.end(), [&](const finding& each) { return each.rule == rule; });
    return found == of.findings.end() ? nullptr : &*found;
}

TEST(WithoutGpuWork, WorkIsNoFinding) {
    const diagnosis of = program(always(training())).diagnosed();
    EXPECT_FALSE(of.has_gpu_work);
    EXPECT_EQ(of.steps, counted);
    EXPECT_EQ(of.replayed_ns, of.wall_ns);
    EXPECT_THAT(of.findings, IsEmpty());
    EXPECT_THAT(of.looked, ElementsAre("data_loader", "compilation", "host_code", "uneven_steps"));
    // Once.
    EXPECT_THAT(of.not_looked, ElementsAre(testing::AllOf(HasSubstr("synchronization, "), HasSubstr(", serial_streams"),
                                                          HasSubstr(": there was no GPU work"))));
}

TEST(WithoutGpuWork, TheDataLoaderIsPriced) {
    parts step = training();
    step[0] = phase("data", 40, {range("enumerate(DataLoader)#Loader.__next__", 2'000)});
    const diagnosis of = program(always(step)).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    const finding& found = of.findings.front();
    EXPECT_EQ(found.rule, "data_loader");
    EXPECT_EQ(found.title, "the program waits for its data loader, in data");
    EXPECT_EQ(found.gain_ns, static_cast<std::int64_t>(counted) * 2'040 * us);
    EXPECT_EQ(found.cost_ns, found.gain_ns);
    EXPECT_EQ(of.together_ns, found.gain_ns);
    EXPECT_EQ(found.steps, counted);
    ASSERT_THAT(found.parts, SizeIs(1));
    EXPECT_EQ(found.parts[0].count, counted);  // once a step
    EXPECT_EQ(found.parts[0].longest_ns, 2'040 * us);
    EXPECT_EQ(found.brief_advice, "DataLoader(num_workers=…, persistent_workers=True)");
    for (const std::string& line : found.advice) EXPECT_THAT(line, Not(HasSubstr("GPU")));
}

TEST(WithoutGpuWork, LoggingIsNamedByThePhaseBeforeIt) {
    const diagnosis of = program(always(training_and(nothing(1'500)))).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    const finding& found = of.findings.front();
    EXPECT_EQ(found.title, "the host runs other code, outside phases, after optimizer");
    EXPECT_EQ(found.gain_ns, static_cast<std::int64_t>(counted) * 1'500 * us);
    EXPECT_EQ(found.trust, confidence::medium);  // it may be work
    ASSERT_THAT(found.parts, SizeIs(1));
    EXPECT_EQ(found.parts[0].place, "after optimizer");
    for (const std::string& line : found.advice) EXPECT_THAT(line, Not(HasSubstr("GPU")));
}

TEST(WithoutGpuWork, LoggingInARangeOfTheProgramHasItsName) {
    const diagnosis of = program(always(training_and(range("metrics", 1'500)))).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_EQ(of.findings[0].title, "the host runs other code, in metrics");
    EXPECT_EQ(of.findings[0].gain_ns, static_cast<std::int64_t>(counted) * 1'500 * us);
}

// A range inside a phase is part of the work.
TEST(WithoutGpuWork, ARangeInAPhaseIsWork) {
    parts step = training();
    step[1] = phase("forward", 2'000, {range("attention", 2'000)});
    EXPECT_THAT(program(always(step)).diagnosed().findings, IsEmpty());
}

// Between evaluation and the next phase there is no loss of a training step.
TEST(WithoutGpuWork, WhatFollowsAnEvaluationIsOutsidePhases) {
    const diagnosis of = program(always({phase("data", 10), phase("evaluation", 5'000), nothing(800)})).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_THAT(of.findings[0].title, HasSubstr("after evaluation"));
    EXPECT_EQ(of.findings[0].gain_ns, static_cast<std::int64_t>(counted) * 800 * us);
}

TEST(WithoutGpuWork, CompilationIsPriced) {
    std::vector<parts> steps = always(training());
    for (std::size_t i = 5; i < 8; ++i) {
        steps[i][1] = phase("forward", 4'000, {phase("compilation", 100, {phase("Net.forward (net.py)", 30'000)})});
    }
    const diagnosis of = program(steps).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_EQ(of.findings[0].rule, "compilation");
    EXPECT_EQ(of.findings[0].gain_ns, 3 * 30'100 * us);
    EXPECT_EQ(of.findings[0].steps, 3U);
}

TEST(WithoutGpuWork, UnevenStepsSayWhatHasGrown) {
    std::vector<parts> steps = always(training());
    for (const std::size_t i : {4U, 9U, 15U}) steps[i][4].us += 20'000;
    steps[9][1].us += 3'000;
    const diagnosis of = program(steps).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    const finding& found = of.findings.front();
    EXPECT_EQ(found.title, "3 of 20 steps are longer than the others");
    EXPECT_EQ(found.gain_ns, 63'000 * us);
    ASSERT_THAT(found.parts, SizeIs(3));
    EXPECT_EQ(found.parts[0].what, "step 9, most of it: backward");  // the longest
    EXPECT_THAT(found.advice, Not(Contains(HasSubstr("idle"))));
}

// Then the finding names the steps, as it does on a GPU.
TEST(WithoutGpuWork, UnevenStepsAreExplainedByOtherFindings) {
    std::vector<parts> steps = always(training_and(nothing(5)));
    for (const std::size_t i : {4U, 9U, 12U, 15U, 18U}) steps[i].back().us = 20'000;
    const diagnosis of = program(steps).diagnosed();
    EXPECT_EQ(found_by(of, uneven_steps_name), nullptr);
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_EQ(of.findings[0].steps, 5U);
    EXPECT_EQ(of.findings[0].gain_ns, 5 * 20'000 * us + 15 * 5 * us);
}

// What occurs once is no property of the steps.
TEST(WithoutGpuWork, ASingleLongStepIsUneven) {
    std::vector<parts> steps = always(training_and(nothing(5)));
    steps[9].back().us = 20'000;
    const diagnosis of = program(steps).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_EQ(of.findings[0].rule, uneven_steps_name);
    EXPECT_THAT(of.findings[0].parts[0].what, HasSubstr("most of it: outside phases, after optimizer"));
}

// Ranges of the program are its work if there are no phases: a range "data" waits for data there, too.
TEST(WithoutGpuWork, RangesTakeThePlaceOfPhases) {
    const parts step = {range("data", 1'000), range("forward", 4'000), nothing(2'000), range("logging", 500)};
    const diagnosis of = program(always(step), of_whom::program).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(2));
    EXPECT_EQ(of.findings[0].title, "the host runs other code, outside ranges");
    EXPECT_EQ(of.findings[0].gain_ns, static_cast<std::int64_t>(of.steps) * 2'000 * us);
    EXPECT_EQ(of.findings[1].title, "the program waits for its data loader, in data");
    EXPECT_EQ(of.findings[1].gain_ns, static_cast<std::int64_t>(of.steps) * 1'000 * us);
    EXPECT_THAT(of.findings[0].advice, Contains(HasSubstr("PROF_RANGE")));
}

// Phases that the program marks itself make it no program of PyTorch's.
TEST(WithoutGpuWork, AdviceIsForTheProgramsOwnLanguage) {
    const auto advice = [](const std::vector<parts>& steps, bool is_observed) {
        return program(steps, of_whom::phases, is_observed).diagnosed().findings.at(0).advice;
    };
    parts step = training();
    step[0].us = 3'000;
    EXPECT_THAT(advice(always(step), true), Contains(HasSubstr("DataLoader(num_workers")));
    EXPECT_THAT(advice(always(step), false), Not(Contains(HasSubstr("PyTorch"))));
    step = training();
    step[1] = phase("forward", 4'000, {phase("compilation", 0, {phase("compiling jit(step)", 3'000)})});
    EXPECT_THAT(advice(always(step), false), ElementsAre(HasSubstr("JAX")));
    step[1] = phase("forward", 4'000, {phase("compilation", 0, {phase("Net.forward (net.py)", 3'000)})});
    EXPECT_THAT(advice(always(step), false), ElementsAre(HasSubstr("PyTorch")));
}

// XLA computes in threads of its own.
TEST(WithoutGpuWork, CodeOutsidePhasesMayWaitForXla) {
    const parts step = {phase("compilation", 0, {phase("compiling jit(step)", 3'000)}), range("save", 4'000),
                        nothing(2'000)};
    const diagnosis of = program(always(step), of_whom::phases, false).diagnosed();
    ASSERT_THAT(of.findings, SizeIs(1));
    EXPECT_EQ(of.findings[0].rule, "compilation");
    EXPECT_THAT(of.not_looked, Contains(HasSubstr("host_code: XLA computes in threads of its own")));
}

// A range that is all of each step, whatever its steps are known from, divides nothing.
TEST(WithoutGpuWork, RangesAroundStepsAreNotTheirWork) {
    const parts divided = {range("data", 1'000), range("compute", 4'000), nothing(1'000)};
    const diagnosis inside = program(always({range("train 7", 0, divided)}), of_whom::phases, false).diagnosed();
    ASSERT_THAT(inside.findings, SizeIs(2));
    for (const finding& each : inside.findings) {
        EXPECT_EQ(each.gain_ns, static_cast<std::int64_t>(counted) * 1'000 * us) << each.title;
    }
    // With nothing in it it is the program's word for its work.
    const diagnosis of = program(always({range("train 7", 5'000)}), of_whom::phases, false).diagnosed();
    EXPECT_THAT(of.findings, IsEmpty());
    EXPECT_THAT(of.looked, Contains("host_code"));
}

// The steps are known from the range around it: what is in them is work, even if it is all of them.
TEST(WithoutGpuWork, AllOfAStepMayBeOneRangeOfWork) {
    const parts step = {range("data", 0), range("solve", 3'000, {range("assemble", 1'000), range("factorize", 1'000)})};
    const diagnosis of = program(always(step), of_whom::program).diagnosed();
    EXPECT_THAT(of.findings, IsEmpty());
    EXPECT_THAT(of.looked, Contains("host_code"));
}

TEST(WithoutGpuWork, MostOfAStepOutsideRangesMayBeItsWork) {
    const parts step = {range("logging", 500), nothing(4'500)};
    const diagnosis of = program(always(step), of_whom::program).diagnosed();
    EXPECT_THAT(of.findings, IsEmpty());
    EXPECT_THAT(of.not_looked, Contains(HasSubstr("host_code: 90 % of the steps is in none of the program's ranges")));
    EXPECT_THAT(of.looked, Not(Contains("host_code")));
}

TEST(WithoutGpuWork, WithoutForwardOrOptimizerTheCodeOutsideMayBeWork) {
    for (const std::size_t gone : {1U, 6U}) {
        parts step = training();
        step[gone] = nothing(step[gone].us);
        const diagnosis of = program(always(step)).diagnosed();
        EXPECT_THAT(of.findings, IsEmpty());
        EXPECT_THAT(of.not_looked,
                    Contains(HasSubstr(gone == 1 ? "host_code: no forward was recorded"
                                                 : "host_code: no optimizer was recorded after backward")));
    }
}

TEST(WithoutGpuWork, NothingIsPricedWithoutSteps) {
    const diagnosis of = program({{phase("forward", 4'000)}}, of_whom::nobody).diagnosed();
    EXPECT_EQ(of.steps, 0U);
    EXPECT_THAT(of.findings, IsEmpty());
    EXPECT_THAT(of.not_looked,
                ElementsAre(HasSubstr("nothing could be examined: there was no GPU work, and no steps")));
}

// Then there may have been GPU work.
TEST(WithoutGpuWork, IsNotWhatWasNotRecorded) {
    program lost(always(training_and(nothing(3'000))));
    lost.made.parts().properties["missing"] = "libcupti was not found";
    const diagnosis of = lost.diagnosed();
    EXPECT_EQ(of.steps, 0U);
    EXPECT_THAT(of.not_looked, ElementsAre("nothing could be examined: libcupti was not found"));

    program called(always(training_and(nothing(3'000))));
    called.made.thread("other").call(2'000'000, 2'001'000, 1, launch_kernel);
    EXPECT_EQ(called.diagnosed().steps, 0U);
}

// Each part's price is what the program was made of, and all together no more than the step.
TEST(WithoutGpuWork, PricesAreWhatTheProgramIsMadeOf) {
    std::mt19937 random(20'261'128);  // NOLINT(*-msc51-cpp,*-msc32-c): the same programs each time
    const auto some = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<parts> steps;
        std::map<std::string, std::int64_t> expected;  // by rule, of the steps that count
        const std::int64_t load_us = some(3'000);
        const std::int64_t log_us = some(3'000);
        const std::int64_t metrics_us = some(3'000);
        std::int64_t wall_us = 0;
        for (std::size_t i = 0; i < counted + 2; ++i) {
            const auto near = [&](std::int64_t us) { return us + some(us / 50); };
            const parts step = {phase("data", near(load_us)),
                                nothing(near(log_us)),
                                phase("forward", near(5'000), {range("inside", some(100))}),
                                nothing(some(500)),
                                phase("zero_grad", some(20)),
                                nothing(some(10)),
                                phase("backward", near(8'000)),
                                phase("optimizer", near(1'000)),
                                range("metrics", near(metrics_us), {range("accuracy", 1)})};
            steps.push_back(step);
            if (i == 0 || i > counted) continue;
            expected["data_loader"] += step[0].us;
            expected["host_code"] += step[1].us + length_of({step[8]});
            wall_us += length_of(step);
        }
        const diagnosis of = program(steps).diagnosed();
        ASSERT_EQ(of.steps, counted);
        EXPECT_EQ(of.wall_ns, wall_us * us);
        std::map<std::string, std::int64_t> gains;
        for (const finding& each : of.findings) gains[each.rule] += each.gain_ns;
        EXPECT_EQ(gains.count("uneven_steps") + gains.count("compilation"), 0U);
        const double least_ns = of.least_ns * static_cast<double>(of.steps);
        for (const auto& [rule, us_of_rule] : expected) {
            // Each of the two places of host code may be too small for a finding.
            const double ns = static_cast<double>(us_of_rule * us);
            EXPECT_LE(static_cast<double>(gains[rule]), ns) << rule;
            EXPECT_GE(static_cast<double>(gains[rule]), ns - (rule == "host_code" ? 2 : 1) * least_ns) << rule;
        }
        std::int64_t sum_ns = 0;
        for (const finding& each : of.findings) sum_ns += each.gain_ns;
        EXPECT_EQ(of.together_ns, sum_ns);
    }
}

}  // namespace
}  // namespace prof::diagnose_test::host_only
