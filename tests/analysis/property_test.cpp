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
#include "analysis/reports/kernels.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/rows.hpp"
#include "analysis/steps/step_figures.hpp"
#include "support/capture_builder.hpp"

namespace prof::property_test {
namespace {

const std::map<std::string, std::string> folded_names = {
    {"step 1", "step #"}, {"step 2", "step #"}, {"forward", "forward"}, {"layer 10", "layer #"}};

struct random_program {
    oracle::program program;
    capture_builder capture;
    std::mt19937 random;
    std::vector<thread_script*> threads;
    std::int64_t now = 10;
    int events = 0;
    std::uint64_t next_correlation = 1;
    std::uint64_t next_work = 1;
    std::uint64_t next_node = 1;
    std::vector<std::uint64_t> launched_ids;  // per node: that of its last copy
    bool seeded_even = false;
    bool is_long = false;

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

    // A long program has one trainer and some hundred events, most of them steps, few in one another: names recur in
    // rows.
    explicit random_program(std::uint32_t seed, bool long_one = false)
        : random(seed), seeded_even(seed % 2 == 0), is_long(long_one) {
        const std::uint32_t trainers = is_long ? 1 : 1 + below(3);
        const std::uint32_t autograd = below(3);
        for (std::uint32_t i = 0; i < trainers + autograd; ++i) {
            const bool works_for_others = i >= trainers;
            program.works_for_others.push_back(works_for_others);
            threads.push_back(&capture.thread((works_for_others ? "pt_autograd_" : "trainer ") + std::to_string(i)));
        }
        (void)capture.domain("prof");
        const std::uint32_t length = is_long ? 100 + below(300) : 5 + below(60);
        for (std::uint32_t i = 0; i < length; ++i) add_event();
        for (std::uint32_t i = below(3); i > 0; --i) {
            program.unmatched.push_back(add_kernel(1'000'000 + i, program.unmatched.size() + 5));
        }
    }

    void add_event() {
        now += below(4);
        ++events;
        const auto thread = static_cast<int>(below(static_cast<std::uint32_t>(threads.size())));
        const auto domain = static_cast<std::uint16_t>(is_long ? 0 : below(2));
        if (is_long && below(2) == 0) return below(9) < 4 ? push(thread, domain) : pop(thread, domain);
        // Every other program has none of the last three.
        const std::uint32_t kind = below(seeded_even ? 24 : 27);
        if (kind < (is_long ? 4U : 6U)) {
            push(thread, domain);
        } else if (kind < 9) {
            pop(thread, domain);
        } else if (kind < 17) {
            launch(thread, [&](std::uint64_t correlation) { return add_kernel(correlation, now); });
        } else if (kind < 19) {
            begin_capture(thread);
        } else if (kind < 21) {
            for (std::uint32_t i = below(4); i > 0; --i) add_node(thread);
        } else if (kind < 24) {
            launch(thread, [&](std::uint64_t correlation) { return add_node_kernel(correlation); });
        } else if (kind == 24) {
            take_place(thread);
        } else if (kind == 25) {
            adopt(thread);
        } else {
            leave(thread);
        }
    }

    // Nothing else happens in the same nanosecond, since beginnings are told from the rest by time.
    void begin_capture(int thread) {
        ++now;
        program.captures.push_back({thread, now});
        threads[static_cast<std::size_t>(thread)]->begin_capture(static_cast<std::uint64_t>(now), next_correlation++);
        ++now;
    }

    // A node, and up to three copies of it in a row, made by any thread.
    void add_node(int thread) {
        program.nodes.push_back({thread, events, now});
        std::uint64_t id = (std::uint64_t{7} << 32) + next_node++;
        threads[static_cast<std::size_t>(thread)]->node(static_cast<std::uint64_t>(now), id);
        for (std::uint32_t i = below(4); i > 0; --i) {
            const std::uint64_t copy = (std::uint64_t{9} << 32) + next_node++;
            threads[below(static_cast<std::uint32_t>(threads.size()))]->copy(static_cast<std::uint64_t>(now), copy, id);
            id = copy;
        }
        launched_ids.push_back(id);
    }

    oracle::gpu_work add_node_kernel(std::uint64_t correlation) {
        oracle::gpu_work w = add_kernel(correlation, now);
        const auto known = static_cast<std::uint32_t>(launched_ids.size());
        const std::uint32_t which = below((is_long ? std::min(known, 6U) : known) + 1);
        w.node = which == known ? -2 : static_cast<int>(which);
        capture.parts().kernels.back().graph_node_id = w.node < 0 ? 12'345 : launched_ids[which];
        return w;
    }

    void take_place(int thread) {
        program.places.push_back({program.places.size() + 1, thread, events, now});
        threads[static_cast<std::size_t>(thread)]->here(static_cast<std::uint64_t>(now), program.places.size());
    }

    // Now and then a place that is not in the capture.
    void adopt(int thread) {
        const auto known = static_cast<std::uint32_t>(program.places.size());
        const std::uint64_t place = known == 0 || below(8) == 0 ? 1000 : 1 + below(known);
        program.frames.push_back({thread, place, events});
        threads[static_cast<std::size_t>(thread)]->adopt(static_cast<std::uint64_t>(now), place);
    }

