// SPDX-License-Identifier: Apache-2.0
#include "collect/random_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "analysis/projection/projection.hpp"
#include "fakes/fake_gpu.h"
#include "report/tables/kernels.hpp"

namespace prof::test {
namespace {

using act = program_step::act;

// Names by domain, so that a name determines its segment.
constexpr const char* names_by_domain[domain_count][3] = {
    {"step 1", "step 2", "forward"}, {"layer 10", "layer 11", "backward"}, {"all_reduce", "broadcast 3", "wait"}};

constexpr std::uint64_t longest_ns = 4'000'000;
// Between two steps: far more than the host needs for one, so that no two moments of the host become one nanosecond
// where its clock is laid on the simulated one.
constexpr std::uint64_t shortest_idle_ns = 1'000'000;

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

bool is_launch(act what) { return what >= act::kernel; }

}  // namespace

std::uint32_t program_count(std::uint32_t otherwise) { return number_from("PROF_RANDOM_PROGRAMS", otherwise); }
std::uint32_t first_seed() { return number_from("PROF_RANDOM_SEED", 1); }

const oracle::folding& random_program::folded() {
    static const oracle::folding map = {{"step 1", "step #"},
                                        {"step 2", "step #"},
                                        {"forward", "forward"},
                                        {"layer 10", "layer #"},
                                        {"layer 11", "layer #"},
                                        {"backward", "backward"},
                                        {"all_reduce", "NCCL:all_reduce"},
                                        {"broadcast 3", "NCCL:broadcast #"},
                                        {"wait", "NCCL:wait"},
                                        {"request 1", "request #"},
                                        {"request 2", "request #"},
                                        {"epoch", "epoch"}};
    return map;
}

random_program::random_program(std::uint32_t seed, const program_options& options) : random_(seed) {
    const std::uint32_t trainers = 1 + below(3);
    const std::uint32_t autograd = below(3);
    for (std::uint32_t i = 0; i < trainers + autograd; ++i) {
        const bool works_for_others = i >= trainers;
        truth_.works_for_others.push_back(works_for_others);
        threads.push_back((works_for_others ? "pt_autograd_" : "trainer ") + std::to_string(i));
    }
    one_domain_ = below(3) == 0;
    for (std::uint32_t i = below(3); i > 0; --i) add_graph(trainers);
    const std::uint32_t length = 5 + below(60);
    for (std::uint32_t i = 0; i < length; ++i) add_step(options);
    for (const oracle::range& r : truth_.ranges) left_open += r.end == INT64_MAX ? 1 : 0;
    for (const process_range& r : process_ranges) left_open += r.ended == process_range::never ? 1 : 0;
}

void random_program::add_graph(std::uint32_t trainers) {
    captured_graph graph;
    graph.thread = static_cast<int>(below(trainers));
    graph.device = static_cast<int>(below(device_count));
    graph.stream = static_cast<int>(below(streams_per_device));
    for (std::uint32_t i = 1 + below(4); i > 0; --i) {
        graph.nodes.push_back({static_cast<int>(below(kernel_count)), 1 + below(longest_ns)});
    }
    graphs.push_back(graph);
}

program_step random_program::place(act what) {
    program_step step;
    step.what = what;
    step.thread = any_thread();
    step.domain = one_domain_ ? 0 : static_cast<int>(below(domain_count));
    step.idle_ns = shortest_idle_ns + below(shortest_idle_ns);
    return step;
}

void random_program::add_step(const program_options& options) {
    const std::uint32_t choice = below(20);
    if (choice < 7) return add_push();
    if (choice < 11) return add_pop();
    if (choice < 13) return add_start_or_end();
    if (choice < 14) {
        program_step mark = place(act::mark);
        mark.name = "epoch";
        steps.push_back(mark);
        return;
    }
    add_launch(options);
}

void random_program::add_push() {
    program_step step = place(act::push);
    step.name = names_by_domain[step.domain][below(3)];
    const auto number = static_cast<int>(steps.size());
    oracle::range r;
    r.id = truth_.ranges.size() + 1;
    r.name = step.name;
    r.thread = step.thread;
    r.domain = step.domain;
    r.opened = number;
    r.start = number;
    truth_.ranges.push_back(r);
    steps.push_back(step);
}

void random_program::add_pop() {
    const program_step step = place(act::pop);
    const auto number = static_cast<int>(steps.size());
    const auto r = std::find_if(truth_.ranges.rbegin(), truth_.ranges.rend(), [&](const oracle::range& each) {
        return each.thread == step.thread && each.domain == step.domain && each.end == INT64_MAX;
    });
    if (r == truth_.ranges.rend()) {
        ++pops_without_push;
    } else {
        r->closed = number;
        r->end = number;
    }
    steps.push_back(step);
}

void random_program::add_start_or_end() {
    program_step step = place(act::start);
    const auto number = static_cast<int>(steps.size());
    // The oldest that is open, by whichever thread: such ranges overlap and end elsewhere.
    const auto open = std::find_if(process_ranges.begin(), process_ranges.end(),
                                   [](const process_range& r) { return r.ended == process_range::never; });
    if (below(2) == 0 || open == process_ranges.end()) {
        constexpr const char* process_names[] = {"request 1", "request 2", "epoch"};
        step.name = process_names[below(3)];
        step.id = static_cast<int>(process_ranges.size());
        process_ranges.push_back({step.name, number, process_range::never, step.thread});
    } else {
        open->ended = number;
        step.what = act::end;
        step.id = static_cast<int>(open - process_ranges.begin());
    }
    steps.push_back(step);
}

void random_program::add_launch(const program_options& options) {
    constexpr act kinds[] = {act::kernel, act::kernel, act::kernel, act::copy,
                             act::set,    act::peer,   act::replay, act::unseen};
    program_step step = place(kinds[below(8)]);
    if (step.what == act::replay && graphs.empty()) step.what = act::kernel;
    if (step.what == act::unseen && (!options.unseen_launches || below(3) != 0)) step.what = act::kernel;
    step.device = static_cast<int>(below(device_count));
    step.stream = static_cast<int>(below(streams_per_device));
    step.kernel = static_cast<int>(below(kernel_count));
    step.duration_ns = 1 + below(longest_ns);
    step.bytes = 1 + below(1000);
    if (step.what == act::replay) {
        step.id = static_cast<int>(below(static_cast<std::uint32_t>(graphs.size())));
        step.device = graphs[static_cast<std::size_t>(step.id)].device;
    }
    if (step.what != act::unseen) {
        const auto number = static_cast<int>(steps.size());
        step.launch = static_cast<int>(truth_.launches.size());
        truth_.launches.push_back({step.thread, number, number, {}});
    }
    steps.push_back(step);
}

void random_program::ran(const program_step& step, const std::vector<executed>& done) {
    for (executed each : done) {
        each.work.id = executed_.size();
        executed_.push_back(each);
        auto& works = step.launch < 0 ? truth_.unmatched : truth_.launches[static_cast<std::size_t>(step.launch)].work;
        works.push_back(each.work);
    }
    ASSERT_TRUE(is_launch(step.what) || done.empty());
}

void random_program::forget_runs() {
    executed_.clear();
    truth_.unmatched.clear();
    for (oracle::launch& l : truth_.launches) l.work.clear();
}

void random_program::check(const timeline& data) const {
    std::map<std::string, std::uint64_t> expected_drops;
    if (pops_without_push != 0) expected_drops["pop_without_push"] = pops_without_push;
    ASSERT_EQ(data.quality.dropped, expected_drops);
    ASSERT_EQ(data.quality.damaged_bytes, 0U);
    ASSERT_TRUE(data.quality.ended);
    ASSERT_EQ(data.quality.ranges_open_at_end, left_open);
    ASSERT_EQ(data.ops.size(), executed_.size());
    check_rows(data);
    if (testing::Test::HasFatalFailure()) return;
    check_kernels(data);
    if (testing::Test::HasFatalFailure()) return;
    check_transfers(data);
}

void random_program::check_rows(const timeline& data) const {
    std::int64_t executed_ns = 0;
    for (const executed& each : executed_) executed_ns += each.work.end - each.work.start;

    for (const bool adopting : {true, false}) {
        SCOPED_TRACE(adopting ? "with adoption" : "without adoption");
        oracle::program judged_program = truth_;
        attribution_options options;
        if (!adopting) {
            std::fill(judged_program.works_for_others.begin(), judged_program.works_for_others.end(), false);
            options.adopt_pattern.clear();
        }
        const projection p = project(data, attribute(data, options));
        const oracle::naming names = oracle::naming_by_counters(judged_program, folded());
        const oracle::verdicts judged = oracle::judge_all(judged_program, names);
        oracle::check_rows(p, oracle::expect_rows(judged_program, judged, names));
        if (testing::Test::HasFatalFailure()) return;

        std::int64_t self_ns = 0;
        for (const projection_row& row : p.rows) self_ns += row.gpu_self_ns;
        ASSERT_EQ(self_ns, executed_ns);
        ASSERT_EQ(p.total_gpu_ns, executed_ns);
        ASSERT_EQ(p.total_ops, executed_.size());
        check_parents(p, judged);
        if (testing::Test::HasFatalFailure()) return;
        check_process_ranges(p);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Where no range outlives its parent (two domains' pops may interleave), a parent holds all that its children hold.
void random_program::check_parents(const projection& p, const oracle::verdicts& judged) const {
    for (const auto& [id, v] : judged) {
        // "(ambiguous)", where it stands above ranges, is no range; the fixed rows by themselves hold none.
        const auto slashes = static_cast<std::size_t>(std::count(v.where.begin(), v.where.end(), '/'));
        if (v.open.size() != (v.where.starts_with('(') ? slashes : slashes + 1)) return;
    }
    std::vector<std::int64_t> children_ns(p.rows.size(), 0);
    std::vector<std::uint64_t> children_ops(p.rows.size(), 0);
    for (const projection_row& row : p.rows) {
        if (row.parent == npos) continue;
        const projection_row& parent = p.rows[row.parent];
        children_ns[row.parent] += row.gpu_sum_ns;
        children_ops[row.parent] += row.ops;
        ASSERT_GE(parent.gpu_busy_ns, row.gpu_busy_ns) << row.path;
    }
    for (std::size_t i = 0; i < p.rows.size(); ++i) {
        ASSERT_EQ(p.rows[i].gpu_sum_ns, p.rows[i].gpu_self_ns + children_ns[i]) << p.rows[i].path;
        ASSERT_EQ(p.rows[i].ops, p.rows[i].self_ops + children_ops[i]) << p.rows[i].path;
        ASSERT_LE(p.rows[i].gpu_busy_ns, p.rows[i].gpu_sum_ns) << p.rows[i].path;
    }
}

void random_program::check_process_ranges(const projection& p) const {
    struct expected {
        std::uint64_t instances = 0;
        std::set<std::uint64_t> works;
        std::int64_t sum = 0;
        std::int64_t span = 0;
    };
    std::map<std::string, oracle::names_of_row> names;  // by folded name
    for (const process_range& r : process_ranges) ++names[folded().at(r.name)][r.name][r.thread];
    std::map<std::string, expected> rows;
    for (const process_range& r : process_ranges) {
        const std::string& folded_name = folded().at(r.name);
        expected& row = rows[oracle::name_different_things(names[folded_name]) ? r.name : folded_name];
        ++row.instances;
        std::int64_t first = INT64_MAX;
        std::int64_t last = INT64_MIN;
        for (const oracle::launch& l : truth_.launches) {
            if (l.number < r.started || l.number >= r.ended) continue;
            for (const oracle::gpu_work& w : l.work) {
                first = std::min(first, w.start);
                last = std::max(last, w.end);
                if (row.works.insert(w.id).second) row.sum += w.end - w.start;
            }
        }
        if (first < last) row.span += last - first;
    }
    ASSERT_EQ(p.process_ranges.size(), rows.size());
    for (const projection_row& row : p.process_ranges) {
        ASSERT_TRUE(rows.contains(row.path)) << row.path;
        const expected& e = rows.at(row.path);
        ASSERT_EQ(row.instances, e.instances) << row.path;
        ASSERT_EQ(row.ops, e.works.size()) << row.path;
        ASSERT_EQ(row.gpu_sum_ns, e.sum) << row.path;
        ASSERT_EQ(row.gpu_span_ns, e.span) << row.path;
    }
}

void random_program::check_kernels(const timeline& data) const {
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> expected;
    for (const executed& each : executed_) {
        if (each.kind != FAKE_GPU_KERNEL) continue;
        auto& [instances, total_ns] = expected[each.kernel];
        ++instances;
        total_ns += each.work.end - each.work.start;
    }
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> found;
    for (const kernel_row& row : kernel_table(data)) found[row.symbol] = {row.time.instances, row.time.total_ns};
    ASSERT_EQ(found, expected);
}

void random_program::check_transfers(const timeline& data) const {
    std::multiset<std::tuple<bool, std::int64_t, std::int64_t, std::uint64_t>> expected;
    std::multiset<std::tuple<bool, std::int64_t, std::int64_t, std::uint64_t>> found;
    for (const executed& each : executed_) {
        if (each.kind == FAKE_GPU_KERNEL) continue;
        expected.emplace(each.kind == FAKE_GPU_MEMSET, each.work.start, each.work.end, each.bytes);
    }
    for (const gpu_op& op : data.ops) {
        if (op.kind == op_kind::kernel) continue;
        found.emplace(op.kind == op_kind::memset, op.start_ns, op.end_ns, data.transfers[op.detail].bytes);
    }
    ASSERT_EQ(found, expected);
}

std::vector<std::string> report_lines(const timeline& data) {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& what, std::initializer_list<std::int64_t> numbers) {
        std::string line = what;
        for (const std::int64_t n : numbers) line += ' ' + std::to_string(n);
        lines.push_back(line);
    };
    const projection p = project(data);
    const auto add_rows = [&](const std::vector<projection_row>& rows) {
        for (const projection_row& r : rows) {
            add(r.path, {r.gpu_sum_ns, r.gpu_self_ns, r.gpu_child_ns, r.gpu_busy_ns, r.gpu_span_ns, r.adopted_ns,
                         r.instance_min_ns, r.instance_max_ns, static_cast<std::int64_t>(2 * r.instance_median_ns),
                         static_cast<std::int64_t>(r.instances), static_cast<std::int64_t>(r.ops),
                         static_cast<std::int64_t>(r.self_ops), static_cast<std::int64_t>(r.adopted_ops)});
        }
    };
    add_rows(p.rows);
    add_rows(p.process_ranges);
    add("total", {p.total_gpu_ns, p.total_busy_ns, static_cast<std::int64_t>(p.total_ops)});
    for (const kernel_row& k : kernel_table(data)) {
        add(k.name, {static_cast<std::int64_t>(k.time.instances), k.time.total_ns, k.time.min_ns, k.time.max_ns});
    }
    for (const transfer_row& t : transfer_table(data)) {
        add(t.operation, {static_cast<std::int64_t>(t.time.instances), t.time.total_ns,
                          static_cast<std::int64_t>(t.bytes), static_cast<std::int64_t>(t.max_bytes)});
    }
    for (const timeline_thread& thread : data.threads) add(thread.system_name, {});
    for (const auto& [cause, count] : data.quality.dropped) add(cause, {static_cast<std::int64_t>(count)});
    return lines;
}

}  // namespace prof::test
