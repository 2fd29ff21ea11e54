// SPDX-License-Identifier: Apache-2.0
// The sample of a large capture's steps (step_sample.hpp, time_slices.hpp), and prices by it against those by all
// steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/selection/step_sample.hpp"
#include "analysis/selection/time_slices.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/random_code.hpp"
#include "diagnose/simulated_program.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/reports.hpp"

namespace prof::diagnose_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// By correlation of an operation: its times, the name of the range that owns it, whether it is adopted, its kernel.
using placed_ops = std::map<std::uint64_t, std::tuple<std::int64_t, std::string, bool, std::string>>;

placed_ops ops_of(const timeline& data) {
    const attribution att = attribute(data);
    placed_ops out;
    for (std::size_t i = 0; i < data.ops.size(); ++i) {
        const gpu_op& op = data.ops[i];
        const std::string owner =
            is_range(att.owner[op_id(i)]) ? std::string(data.name(data.ranges[att.owner[op_id(i)]].name)) : "";
        const std::string kernel = op.kind == op_kind::kernel ? std::string(data.kernel_symbol(op)) : "";
        out[op.correlation] = {op.start_ns, owner, att.adopted[op_id(i)] != 0, kernel};
    }
    return out;
}

// Kernels of different names, so that no two details are alike.
timeline recorded(random_code& random) {
    for (code& strand : random.program) {
        for (std::size_t i = 0; i < strand.size(); ++i) {
            if (strand[i].what == action::launch) strand[i].name = "kernel" + std::to_string(i);
        }
    }
    return simulation(random.program, random.on).capture.build();
}

void expect_consistent(const timeline& data) {
    std::size_t listed = 0;
    for (std::uint32_t i = 0; i < data.api_calls.size(); ++i) {
        for (std::uint32_t k = 0; k < data.api_calls[i].op_count; ++k) {
            EXPECT_EQ(data.ops.at(data.ops_by_launch.at(data.api_calls[i].first_op + k)).launch, i);
            ++listed;
        }
    }
    EXPECT_EQ(listed, data.ops_by_launch.size());
    for (const timeline_range& range : data.ranges) {
        if (range.parent == npos) continue;
        EXPECT_LE(data.ranges.at(range.parent).start_ns, range.start_ns);
    }
}

TEST(TimeSlices, OfAllTimeAreTheWhole) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        random_code random(seed, {.strands = 1 + seed % 2, .uses_helper = seed % 2 == 0});
        const timeline whole = recorded(random);
        const time_span all{whole.start_ns, whole.end_ns + 1};
        const timeline slices = slices_of(whole, std::span(&all, 1));
        expect_consistent(slices);
        EXPECT_EQ(slices.ranges.size(), whole.ranges.size());
        EXPECT_EQ(slices.api_calls.size(), whole.api_calls.size());
        EXPECT_EQ(ops_of(slices), ops_of(whole)) << "seed " << seed;
    }
}

TEST(TimeSlices, KeepWhatBeginsInThemAndItsPlace) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        random_code random(seed, {.uses_helper = true});
        const timeline whole = recorded(random);
        const std::int64_t third_ns = (whole.end_ns - whole.start_ns) / 6;
        const std::vector<time_span> spans = {{whole.start_ns + third_ns, whole.start_ns + 2 * third_ns},
                                              {whole.start_ns + 4 * third_ns, whole.start_ns + 5 * third_ns}};
        const timeline slices = slices_of(whole, spans);
        expect_consistent(slices);
        ASSERT_EQ(slices.windows.size(), 2U);
        const placed_ops before = ops_of(whole);
        const placed_ops after = ops_of(slices);
        for (const auto& [correlation, op] : after) {
            // Which thread autograd's works for is decided by what the slices have.
            if (!std::get<2>(op)) {
                EXPECT_EQ(op, before.at(correlation)) << "seed " << seed;
            }
        }
        const auto is_in_spans = [&](std::int64_t ns) {
            return std::any_of(spans.begin(), spans.end(),
                               [&](const time_span& span) { return ns >= span.start_ns && ns < span.end_ns; });
        };
        std::set<std::uint32_t> waited_for;
        for (const prof::host_wait& wait : whole.host_waits) waited_for.insert(wait.op);
        for (const prof::stream_wait& wait : whole.stream_waits) waited_for.insert(wait.waits_for);
        for (std::uint32_t i = 0; i < whole.ops.size(); ++i) {
            const gpu_op& op = whole.ops[i];
            const std::int64_t at_ns = op.launch == npos ? op.start_ns : whole.api_calls[op.launch].start_ns;
            const bool is_inside = is_in_spans(at_ns) || is_in_spans(op.start_ns);
            if (is_inside || !waited_for.contains(i)) {
                EXPECT_EQ(after.contains(op.correlation), is_inside) << "seed " << seed;
            }
        }
    }
}

// Steps of this code, each followed by that of `between` if there is any for its number.
std::vector<code> steps_of(std::size_t count, const code& step, const std::map<std::size_t, code>& between = {}) {
    code all;
    for (std::size_t i = 0; i <= count; ++i) {
        all.push_back({action::step});
        all.insert(all.end(), step.begin(), step.end());
        if (const auto found = between.find(i); found != between.end()) {
            all.insert(all.end(), found->second.begin(), found->second.end());
        }
    }
    all.push_back({action::step});
    return {all};
}

// A host that computes, launches kernels and waits; 22 records a step.
code waiting_step() {
    code out = {{.what = action::push, .name = "forward"}, {.what = action::compute, .ns = 300 * us}};
    for (int i = 0; i < 10; ++i) out.push_back({.what = action::launch, .ns = 50 * us});
    out.push_back({.what = action::wait});
    out.push_back({.what = action::pop});
    out.push_back({.what = action::compute, .ns = 200 * us});
    return out;
}

