// SPDX-License-Identifier: Apache-2.0
// Prices against the truth: random programs are executed by a model of a host and a GPU, recorded and priced, and then
// executed once more without the flaw (simulated_program.hpp).
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "diagnose/graph_of.hpp"
#include "diagnose/random_code.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/sanitized.hpp"

namespace prof::diagnose_test {
namespace {

bool is_call(const execution& did) { return did.correlation != 0; }

// The event that the host time before it belongs to: the strand's next call or beginning of a step; npos: neither
// follows, or the time is before the steps.
host_event_id event_after(const simulation& run, const graph_of& graph, const std::vector<code>& program,
                          std::size_t strand, std::size_t index) {
    for (std::size_t i = index + 1; i < program[strand].size(); ++i) {
        const execution& did = run.executions[strand][i];
        host_event_id event = npos;
        if (program[strand][i].what == action::step) event = graph.boundary_at(did.start_ns);
        if (is_call(did)) event = graph.event_of(did.correlation);
        if (event == npos) continue;
        // Of other strands the first event within the steps is where it was.
        const host_event_id before = graph.graph->events()[event].before;
        return before == npos || graph.graph->events()[before].start_ns < run.steps_ns[1] ? npos : event;
    }
    return npos;
}

struct what_if {
    std::vector<code> program;  // without some flaws
    replay_changes changes;     // the same, as the replay has it
};

// Of the operation that comes next in the stream, the waits for all streams: a change has either all or none.
void remove_stream_waits(random_code& random, const simulation& run, const graph_of& graph, std::size_t strand,
                         std::size_t index, what_if& out) {
    const std::uint32_t stream = random.program[strand][index].stream;
    const auto is_of_stream = [&](std::size_t i) {
        const instruction& of = random.program[strand][i];
        return of.stream == stream && run.executions[strand][i].op_end_ns != 0;
    };
    std::size_t next = index;
    while (next < random.program[strand].size() && !is_of_stream(next)) ++next;
    if (next == random.program[strand].size()) return;
    for (std::size_t i = next; i-- > 0 && !is_of_stream(i);) {
        instruction& of = out.program[strand][i];
        if (of.what == action::stream_wait && of.stream == stream) of.what = action::nothing;
    }
    out.changes.ops.push_back(
        {.op = graph.op_of(run.executions[strand][next].correlation), .waits_for_streams = false});
}

what_if without_some(random_code& random, const simulation& run, const graph_of& graph) {
    what_if out{random.program, {}};
    const std::uint32_t one_of = 1 + random.below(4);
    for (std::size_t strand = 0; strand < out.program.size(); ++strand) {
        for (std::size_t i = 0; i < out.program[strand].size(); ++i) {
            const execution& did = run.executions[strand][i];
            instruction& of = out.program[strand][i];
            if (did.start_ns < run.steps_ns[1] || did.start_ns >= run.steps_ns.back() || random.below(one_of) != 0) {
                continue;
            }
            if (of.what == action::compute) {
                const host_event_id event = event_after(run, graph, random.program, strand, i);
                if (event == npos || graph.graph->events()[event].start_ns > run.steps_ns.back()) continue;
                out.changes.add(without_gap(event, of.ns));
                of.what = action::nothing;
            } else if (of.what == action::wait || of.what == action::wait_all || of.what == action::wait_event) {
                out.changes.add(without_waiting(graph, graph.event_of(did.correlation)));
                of.what = action::nothing;
            } else if (of.what == action::stream_wait) {
                remove_stream_waits(random, run, graph, strand, i, out);
            } else if (of.what == action::blocking_copy) {
                out.changes.events.push_back({.event = graph.event_of(did.correlation), .waits = false});
                of.what = action::copy;
            } else if (of.what == action::launch && random.below(4) == 0) {
                const std::int64_t less_ns = random.below(of.ns);
                out.changes.ops.push_back({.op = graph.op_of(did.correlation), .less_ns = less_ns});
                of.ns -= less_ns;
            }
        }
    }
    return out;
}

struct comparison {
    std::int64_t recorded_ns = 0;
    std::int64_t predicted_ns = 0;
    std::int64_t true_ns = 0;
};

// Of `rounds` sets of flaws. The replay without changes is exact in any case.
template <typename TVisit>
void compare(std::uint32_t seed, const options_of_programs& options, TVisit&& visit) {
    random_code random(seed, options);
    const simulation run(random.program, random.on);
    const graph_of graph(run.capture, 1);
    if (graph.has_work_beside()) return;
    const std::int64_t recorded_ns = length_of(run, run);
    // The GPU's clock is off by so much at the end, if that is an operation's.
    ASSERT_LE(std::abs(graph.replayed() - recorded_ns), -random.on.clock_skew_ns) << "seed " << seed;
    for (int round = 0; round < 4; ++round) {
        const what_if other = without_some(random, run, graph);
        const simulation better(other.program, random.on);
        visit(comparison{recorded_ns, graph.replayed(other.changes), length_of(run, better)});
    }
}

struct accuracy {
    std::size_t compared = 0;
    std::size_t gaining = 0;
    std::size_t exact = 0;   // to a microsecond, by which clocks may differ
    std::size_t within = 0;  // the latencies of one launch, one operation and one return
    double worst = 0;        // of the recorded time
    std::uint32_t worst_seed = 0;

