// SPDX-License-Identifier: Apache-2.0
// Random programs and damaged captures: no time is counted twice, and nothing crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/graph_captures.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "diagnose/anything.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/host_time.hpp"
#include "diagnose/random_code.hpp"
#include "support/sanitized.hpp"

namespace prof::diagnose_test {
namespace {

// One thread, with or without autograd's: all of a step is a call or a gap, and each belongs to one group.
TEST(HostTime, OfOneProgramIsTheTimeOfItsSteps) {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        const random_code random(seed, {.uses_helper = seed % 2 == 0});
        const simulation run(random.program, random.on);
        const graph_of of(run.capture, 1);
        const host_activity host(of.data, of.att);
        code_places where(of.data, of.att, of.steps);
        std::int64_t total_ns = 0;
        replay_changes all;
        for (const host_group& group : group_host_time(*of.graph, host, where, graph_captures(of.data))) {
            total_ns += group.tally.total_ns;
            all.add(group.changes);
        }
        ASSERT_EQ(total_ns, run.steps_ns.back() - run.steps_ns[1]) << "seed " << seed;
        all.normalize();
        // No gap is cut by more than its length.
        for (const event_change& change : all.events) {
            const host_event& event = of.graph->events()[change.event];
            const std::int64_t gap_ns = event.start_ns - of.graph->events()[event.before].end_ns;
            ASSERT_LE(change.gap_less_ns, gap_ns) << "seed " << seed;
            ASSERT_LE(change.work_less_ns, event.work_ns) << "seed " << seed;
        }
    }
}

TEST(Diagnosis, PricesAreWithinTheStepsAndNeverNegative) {
    std::size_t findings = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        const random_code random(seed, {.strands = 1 + seed % 3, .streams = 1 + seed % 2});
        const simulation run(random.program, random.on);
        const timeline data = run.capture.build();
        const diagnosis of = diagnose(data, attribute(data));
        std::int64_t latest_ns = INT64_MAX;  // of the sure ones, of which at most two may stand before a rough one
        std::int64_t latest_rough_ns = INT64_MAX;
        for (const finding& each : of.findings) {
            ++findings;
            ASSERT_GT(each.gain_ns, 0) << "seed " << seed;
            const bool is_sure = each.trust != confidence::low && !each.changes_results;
            std::int64_t& latest = is_sure ? latest_ns : latest_rough_ns;
            ASSERT_LE(each.gain_ns, latest) << "seed " << seed;
            ASSERT_GE(of.per_step(each.gain_ns), of.least_ns) << "seed " << seed;
            ASSERT_LE(each.steps, of.steps) << "seed " << seed;
            latest = each.gain_ns;
        }
        ASSERT_LE(of.together_ns, of.wall_ns) << "seed " << seed;
        ASSERT_LE(of.least_ns, of.least_share * of.step_ns) << "seed " << seed;
        if (!of.findings.empty()) {
            for (const finding& each : of.findings) ASSERT_GE(of.together_ns, each.gain_ns) << "seed " << seed;
        }
    }
    EXPECT_GT(findings, 500U);
}

std::uint64_t absurd(anything& program) {
    const std::uint64_t values[] = {0, 1, UINT64_MAX, INT64_MAX, std::uint64_t{1} << 63, std::uint64_t{1} << 62, 1'000};
    return values[program.below(7)] + program.below(3) - 1;
}

// Times and numbers of a damaged capture may be anything.
TEST(Diagnosis, OfDamagedCapturesEnds) {
    for (std::uint32_t seed = 0; seed < test::random_cases(1'500); ++seed) {
        anything program(seed);
        capture_contents contents = program.capture.contents();
        const std::uint32_t one_of = 1 + program.below(20);
        for (record_run& run : contents.runs) {
            for (record& each : run.records) {
                if (program.below(one_of) == 0) each.ticks = absurd(program);
                if (program.below(8 * one_of) == 0) each.value = absurd(program);
                if (program.below(8 * one_of) == 0) each.kind = static_cast<record_kind>(program.below(20));
                if (program.below(8 * one_of) == 0) each.flags = static_cast<std::uint8_t>(program.below(8));
            }
        }
        for (kernel_record& each : contents.kernels) {
            if (program.below(one_of) == 0) each.start_ns = absurd(program);
            if (program.below(one_of) == 0) each.end_ns = absurd(program);
            if (program.below(8 * one_of) == 0) each.correlation = absurd(program);
        }
        for (transfer_record& each : contents.transfers) {
            if (program.below(one_of) == 0) each.start_ns = absurd(program);
            if (program.below(one_of) == 0) each.bytes = absurd(program);
        }
        const timeline data = build_timeline(std::move(contents));
        const diagnosis of = diagnose(data, attribute(data));
        ASSERT_TRUE(of.steps != 0 || !of.not_looked.empty()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace prof::diagnose_test
