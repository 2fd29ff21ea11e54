// SPDX-License-Identifier: Apache-2.0
// Programs made at random, judged by the library and by the oracle. The seeds are fixed: a failure names its own.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "analysis/expected_rows.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_fold.hpp"
#include "analysis/random_program.hpp"
#include "analysis/rows.hpp"
#include "analysis/steps/step_figures.hpp"
#include "report/reports.hpp"
#include "report/tables/kernels.hpp"
#include "support/capture_builder.hpp"
#include "support/sanitized.hpp"

namespace prof::property_test {
namespace {

void check_attribution(const timeline& data, const attribution& att, const oracle::verdicts& verdicts) {
    ASSERT_EQ(data.ops.size(), verdicts.size());
    std::uint64_t unseen = 0;
    std::uint64_t ambiguous = 0;
    for (const auto& [id, v] : verdicts) {
        unseen += v.unseen_capture ? 1 : 0;
        ambiguous += v.ambiguous_capture ? 1 : 0;
    }
    ASSERT_EQ(att.ops_of_unseen_captures, unseen);
    ASSERT_EQ(att.ops_of_ambiguous_captures, ambiguous);
    for (std::size_t op = 0; op < data.ops.size(); ++op) {
        const oracle::verdict& expected = verdicts.at(data.kernels[data.ops[op].detail].local_memory_total_bytes);
        std::set<std::uint64_t> open;
        std::size_t visits = 0;
        for_each_open_range(data, att, op_id(op), [&](std::uint32_t range) {
            open.insert(data.ranges[range].payload);
            ++visits;
        });
        ASSERT_EQ(open, expected.open);
        ASSERT_EQ(visits, open.size()) << "a range was visited twice";
        ASSERT_EQ(att.adopted[op_id(op)] != 0, expected.adopted);
        std::vector<std::uint64_t> captured;
        for_each_replayed_range(att, op_id(op), [&](replayed_id i) {
            ASSERT_EQ(att.replayed[i].launch, data.ops[op].launch);
            captured.insert(captured.begin(), data.ranges[att.replayed[i].range].payload);
        });
        ASSERT_EQ(captured, expected.captured);
    }
}

std::vector<std::string> everything(const projection& p) {
    std::vector<std::string> lines;
    for (const projection_row& r : p.rows) {
        std::string line = r.path;
        for (const std::int64_t n : {r.host_ns, r.gpu_sum_ns, r.gpu_self_ns, r.gpu_busy_ns, r.gpu_span_ns, r.adopted_ns,
                                     r.instance_min_ns, r.instance_max_ns}) {
            line += ' ' + std::to_string(n);
        }
        lines.push_back(line + ' ' + std::to_string(r.instance_median_ns));
    }
    return lines;
}

// Of what a table of at most so many rows shows.
std::int64_t shown_self_total(const projection& p, std::size_t most) {
    std::int64_t total = 0;
    for (const shown_row& row : rows_to_show(p.rows, {.most = most})) total += row.figures.gpu_self_ns;
    return total;
}

// How often the programs met each rule: a test that never meets one proves nothing about it.
struct coverage {
    std::uint64_t own = 0;
    std::uint64_t adopted_into_range = 0;  // without a range of its own
    std::uint64_t adopted_with_range = 0;
    std::uint64_t ambiguous = 0;
    std::uint64_t below_ambiguous = 0;
    std::uint64_t no_range = 0;
    std::uint64_t captured = 0;
    std::uint64_t captured_outside_any_launch_range = 0;
    std::uint64_t captured_for_another = 0;  // by a thread that works for others
    std::uint64_t unseen_capture = 0;
    std::uint64_t ambiguous_capture = 0;
    std::uint64_t still_open = 0;       // a captured range that is open at the launch, too
    std::uint64_t outlived_parent = 0;  // open ranges fewer than the path is long
    std::uint64_t declared = 0;         // adopted by an explicit parent
    std::uint64_t set_aside = 0;        // ranges open on the thread that do not count