    double share(std::size_t of) const { return static_cast<double>(of) / static_cast<double>(compared); }
};

accuracy measure(const options_of_programs& options, std::uint32_t programs) {
    constexpr std::int64_t latencies_ns = 8 * us + 2 * us + 7 * us;
    accuracy out;
    for (std::uint32_t seed = 0; seed < test::random_cases(programs); ++seed) {
        compare(seed, options, [&](const comparison& of) {
            ++out.compared;
            const std::int64_t error_ns = std::abs(of.predicted_ns - of.true_ns);
            out.gaining += of.true_ns < of.recorded_ns ? 1U : 0U;
            out.exact += error_ns < us ? 1U : 0U;
            out.within += error_ns <= latencies_ns ? 1U : 0U;
            const double error = static_cast<double>(error_ns) / static_cast<double>(of.recorded_ns);
            if (error <= out.worst) return;
            out.worst = error;
            out.worst_seed = seed;
        });
    }
    testing::Test::RecordProperty("exact_per_mille", static_cast<int>(1'000 * out.share(out.exact)));
    testing::Test::RecordProperty("worst_per_mille", static_cast<int>(1'000 * out.worst));
    EXPECT_GT(out.share(out.gaining), 0.9);
    return out;
}

// What is not exact is an operation that both its launch and the operation before it explain: which of them it waited
// for shows only to a microsecond or two.
void expect_within_latencies(const options_of_programs& options) {
    const accuracy of = measure(options, 500);
    EXPECT_EQ(of.within, of.compared) << "worst: " << of.worst << " of seed " << of.worst_seed;
    EXPECT_GT(of.share(of.exact), 0.97);
}

TEST(Simulation, PricesOfOneThreadAreTrue) { expect_within_latencies({}); }
TEST(Simulation, PricesWithAutogradsThreadAreTrue) { expect_within_latencies({.uses_helper = true}); }
TEST(Simulation, PricesOfThreeThreadsAreTrue) { expect_within_latencies({.strands = 3}); }

TEST(Simulation, PricesOfTwoStreamsAreTrue) { expect_within_latencies({.streams = 2}); }
TEST(Simulation, PricesOfStreamsThatWaitForEachOtherAreTrue) {
    expect_within_latencies({.streams = 3, .uses_events = true});
    expect_within_latencies({.strands = 2, .streams = 2, .uses_events = true});
}

// In older captures and in Kineto's traces a call that waits for a stream has waited for the operation that ended last.
// Without the flaw it may be another one, which the replay does not know: such prices are too high.
TEST(Simulation, PricesOfTwoStreamsAreMostlyTrueWithoutEvents) {
    const accuracy of = measure({.streams = 2, .records_syncs = false}, 500);
    EXPECT_GT(of.share(of.within), 0.94);
    EXPECT_LT(of.worst, 0.2) << "seed " << of.worst_seed;
}

}  // namespace
}  // namespace prof::diagnose_test
