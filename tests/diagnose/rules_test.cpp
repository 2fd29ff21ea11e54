// SPDX-License-Identifier: Apache-2.0
// Each rule on a program that has its flaw, on the same one without it, and on one in which the flaw gains nothing. The
// expected gain is that of simulated_program.hpp, which executes the program without the flaw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t counted_steps = 12;  // the first of 13 is warm-up

instruction push(const std::string& name) { return {.what = action::push, .name = name}; }
instruction pop() { return {.what = action::pop}; }
instruction compute(std::int64_t ns) { return {.what = action::compute, .ns = ns}; }
instruction launch(std::int64_t ns, std::uint32_t stream = 0, const std::string& name = {}) {
    return {.what = action::launch, .ns = ns, .stream = stream, .name = name};
}
// `stream` waits for what `other` has to do by now.
code stream_wait(std::uint32_t stream, std::uint32_t other) {
    return {{.what = action::record_event, .stream = other, .event = other + 1},
            {.what = action::stream_wait, .stream = stream, .event = other + 1}};
}
instruction wait(std::uint32_t stream = 0) { return {.what = action::wait, .stream = stream}; }
instruction copy(action what, std::int64_t ns, bool is_pageable = false, std::uint64_t bytes = 1U << 20,
                 std::uint32_t stream = 0) {
    return {.what = what, .ns = ns, .stream = stream, .is_pageable = is_pageable, .bytes = bytes};
}
template <typename... TCode>
code joined(const TCode&... parts) {
    code out;
    (out.insert(out.end(), parts.begin(), parts.end()), ...);
    return out;
}
code repeated(int count, const code& of) {
    code out;
    for (int i = 0; i < count; ++i) out.insert(out.end(), of.begin(), of.end());
    return out;
}

// Steps of this code.
std::vector<code> program_of(const code& step) {
    code all;
    for (std::size_t i = 0; i <= counted_steps; ++i) {
        all.push_back({action::step});
        all.insert(all.end(), step.begin(), step.end());
    }
    all.push_back({action::step});
    return {all};
}

struct diagnosed {
    explicit diagnosed(const code& step) : run(program_of(step)) {
        run.capture.h200();
        look();
    }
    void look() {
        const timeline data = run.capture.build();
        of = diagnose(data, attribute(data));
    }
    const finding* found(const std::string& rule) const {
        const auto at = std::find_if(of.findings.begin(), of.findings.end(),
                                     [&](const finding& each) { return each.rule == rule; });
        return at == of.findings.end() ? nullptr : &*at;
    }
    std::vector<std::string> rules() const {
        std::vector<std::string> out;
        for (const finding& each : of.findings) out.push_back(each.rule);
        return out;
    }

    simulation run;
    diagnosis of;
};

struct rule_case {
    std::string rule;
    code flawed;
    code without;  // the same, as it would be without the flaw
    code hidden;   // with the flaw, which gains nothing
    std::string place;
    std::uint64_t places_a_step = 1;

    friend std::ostream& operator<<(std::ostream& out, const rule_case& of) { return out << of.rule; }
};

struct DiagnosisRule : testing::TestWithParam<rule_case> {};