    void count_capture(const oracle::program& program, const oracle::gpu_work& w, const oracle::verdict& v) {
        captured += v.captured.empty() ? 0 : 1;
        captured_outside_any_launch_range += !v.captured.empty() && v.open.empty() ? 1 : 0;
        unseen_capture += v.unseen_capture ? 1 : 0;
        ambiguous_capture += v.ambiguous_capture ? 1 : 0;
        if (w.node < 0) return;
        const oracle::node& n = program.nodes[static_cast<std::size_t>(w.node)];
        for (const std::uint64_t id : v.captured) {
            captured_for_another += program.ranges[id - 1].thread != n.thread ? 1 : 0;
        }
        for (const oracle::range* r : program.own_at_event(n.thread, n.number)) {
            still_open += v.open.contains(r->id) ? 1 : 0;
        }
    }
    void count(const oracle::program& program, const oracle::launch& l, const oracle::verdict& v,
               const std::string& launched_in) {
        if (v.adopted && program.is_declared(l)) ++declared;
        const auto open = std::count_if(program.ranges.begin(), program.ranges.end(), [&](const oracle::range& r) {
            return r.thread == l.thread && oracle::program::is_open_at_event(r, l.number);
        });
        if (program.own_at_event(l.thread, l.number).size() < static_cast<std::size_t>(open)) ++set_aside;
        (v.where == "(ambiguous)" ? ambiguous : v.where == "(no range)" ? no_range : own) += 1;
        if (v.where.starts_with("(ambiguous)/")) ++below_ambiguous;
        if (v.adopted) ++(launched_in.empty() ? adopted_into_range : adopted_with_range);
        const auto segments = static_cast<std::size_t>(std::count(v.where.begin(), v.where.end(), '/')) + 1;
        if (!v.where.starts_with('(') && v.open.size() < segments) ++outlived_parent;
    }
};

TEST(Projection, AgreesWithTheOracleForRandomPrograms) {
    constexpr std::uint32_t programs = test::random_cases(10'000);
    coverage met;
    for (std::uint32_t seed = 1; seed <= programs; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed};
        const timeline data = made.capture.build();
        const attribution att = attribute(data);
        const oracle::naming names = oracle::naming_by_counters(made.program, folded_names);
        const auto verdicts = oracle::judge_all(made.program, names);
        for (const oracle::launch& l : made.program.launches) {
            if (l.work.empty()) continue;
            for (const oracle::gpu_work& w : l.work) met.count_capture(made.program, w, verdicts.at(w.id));
            const auto own = made.program.own_at_event(l.thread, l.number);
            met.count(made.program, l, verdicts.at(l.work[0].id), own.empty() ? "" : own.front()->name);
        }
        check_attribution(data, att, verdicts);
        const projection p = project(data, att);
        oracle::check_rows(p, oracle::expect_rows(made.program, verdicts, names));
        ASSERT_EQ(self_total(p), p.total_gpu_ns);
        for (std::size_t most = 1; most <= p.rows.size(); most += 3) {
            ASSERT_EQ(shown_self_total(p, most), p.total_gpu_ns) << "at most " << most;
        }
        if (HasFatalFailure()) return;

        capture_contents contents = made.capture.contents(1 + made.below(7));
        std::shuffle(contents.runs.begin(), contents.runs.end(), made.random);
        std::shuffle(contents.kernels.begin(), contents.kernels.end(), made.random);
        std::shuffle(contents.threads.begin(), contents.threads.end(), made.random);
        ASSERT_EQ(everything(project(build_timeline(contents))), everything(p))
            << "the order of chunks must not matter";
    }
    EXPECT_GT(met.own, programs);
    EXPECT_GT(met.adopted_into_range, programs / 10);
    EXPECT_GT(met.adopted_with_range, programs / 10);
    EXPECT_GT(met.ambiguous, programs / 50);
    EXPECT_GT(met.below_ambiguous, programs * 3 / 100);
    EXPECT_GT(met.no_range, programs / 10);
    EXPECT_GT(met.outlived_parent, programs / 10);
    EXPECT_GT(met.captured, programs / 5);
    EXPECT_GT(met.captured_outside_any_launch_range, programs / 50);
    EXPECT_GT(met.captured_for_another, programs / 50);
    EXPECT_GT(met.unseen_capture, programs / 20);
    EXPECT_GT(met.ambiguous_capture, programs / 100);
    EXPECT_GT(met.still_open, programs / 20);
    EXPECT_GT(met.declared, programs / 25);
    EXPECT_GT(met.set_aside, programs / 10);
}

// In long programs steps 1 and 2 recur.
TEST(Projection, KeepsDifferentThingsApartAsTheOracleDoes) {
    std::uint64_t apart = 0;
    std::uint64_t captured_apart = 0;
    std::uint64_t below_apart = 0;
    for (std::uint32_t seed = 1; seed <= test::random_cases(150); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed, true};
        const oracle::naming names = oracle::naming_by_counters(made.program, folded_names);
        for (const std::string& row : names.apart) {
            ++(row.find('|') == std::string::npos ? apart : captured_apart);
            below_apart += row.find('/') == std::string::npos ? 0 : 1;
        }
        const projection p = project(made.capture.build());
        oracle::check_rows(p, oracle::expect_rows(made.program, oracle::judge_all(made.program, names), names));
        ASSERT_EQ(self_total(p), p.total_gpu_ns);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(apart, test::random_cases(50));
    EXPECT_GT(captured_apart + (test::is_sanitized ? 2 : 0), 1U);  // they are rare
    EXPECT_GT(below_apart, test::random_cases(20));
}

// The names as the rule has them: none folded, all, or those of layers.
TEST(Projection, AgreesWithTheOracleUnderEveryRule) {
    std::map<std::string, std::string> as_named;
    for (const auto& [name, segment] : folded_names) as_named[name] = name;
    std::map<std::string, std::string> steps_folded = folded_names;
    steps_folded["layer 10"] = "layer 10";
    const std::vector<std::pair<fold_rule, std::map<std::string, std::string>>> rules = {
        {{.mode = fold_mode::none}, as_named},
        {{.mode = fold_mode::all}, folded_names},
        {{.mode = fold_mode::listed, .names = {"no such #", "st?p #"}}, steps_folded}};
    for (std::uint32_t seed = 1; seed <= test::random_cases(1'000); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed};
        const timeline data = made.capture.build();
        const attribution att = attribute(data);
        for (const auto& [rule, folded] : rules) {
            SCOPED_TRACE(rule.text());
            const projection p = project(data, att, {.fold = rule});
            const oracle::naming names{folded};
            oracle::check_rows(p, oracle::expect_rows(made.program, oracle::judge_all(made.program, names), names));
            ASSERT_EQ(self_total(p), p.total_gpu_ns);
            if (HasFatalFailure()) return;
        }
    }
}

template <typename TValue>
void scramble(TValue& value, std::mt19937_64& random) {
    std::array<std::uint8_t, sizeof(TValue)> bytes{};
    // Small numbers and large ones, so that some of them fit together.
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool low_byte = i % 8 == 0 || random() % 64 == 0;
        bytes[i] = low_byte ? static_cast<std::uint8_t>(random() % (random() % 4 == 0 ? 256 : 16)) : std::uint8_t{0};
    }
    std::memcpy(&value, bytes.data(), sizeof value);
}

TEST(Projection, KeepsItsSumsForDamagedCaptures) {
    for (std::uint32_t seed = 1; seed <= test::random_cases(300); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random{seed};
        capture_contents contents;
        contents.ticks = random() % 2 == 0 ? tick_source::tsc : tick_source::monotonic_ns;
        contents.threads.resize(random() % 4);
        for (format::thread_entry& thread : contents.threads) {
            scramble(thread, random);
            if (random() % 2 == 0) thread.name = {'p', 't', '_', 'a', 'u', 't', 'o', 'g', 'r', 'a', 'd', '_', '0'};
        }
        contents.clocks.resize(random() % 4);
        for (clock_snapshot& clock : contents.clocks) scramble(clock, random);
        contents.labels.resize(random() % 4);
        for (label& l : contents.labels) scramble(l, random);
        contents.kernels.resize(random() % 100);
        for (kernel_record& kernel : contents.kernels) scramble(kernel, random);
        contents.transfers.resize(random() % 100);
        for (transfer_record& transfer : contents.transfers) scramble(transfer, random);
        contents.graphs.resize(random() % 20);
        for (graph_record& graph : contents.graphs) scramble(graph, random);
        contents.runs.resize(random() % 8);
        for (record_run& run : contents.runs) {
            run.thread_uid = random() % 4;
            run.first_number = random() % 50;
            run.records.resize(random() % 50);
            for (record& r : run.records) scramble(r, random);
        }
        const timeline data = build_timeline(contents);
        const projection p = project(data);
        ASSERT_EQ(self_total(p), p.total_gpu_ns);
        ASSERT_EQ(shown_self_total(p, 5), p.total_gpu_ns);
        ASSERT_EQ(p.total_ops, data.ops.size());
        if (const auto steps = measure_steps(data, attribute(data))) {
            std::int64_t of_parts_ns = 0;
            for (const step_part& part : steps->parts) of_parts_ns += part.gpu_sum_ns;
            ASSERT_EQ(of_parts_ns, steps->gpu_sum_ns);
        }
        std::uint64_t kernels = 0;
        for (const kernel_row& row : kernel_table(data)) kernels += row.time.instances;
        for (const transfer_row& row : transfer_table(data)) kernels += row.time.instances;
        ASSERT_EQ(kernels, data.ops.size());

        const domain_filter domains{.include = {}, .exclude = {"default"}};
        const projection filtered = project(data, {.attribution = {.domains = domains}});
        ASSERT_EQ(self_total(filtered), filtered.total_gpu_ns);
        for (const report_kind& kind : report_kinds()) {
            const report_input input{
                .data = data, .hidden = hidden_domains(data, domains), .call_name = [](const timeline_api_call& call) {
                    return std::to_string(call.cbid);
                }};
            const report_part made = kind.make(input);
            for (const table* const of : tables_in(made)) {
                for (const auto& row : of->rows) ASSERT_EQ(row.size(), of->columns.size()) << kind.name;
            }
        }
    }
}

}  // namespace
}  // namespace prof::property_test