struct sampled {
    explicit sampled(const std::vector<code>& program, const sample_limits& given)
        : data(simulation(program).capture.build()), limits(given) {
        steps = find_whole_steps(data, attribute(data));
        leave_out_warm_up(steps);
        sample = sample_steps(data, steps.steps, limits);
    }
    std::size_t records() const {
        const timeline slices = slices_of(data, sample.spans);
        return slices.api_calls.size() + slices.ops.size();
    }
    // By this capture's sample, or by all.
    priced_changes gains(bool by_all) const {
        const projection_options projected;
        const report_kind* const kind = find_report("gpu-projection");
        report_document document = make_document({.data = data}, std::span(&kind, 1));
        capture_diagnosis(data, projected, default_least_share, {}, false, by_all ? sample_limits{} : limits)
            .add_gains(document);
        return block_in<answer_block>(document.parts.front())->gains.value_or(priced_changes{});
    }

    timeline data;
    sample_limits limits;
    whole_steps steps;
    step_sample sample;
};

TEST(StepSample, IsSpreadAndBounded) {
    const sampled of(steps_of(2'000, waiting_step()), {.records = 2'000, .runs = 4});
    ASSERT_EQ(of.sample.spans.size(), 4U);
    EXPECT_LE(of.records(), 2'400U);
    EXPECT_GE(of.sample.steps.size(), 60U);
    for (std::size_t i = 0; i + 1 < of.sample.spans.size(); ++i) {
        EXPECT_LE(of.sample.spans[i].end_ns, of.sample.spans[i + 1].start_ns);
    }
    // One run in each quarter.
    const std::int64_t quarter_ns = (of.steps.steps.back().end_ns - of.steps.steps.front().start_ns) / 4;
    for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t from_ns = of.steps.steps.front().start_ns + i * quarter_ns;
        EXPECT_TRUE(std::any_of(of.sample.steps.begin(), of.sample.steps.end(), [&](const whole_step& step) {
            return step.start_ns >= from_ns && step.end_ns <= from_ns + quarter_ns;
        })) << i;
    }
    const time_spans spans(of.sample.spans);
    for (const whole_step& step : of.sample.steps) {
        EXPECT_EQ(spans.cut(step.start_ns, step.end_ns), (time_span{step.start_ns, step.end_ns}));
    }
}

TEST(StepSample, LeavesOutRareLongSteps) {
    const code checkpoint = {{.what = action::compute, .ns = 5'000 * us}};
    std::map<std::size_t, code> between;
    for (std::size_t i = 7; i < 2'000; i += 20) between[i] = checkpoint;
    const sampled of(steps_of(2'000, waiting_step(), between), {.records = 4'000});
    ASSERT_FALSE(of.sample.steps.empty());
    for (const whole_step& step : of.sample.steps) EXPECT_LT(step.end_ns - step.start_ns, 3'000 * us);
    // Their time is no secret: the lengths of all steps are known.
    const priced_changes by_all = of.gains(true);
    const priced_changes by_sample = of.gains(false);
    EXPECT_EQ(by_all.sampled, 0U);
    EXPECT_EQ(by_sample.sampled, of.sample.steps.size());
    const auto uneven = std::find_if(by_sample.dearest.begin(), by_sample.dearest.end(),
                                     [](const priced_change& gain) { return gain.rule == "uneven_steps"; });
    ASSERT_NE(uneven, by_sample.dearest.end());
    EXPECT_NEAR(uneven->gain_ns, 5'000 * us / 20.0, 5 * us);
}

TEST(StepSample, HasNoStepOfTooManyRecords) {
    const std::vector<code> program = steps_of(30, waiting_step());
    EXPECT_THAT(sampled(program, {.records = 100, .most_a_step = 20}).sample.steps, IsEmpty());
    // Of one that is larger than a sample should be, one is taken.
    EXPECT_EQ(sampled(program, {.records = 10, .most_a_step = 30}).sample.steps.size(), 1U);
}

TEST(StepSample, DoesNotJoinStepsOfTwoWindows) {
    sampled of(steps_of(100, waiting_step()), {.records = 100'000, .runs = 1});
    ASSERT_EQ(of.sample.spans.size(), 1U);
    const std::int64_t divide_ns = of.steps.steps[50].start_ns;
    timeline_window second = of.data.windows.front();
    of.data.windows.front().end_ns = divide_ns;
    second.start_ns = divide_ns;
    of.data.windows.push_back(second);
    of.sample = sample_steps(of.data, of.steps.steps, of.limits);
    ASSERT_EQ(of.sample.spans.size(), 2U);
    EXPECT_LE(of.sample.spans[0].end_ns, divide_ns);
    EXPECT_GE(of.sample.spans[1].start_ns, divide_ns);
}

TEST(StepSample, PricesAreThoseByAllSteps) {
    const sampled of(steps_of(1'000, waiting_step()), {.records = 2'000});
    const priced_changes by_all = of.gains(true);
    const priced_changes by_sample = of.gains(false);
    ASSERT_FALSE(by_all.dearest.empty());
    ASSERT_EQ(by_all.dearest.size(), by_sample.dearest.size());
    for (std::size_t i = 0; i < by_all.dearest.size(); ++i) {
        EXPECT_EQ(by_sample.dearest[i].rule, by_all.dearest[i].rule);
        EXPECT_EQ(by_sample.dearest[i].title, by_all.dearest[i].title);
        EXPECT_NEAR(by_sample.dearest[i].gain_ns, by_all.dearest[i].gain_ns, 0.05 * by_all.dearest[i].gain_ns);
    }
}

}  // namespace
}  // namespace prof::diagnose_test