TEST_P(DiagnosisRule, FindsTheFlawAndItsPrice) {
    const rule_case& of = GetParam();
    const diagnosed flawed(of.flawed);
    ASSERT_FALSE(flawed.of.findings.empty());
    EXPECT_EQ(flawed.of.steps, counted_steps);
    const finding& first = flawed.of.findings.front();
    EXPECT_EQ(first.rule, of.rule);
    EXPECT_EQ(first.steps, counted_steps);
    EXPECT_THAT(first.title, HasSubstr(of.place));
    EXPECT_FALSE(first.advice.empty());
    EXPECT_FALSE(first.bound.empty());
    ASSERT_FALSE(first.parts.empty());
    EXPECT_EQ(first.parts.front().count, of.places_a_step * counted_steps);
    EXPECT_LE(first.gain_ns, flawed.of.together_ns);

    const simulation better(program_of(of.without));
    const double truth_ns = static_cast<double>(length_of(flawed.run, flawed.run) - length_of(better, better));
    EXPECT_GT(truth_ns, 0);
    const double error_ns = static_cast<double>(first.gain_ns) - truth_ns;
    EXPECT_LE(std::abs(error_ns), std::max(0.1 * truth_ns, 100'000.0 * counted_steps))
        << "gain " << first.gain_ns << ", in truth " << truth_ns;
    EXPECT_LE(std::abs(error_ns), 0.15 * truth_ns) << "gain " << first.gain_ns << ", in truth " << truth_ns;
}

TEST_P(DiagnosisRule, FindsNothingWithoutTheFlaw) {
    const diagnosed fine(GetParam().without);
    EXPECT_EQ(fine.found(GetParam().rule), nullptr);
    EXPECT_THAT(fine.of.looked, Contains(GetParam().rule));
}

TEST_P(DiagnosisRule, FindsNothingThatTheGpuHides) {
    const diagnosed hidden(GetParam().hidden);
    EXPECT_THAT(hidden.rules(), Not(Contains(GetParam().rule)));
}

const code work = {push("forward"), launch(400 * us), launch(400 * us), pop()};
// A second stream that is busy all the time, so that the first one may wait.
const code busy_beside = {launch(4'000 * us, 1)};

std::vector<rule_case> rule_cases() {
    std::vector<rule_case> out;
    const auto data_range = [](const code& inside) { return joined(code{push("data")}, inside, code{pop()}); };
    const code load = data_range({compute(900 * us)});
    const code finish = {wait(), compute(5 * us)};
    out.push_back({"data_loader", joined(load, work, finish), joined(data_range({}), work, finish),
                   joined(load, work, busy_beside), "data"});

    const code lock = {push("forward"), push("tokenize"), compute(700 * us), pop(), launch(300 * us), pop()};
    const code no_lock = {push("forward"), push("tokenize"), pop(), launch(300 * us), pop()};
    out.push_back(
        {"host_code", joined(lock, finish), joined(no_lock, finish), joined(lock, busy_beside), "forward/tokenize"});

    // The value is needed before the host prepares the next launches.
    const code prepare = {push("optimizer"), compute(600 * us), launch(800 * us), pop()};
    const code item = {push("loss"), wait(), pop()};
    out.push_back({"synchronization", joined(work, item, prepare), joined(work, prepare),
                   joined(busy_beside, work, item, prepare), "loss"});

    // The host waits for all work before the copy, too.
    const auto move = [](action how) {
        return code{push("to_device"), copy(how, 20 * us), pop(), push("next"), compute(500 * us), pop()};
    };
    out.push_back({"blocking_copies", joined(work, move(action::blocking_copy)), joined(work, move(action::copy)),
                   joined(work, move(action::blocking_copy), busy_beside), "to_device"});
    const code slow_copy = {
        push("to_device"), copy(action::blocking_copy, 600 * us, true), pop(), push("next"), compute(500 * us), pop()};
    const code no_time = {push("to_device"), pop(), push("next"), compute(500 * us), pop()};
    out.push_back({"pageable_copies", joined(slow_copy, work), joined(no_time, work),
                   joined(slow_copy, work, busy_beside), "to_device"});

    const auto pieces = [](int count) {
        return joined(code{push("inputs")}, repeated(count, {copy(action::copy, 2 * us, false, 256)}), code{pop()});
    };
    out.push_back({"small_copies", joined(pieces(60), work, finish), joined(pieces(1), work, finish),
                   joined(pieces(60), work, busy_beside), "60 copies of 256 bytes", 60});

    const code allocation = {push("backward"), {.what = action::allocate, .ns = 800 * us}, launch(100 * us), pop()};
    const code no_allocation = {push("backward"), launch(100 * us), pop()};
    out.push_back({"allocation", joined(allocation, no_allocation), joined(no_allocation, no_allocation),
                   joined(allocation, no_allocation, busy_beside), "backward"});

    const auto compiling = [](std::int64_t ns) {
        return code{
            push("forward"), push("_compile.compile_inner (dynamo_timed)"), compute(ns), pop(), launch(50 * us), pop()};
    };
    out.push_back({"compilation", joined(compiling(3'000 * us), work, finish), joined(compiling(0), work, finish),
                   joined(compiling(3'000 * us), work, busy_beside), "forward"});

    const auto small_kernels = [](std::int64_t kernel_ns) {
        return joined(code{push("forward")}, repeated(100, {compute(12 * us), launch(kernel_ns)}), code{pop()});
    };
    // As a graph: no time of the host, and 0.1 us between kernels.
    out.push_back({"launch_bound",
                   joined(small_kernels(6 * us), code{wait()}),
                   {push("forward"), launch(610 * us), pop(), wait()},
                   small_kernels(40 * us),
                   "forward",
                   100});

    const auto reduce = [](std::uint32_t stream, std::int64_t ns) {
        return joined(work,
                      code{push("all_reduce"), launch(ns, stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), pop()});
    };
    out.push_back({"communication", reduce(0, 500 * us), reduce(0, 1), reduce(1, 500 * us), "AllReduce"});

    const auto prefetch = [](std::uint32_t stream, std::int64_t ns) {
        return joined(code{copy(action::copy, ns, false, 8U << 20, stream)}, work);
    };
    out.push_back({"copy_overlap", prefetch(0, 300 * us), prefetch(0, 1), prefetch(1, 300 * us), "Memcpy HtoD"});

    const auto products = [](const std::string& kernel, std::int64_t ns, const code& beside) {
        return joined(beside, repeated(5, {launch(ns, 0, kernel)}));
    };
    // The peaks of FP32 and dense TF32 of an H200: 66.9 and 494.7 TFLOP/s.
    out.push_back({"precision", products("cutlass_80_simt_sgemm_128x256_8x4_nt_align1", 494'700, {}),
                   products("cutlass_80_tensorop_s1688gemm_128x256", 66'900, {}),
                   products("cutlass_80_simt_sgemm_128x256_8x4_nt_align1", 494'700, {launch(9'000 * us, 1)}), "sgemm",
                   5});

    const auto two_streams = [](bool is_serial) {
        const code to_side = is_serial ? stream_wait(1, 0) : code{};
        const code back = is_serial ? stream_wait(0, 1) : code{};
        return joined(code{push("forward"), launch(300 * us)}, to_side, repeated(2, {launch(250 * us, 1)}), back,
                      code{launch(300 * us), pop()});
    };
    out.push_back({"serial_streams", two_streams(true), two_streams(false),
                   joined(two_streams(true), code{compute(3'000 * us)}), "stream 8", 2});
    return out;
}

INSTANTIATE_TEST_SUITE_P(All, DiagnosisRule, testing::ValuesIn(rule_cases()),
                         [](const auto& of) { return of.param.rule; });

// --- what is no rule's
// ------------------------------------------------------------------------------------------------

TEST(Diagnosis, OfACleanProgramHasNoFinding) {
    const diagnosed clean(work);
    EXPECT_THAT(clean.rules(), IsEmpty());
    EXPECT_THAT(clean.of.bound_by, HasSubstr("kernels"));
    EXPECT_EQ(clean.of.together_ns, 0);
    EXPECT_THAT(clean.of.not_looked, IsEmpty());
    EXPECT_EQ(clean.of.looked.size(), diagnosis_rules().size());
    EXPECT_EQ(clean.of.warm_up, 1U);
}

TEST(Diagnosis, WithoutChangesIsTheRecordedTime) {
    for (const rule_case& each : rule_cases()) {
        for (const code* const step : {&each.flawed, &each.without, &each.hidden}) {
            const diagnosed of(*step);
            EXPECT_EQ(of.of.replayed_ns, length_of(of.run, of.run)) << each.rule;
        }
    }
}

// A wait for the GPU, and later the host computes for as long as the GPU is idle then, too: both are found.
TEST(Diagnosis, TwoFlawsAreBothFoundAndNotAddedWhereTheyOverlap) {
    const code lock = {push("forward"), compute(700 * us), launch(300 * us), pop()};
    const code loss = {push("loss"), wait(), pop()};
    const diagnosed both(joined(work, loss, lock, work));
    const finding* const synchronization = both.found("synchronization");
    const finding* const host_code = both.found("host_code");
    ASSERT_NE(synchronization, nullptr);
    ASSERT_NE(host_code, nullptr);
    EXPECT_LT(both.of.together_ns, synchronization->gain_ns + host_code->gain_ns);
    EXPECT_GE(both.of.together_ns, std::max(synchronization->gain_ns, host_code->gain_ns));
}

TEST(Diagnosis, SaysWhyItCannotLook) {
    capture_builder nothing;
    nothing.thread("python").push(1, "forward").pop(5);
    const timeline ranges = nothing.build();
    const diagnosis without_ops = diagnose(ranges, attribute(ranges));
    EXPECT_EQ(without_ops.steps, 0U);
    EXPECT_THAT(without_ops.not_looked, ElementsAre(HasSubstr("there was no GPU work, and no steps were found")));

    nothing.kernel(1, 10, 20);
    const timeline no_calls = nothing.build();
    EXPECT_THAT(diagnose(no_calls, attribute(no_calls)).not_looked,
                ElementsAre(AllOf(HasSubstr("calls that launch were not recorded"), HasSubstr("no_launches"))));

    nothing.thread_at(0).launch(6, 1);
    const timeline no_steps = nothing.build();
    const diagnosis whole = diagnose(no_steps, attribute(no_steps));
    EXPECT_FALSE(whole.has_steps);
    EXPECT_THAT(whole.not_looked, ElementsAre(AllOf(HasSubstr("steps: none were found"), HasSubstr("step_range"))));
}

TEST(Diagnosis, DistinguishesNothingFoundFromNotRecorded) {
    diagnosed of(joined(work, code{wait()}));
    EXPECT_THAT(of.of.looked, Contains("allocation"));
    of.run.capture.parts().properties["activities"] = "kernels,copies";
    of.look();
    EXPECT_THAT(of.of.looked, Not(Contains("allocation")));
    EXPECT_THAT(of.of.not_looked, Contains(AllOf(HasSubstr("allocation: allocations were not recorded"),
                                                 HasSubstr("option activities"))));
    EXPECT_THAT(of.of.not_looked, Contains(HasSubstr("synchronization: waits were not recorded")));
}

// Between its calls, too.
TEST(DiagnosisRules, DataLoaderHasAllOfTheHostsTimeInIt) {
    code all;
    for (int i = 0; i <= 20; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = "data"});
        for (int call = 0; call < 20; ++call) {
            all.push_back({action::compute, 60 * us});
            all.push_back({.what = action::launch, .ns = us});
        }
        all.push_back({action::pop});
        all.push_back({.what = action::launch, .ns = 500 * us});
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    const simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    ASSERT_FALSE(of.findings.empty());
    EXPECT_EQ(of.findings.front().rule, "data_loader");
    EXPECT_NEAR(of.per_step(of.findings.front().cost_ns), 20 * 60 * us, 20 * us);
}

}  // namespace
}  // namespace prof::diagnose_test
