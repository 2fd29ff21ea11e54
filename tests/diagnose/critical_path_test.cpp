// SPDX-License-Identifier: Apache-2.0
#include "diagnose/replay/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/anything.hpp"
#include "diagnose/graph_of.hpp"
#include "diagnose/random_code.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/sanitized.hpp"

namespace prof::diagnose_test {
namespace {

using testing::ElementsAre;

// The GPU is done with the first kernel at 105 us, and waits until the host has computed.
TEST(CriticalPath, FollowsWhatWasWaitedForLast) {
    const std::vector<code> program = {{{action::step},
                                        {action::launch, 10 * us},
                                        {action::compute, 100 * us},
                                        {action::wait_all},
                                        {action::step},
                                        {action::launch, 100 * us},
                                        {action::compute, 300 * us},
                                        {action::launch, 10 * us},
                                        {action::launch, 20 * us},
                                        {action::wait},
                                        {action::step}}};
    const simulation run(program);
    const graph_of of(run.capture, 1);
    std::vector<std::string> pieces;
    for (const path_piece& piece : critical_path(*of.graph)) {
        pieces.push_back(std::string(to_string(piece.kind)) + ' ' + std::to_string(piece.end_ns - piece.start_ns));
    }
    EXPECT_THAT(pieces, ElementsAre("CUDA call 3000", "CPU code 300000", "launch latency 5000", "GPU operation 10000",
                                    "short gap 1000", "GPU operation 20000", "return from a wait 4000"));
}

// What the host does after the GPU's last operation is on it.
TEST(CriticalPath, WithoutStepsEndsWithTheHost) {
    const simulation run({{{action::launch, 3'000 * us},
                           {action::wait},
                           {action::compute, 50'000 * us},
                           {action::allocate, 10'000 * us}}});
    const graph_of of(run.capture);
    ASSERT_FALSE(of.graph->has_steps());
    const std::vector<path_piece> path = critical_path(*of.graph);
    EXPECT_EQ(path.back().end_ns - path.front().start_ns, of.replayed());
    EXPECT_GT(of.replayed(), 63'000 * us);
    EXPECT_EQ(path.back().kind, path_kind::call);
}

TEST(CriticalPath, CoversEachInstantOfARunOnce) {
    for (std::uint32_t seed = 0; seed < test::random_cases(2'000); ++seed) {
        const anything program(seed);
        const graph_of of(program.capture, seed % 3);
        if (of.graph->runs().empty()) continue;
        ASSERT_EQ(of.graph->runs().size(), 1U);
        const std::vector<path_piece> path = critical_path(*of.graph);
        if (path.empty()) continue;
        std::int64_t at_ns = path.front().start_ns;
        for (const path_piece& piece : path) {
            ASSERT_EQ(piece.start_ns, at_ns) << "seed " << seed;
            ASSERT_GT(piece.end_ns, piece.start_ns) << "seed " << seed;
            at_ns = piece.end_ns;
        }
        // As the replay has it, or a little less: of the host's end and the GPU's it takes the later one.
        if (of.graph->has_steps()) {
            ASSERT_LE(at_ns - path.front().start_ns, of.replayed()) << "seed " << seed;
        }
    }
}

// All else takes no time, and no call waits that is not on the path: the steps stay as long.
replay_changes without_all_else(const dependency_graph& graph, const std::vector<path_piece>& path) {
    row_table<event_change, host_event_id> events(graph.events().size());
    row_table<op_change, op_id> ops(graph.data().ops.size());
    for (const host_event_id i : events.ids()) {
        events[i] = {.event = i, .gap_less_ns = INT32_MAX, .work_less_ns = INT32_MAX, .waits = false};
    }
    for (const op_id i : ops.ids()) ops[i] = {.op = i, .less_ns = INT32_MAX};
    for (const path_piece& piece : path) {
        if (piece.kind == path_kind::host_code || piece.kind == path_kind::hand_over)
            events[piece.event].gap_less_ns = 0;
        if (piece.kind == path_kind::call) events[piece.event].work_less_ns = 0;
        if (piece.kind == path_kind::wait_return) events[piece.event].waits = true;
        if (piece.kind == path_kind::operation) ops[piece.op].less_ns = 0;
    }
    return {.events = events, .ops = ops};
}

TEST(CriticalPath, NothingElseMatters) {
    std::size_t compared = 0;
    for (std::uint32_t seed = 0; seed < test::random_cases(600); ++seed) {
        const std::uint32_t kind = seed % 3;
        const random_code random(
            seed, {.strands = kind == 0 ? 3U : 1U, .streams = kind == 1 ? 2U : 1U, .uses_helper = kind == 2});
        const simulation run(random.program, random.on);
        const graph_of of(run.capture, 1);
        const std::vector<path_piece> path = critical_path(*of.graph);
        std::int64_t length_ns = 0;
        for (const path_piece& piece : path) length_ns += piece.end_ns - piece.start_ns;
        // Else work of earlier steps was left in the queue, which is no time of these.
        if (length_ns != of.replayed()) continue;
        ++compared;
        ASSERT_EQ(of.replayed(without_all_else(*of.graph, path)), length_ns) << "seed " << seed;
    }
    EXPECT_GT(compared, test::random_cases(400));
}

}  // namespace
}  // namespace prof::diagnose_test