    void leave(int thread) {
        for (auto f = program.frames.rbegin(); f != program.frames.rend(); ++f) {
            if (f->thread != thread || f->popped != 1 << 30) continue;
            f->popped = events;
            break;
        }
        threads[static_cast<std::size_t>(thread)]->leave(static_cast<std::uint64_t>(now));
    }

    void push(int thread, std::uint16_t domain) {
        auto name = folded_names.begin();
        std::advance(name, is_long && below(4) != 0 ? 2 + below(2) : below(4));
        oracle::range r{program.ranges.size() + 1, name->first, thread, domain, events};
        r.start = now;
        program.ranges.push_back(r);
        threads[static_cast<std::size_t>(thread)]->add({.ticks = static_cast<std::uint64_t>(now),
                                                        .value = r.id,
                                                        .name = capture.name(r.name),
                                                        .domain = domain,
                                                        .kind = record_kind::range_push});
    }

    void pop(int thread, std::uint16_t domain) {
        for (auto r = program.ranges.rbegin(); r != program.ranges.rend(); ++r) {
            if (r->thread != thread || r->domain != domain || r->end != INT64_MAX) continue;
            r->closed = events;
            r->end = now;
            break;
        }
        threads[static_cast<std::size_t>(thread)]->pop(static_cast<std::uint64_t>(now), domain);
    }

    template <typename TAddWork>
    void launch(int thread, TAddWork&& add_work) {
        const std::uint64_t correlation = next_correlation++;
        threads[static_cast<std::size_t>(thread)]
            ->enter(static_cast<std::uint64_t>(now), correlation)
            .exit(static_cast<std::uint64_t>(now), correlation);
        oracle::launch l{thread, events, now, {}};
        for (std::uint32_t i = below(3); i > 0; --i) l.work.push_back(add_work(correlation));
        program.launches.push_back(l);
    }

    template <typename TTime>
    oracle::gpu_work add_kernel(std::uint64_t correlation, TTime after) {
        oracle::gpu_work w;
        w.id = next_work++;
        w.start = static_cast<std::int64_t>(after) + below(150);
        w.end = w.start + below(40);
        w.device = below(2);
        w.stream = 7 + below(3);
        capture.kernel(correlation, static_cast<std::uint64_t>(w.start), static_cast<std::uint64_t>(w.end),
                       {.stream = w.stream, .device = w.device});
        capture.parts().kernels.back().local_memory_total_bytes = w.id;
        return w;
    }
};

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
        for_each_open_range(data, att, op, [&](std::uint32_t range) {
            open.insert(data.ranges[range].payload);
            ++visits;
        });
        ASSERT_EQ(open, expected.open);
        ASSERT_EQ(visits, open.size()) << "a range was visited twice";
        ASSERT_EQ(att.adopted[op] != 0, expected.adopted);
        std::vector<std::uint64_t> captured;
        for_each_replayed_range(att, op, [&](std::uint32_t i) {
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
    coverage met;
    for (std::uint32_t seed = 1; seed <= 10'000; ++seed) {
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
    EXPECT_GT(met.own, 10'000U);
    EXPECT_GT(met.adopted_into_range, 1'000U);
    EXPECT_GT(met.adopted_with_range, 1'000U);
    EXPECT_GT(met.ambiguous, 200U);
    EXPECT_GT(met.below_ambiguous, 300U);
    EXPECT_GT(met.no_range, 1'000U);
    EXPECT_GT(met.outlived_parent, 1'000U);
    EXPECT_GT(met.captured, 2'000U);
    EXPECT_GT(met.captured_outside_any_launch_range, 200U);
    EXPECT_GT(met.captured_for_another, 200U);
    EXPECT_GT(met.unseen_capture, 500U);
    EXPECT_GT(met.ambiguous_capture, 100U);
    EXPECT_GT(met.still_open, 500U);
    EXPECT_GT(met.declared, 400U);
    EXPECT_GT(met.set_aside, 1'000U);
}

// In long programs steps 1 and 2 recur.
TEST(Projection, KeepsDifferentThingsApartAsTheOracleDoes) {
    std::uint64_t apart = 0;
    std::uint64_t captured_apart = 0;
    std::uint64_t below_apart = 0;
    for (std::uint32_t seed = 1; seed <= 150; ++seed) {
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
    EXPECT_GT(apart, 50U);
    EXPECT_GT(captured_apart, 1U);
    EXPECT_GT(below_apart, 20U);
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
    for (std::uint32_t seed = 1; seed <= 1'000; ++seed) {
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
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
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
            const report_input input{.data = data,
                                     .hidden = hidden_domains(data, domains),
                                     .call_name = [](api_domain, std::uint32_t id) { return std::to_string(id); }};
            for (const table& made : kind.make(input).tables) {
                for (const auto& row : made.rows) ASSERT_EQ(row.size(), made.columns.size()) << kind.name;
            }
        }
    }
}

}  // namespace
}  // namespace prof::property_test
