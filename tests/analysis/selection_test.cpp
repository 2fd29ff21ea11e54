// SPDX-License-Identifier: Apache-2.0
// Parts of captures, against the oracle of the property test, against the rows of the whole, and worked by hand.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/expected_rows.hpp"
#include "analysis/oracle.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/random_program.hpp"
#include "analysis/rows.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/selection/step_marks.hpp"
#include "analysis/steps/step_figures.hpp"
#include "record/label.hpp"
#include "report/reports.hpp"
#include "support/capture_builder.hpp"
#include "support/sanitized.hpp"

namespace prof {
namespace {

using property_test::folded_names;
using property_test::random_program;

selected_part part_of(const timeline& data, const std::vector<std::string>& ranges) {
    return selected_part(data, {}, {.ranges = ranges});
}

projection projected(const selected_part& part) { return project(part.data(), part.att()); }

std::set<std::uint64_t> works_of(const timeline& data) {
    std::set<std::uint64_t> out;
    for (const gpu_op& op : data.ops) out.insert(data.kernels[op.detail].local_memory_total_bytes);
    return out;
}

// Ids of the work that counts, by the oracle, for a range of the name.
std::set<std::uint64_t> works_for(const oracle::program& program, const oracle::verdicts& verdicts,
                                  const std::string& name) {
    std::set<std::uint64_t> out;
    for (const auto& [id, v] : verdicts) {
        const auto is_meant = [&](std::uint64_t range) {
            const std::string& own = program.ranges[range - 1].name;
            return own == name || folded_names.at(own) == name;
        };
        if (std::any_of(v.open.begin(), v.open.end(), is_meant) ||
            std::any_of(v.captured.begin(), v.captured.end(), is_meant)) {
            out.insert(id);
        }
        if (v.where == name && v.captured.empty()) out.insert(id);
        if (name == ambiguous_text && v.where.starts_with(ambiguous_text)) out.insert(id);
    }
    return out;
}

TEST(Selection, HasTheWorkThatTheOracleSeesInTheRanges) {
    std::uint64_t selected = 0;
    std::uint64_t captured = 0;
    for (std::uint32_t seed = 1; seed <= test::random_cases(1'500); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed};
        const timeline data = made.capture.build();
        const oracle::naming names = oracle::naming_by_counters(made.program, folded_names);
        const oracle::verdicts verdicts = oracle::judge_all(made.program, names);
        for (const std::string name : {"step 1", "forward", "layer 10", "(no range)", "(ambiguous)", "(unmatched)"}) {
            SCOPED_TRACE(name);
            const std::set<std::uint64_t> expected = works_for(made.program, verdicts, name);
            try {
                const selected_part part = part_of(data, {name});
                ASSERT_EQ(works_of(part.data()), expected);
                ASSERT_EQ(self_total(projected(part)), projected(part).total_gpu_ns);
                selected += expected.size();
                captured += part.att().replayed.size();
            } catch (const nothing_selected&) {
                ASSERT_TRUE(expected.empty());
            }
        }
    }
    EXPECT_GT(selected, test::random_cases(10'000));
    EXPECT_GT(captured, test::random_cases(1'000));
}

// Steps of such programs may have no length.
TEST(Selection, OfTheStepsThatCountHasWhatBeginsInThem) {
    std::uint64_t works = 0;
    std::uint64_t of_no_length = 0;
    constexpr std::uint32_t first = 471;  // its steps have no length
    for (std::uint32_t seed = first; seed < first + test::random_cases(1'500); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed, seed % 5 == 0};
        const timeline data = made.capture.build();
        const selected_part part(data, {}, step_scope{});
        std::set<std::uint64_t> expected;
        std::int64_t length_ns = 0;
        for (const whole_step& step : part.scope().steps->steps) {
            length_ns += step.end_ns - step.start_ns;
            for (const gpu_op& op : data.ops) {
                const std::int64_t begin_ns = op.launch == npos ? op.start_ns : data.api_calls[op.launch].start_ns;
                if (begin_ns < step.start_ns || begin_ns >= step.end_ns) continue;
                expected.insert(data.kernels[op.detail].local_memory_total_bytes);
            }
        }
        ASSERT_EQ(works_of(part.data()), expected);
        works += expected.size();
        of_no_length += !part.scope().steps->steps.empty() && length_ns == 0;
    }
    EXPECT_GT(works, test::random_cases(500));
    EXPECT_GT(of_no_length, 0U);
}

// The figures of a row, without its place in the tree.
std::vector<double> figures(const projection_row& r) {
    return {static_cast<double>(r.instances),
            static_cast<double>(r.host_ns),
            static_cast<double>(r.host_self_ns),
            static_cast<double>(r.gpu_sum_ns),
            static_cast<double>(r.gpu_self_ns),
            static_cast<double>(r.gpu_child_ns),
            static_cast<double>(r.gpu_busy_ns),
            static_cast<double>(r.gpu_span_ns),
            static_cast<double>(r.ops),
            static_cast<double>(r.self_ops),
            static_cast<double>(r.adopted_ops),
            static_cast<double>(r.adopted_ns),
            static_cast<double>(r.instance_min_ns),
            r.instance_median_ns,
            static_cast<double>(r.instance_max_ns),
            static_cast<double>(r.host_min_ns),
            static_cast<double>(r.host_max_ns)};
}

// A row that alone has its path's ending is the whole of the part, with all rows below it.
TEST(Selection, HasTheFiguresOfItsRowInTheWhole) {
    std::uint64_t compared = 0;
    for (std::uint32_t seed = 1; seed <= test::random_cases(1'500); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed, seed % 5 == 0};
        const timeline data = made.capture.build();
        const projection whole = project(data);
        for (const projection_row& row : whole.rows) {
            const auto ends_so = std::count_if(whole.rows.begin(), whole.rows.end(), [&](const projection_row& other) {
                return other.path == row.path || other.path.ends_with('/' + row.path);
            });
            // Names with numbers are those of ranges in other rows, too.
            const bool has_number = row.path.find_first_of("012") != std::string::npos;
            if (row.kind != row_kind::range || ends_so != 1 || has_number) continue;
            SCOPED_TRACE(row.path);
            const selected_part part = part_of(data, {row.path});
            const projection p = projected(part);
            ASSERT_EQ(p.total_gpu_ns, row.gpu_sum_ns);
            ASSERT_EQ(p.total_ops, row.ops);
            const bool is_ambiguous = row.path.starts_with(ambiguous_text);
            const std::string path = (is_ambiguous ? std::string(ambiguous_text) + '/' : std::string()) +
                                     row.path.substr(row.path.rfind('/') + 1);
            ASSERT_EQ(figures(row_at(p, path)), figures(row));
            ++compared;
        }
    }
    EXPECT_GT(compared, test::random_cases(2'000));
}

std::uint64_t calls_in(const timeline& data) { return data.api_calls.size(); }

// All outermost ranges and the rows that always exist have everything, each call and operation once.
TEST(Selection, OfAllOutermostRowsIsTheWhole) {
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed};
        const timeline data = made.capture.build();
        const projection whole = project(data);
        std::vector<std::string> all = {"*"};
        for (const std::string_view fixed : {no_range_text, ambiguous_text, unmatched_text}) all.emplace_back(fixed);
        const selected_part part = part_of(data, all);
        ASSERT_EQ(works_of(part.data()), works_of(data));
        ASSERT_EQ(calls_in(part.data()), calls_in(data));
        std::uint64_t calls = 0;
        std::uint64_t ops = 0;
        for (const std::string& one : all) {
            try {
                const selected_part of = part_of(data, {one});
                calls += calls_in(of.data());
                ops += of.data().ops.size();
            } catch (const nothing_selected&) {
            }
        }
        // Ranges below (ambiguous) are meant by both; of a graph some nodes may be in a range and others in none.
        ASSERT_GE(ops, data.ops.size());
        ASSERT_GE(calls, data.api_calls.size());
        if (row_at(whole, ambiguous_text).ops == 0) {
            ASSERT_EQ(ops, data.ops.size());
        }
        std::vector<std::string> rows = sums(projected(part));
        ASSERT_EQ(rows, sums(whole));
    }
}

// What adds up over parts that do not overlap, by name: a range that outlives the one around it is an outermost one in
// the times after that.
using added_figures = std::map<std::string, std::vector<std::int64_t>>;

void add_rows(added_figures& to, const projection& p) {
    for (const projection_row& r : p.rows) {
        std::vector<std::int64_t>& of = to[r.name + (r.is_captured ? "|" : "")];
        const std::vector<std::int64_t> own = {r.host_ns,
                                               r.gpu_sum_ns,
                                               r.gpu_self_ns,
                                               static_cast<std::int64_t>(r.ops),
                                               static_cast<std::int64_t>(r.self_ops),
                                               static_cast<std::int64_t>(r.adopted_ops),
                                               r.adopted_ns,
                                               r.wait_ns};
        of.resize(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) of[i] += own[i];
    }
}

// Rows without anything: of an instant, or captured without work.
void drop_empty(added_figures& of) {
    std::erase_if(of, [](const auto& row) {
        return std::all_of(row.second.begin(), row.second.end(), [](std::int64_t n) { return n == 0; });
    });
}

TEST(Selection, OfTimesAddsUpToTheWhole) {
    std::uint64_t rows = 0;
    for (std::uint32_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program made{seed, seed % 5 == 0};
        const timeline data = made.capture.build();
        added_figures whole;
        add_rows(whole, project(data));
        added_figures parts;
        std::uint64_t calls = 0;
        std::vector<std::int64_t> borders = {0};
        const std::int64_t length = std::max<std::int64_t>(made.now, 2);
        for (int i = 0; i < 3; ++i)
            borders.push_back(1 + static_cast<std::int64_t>(made.random() % static_cast<std::uint64_t>(length)));
        std::sort(borders.begin(), borders.end());
        for (std::size_t i = 0; i < borders.size(); ++i) {
            const std::string to = i + 1 < borders.size() ? std::to_string(borders[i + 1]) + "ns" : std::string();
            try {
                const selected_part part(data, {}, {.from = std::to_string(borders[i]) + "ns", .to = to});
                add_rows(parts, projected(part));
                calls += calls_in(part.data());
            } catch (const nothing_selected&) {
            }
        }
        drop_empty(whole);
        drop_empty(parts);
        ASSERT_EQ(parts, whole);
        ASSERT_EQ(calls, calls_in(data));
        rows += whole.size();
    }
    EXPECT_GT(rows, 1'000U);
}

// A trainer of three steps, whose backward pass an autograd thread launches.
struct trainer {
    capture_builder capture;
    timeline data;

    trainer() {
        thread_script& main = capture.thread("python");
        thread_script& autograd = capture.thread("pt_autograd_0");
        std::uint64_t correlation = 1;
        for (std::uint64_t step = 0; step < 3; ++step) {
            const std::uint64_t at = 1000 * step;
            main.push(at, "iteration " + std::to_string(step)).push(at + 10, "forward");
            main.launch(at + 20, correlation, "gemm").pop(at + 100);
            capture.kernel(correlation++, at + 500, at + 700, {}, "gemm");
            main.push(at + 110, "backward").wait(at + 120, at + 400, correlation++);
            autograd.launch(at + 130, correlation, "grad");
            capture.kernel(correlation++, at + 1000, at + 1300, {}, "grad");
            main.pop(at + 410).launch(at + 420, correlation, "fill");
            capture.kernel(correlation++, at + 1300, at + 1310, {}, "fill");
            main.pop(at + 900);
        }
        data = capture.build();
    }
};

std::vector<std::string> kernels_of(const selected_part& part) {
    std::vector<std::string> out;
    for (const gpu_op& op : part.data().ops) out.emplace_back(part.data().kernel_symbol(op));
    return out;
}

TEST(Selection, OfBackwardHasWhatAutogradLaunched) {
    const trainer of;
    const selected_part part = part_of(of.data, {"backward"});
    EXPECT_EQ(kernels_of(part), (std::vector<std::string>{"grad", "grad", "grad"}));
    const projection p = projected(part);
    EXPECT_EQ(sums(p),
              (std::vector<std::string>{"backward 900 900", "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"}));
    EXPECT_EQ(row_at(p, "backward").wait_ns, 3 * 280);
    EXPECT_EQ(row_at(p, "backward").adopted_ops, 3U);
}

TEST(Selection, MatchesNamesAsShownAndAsTheyAre) {
    const trainer of;
    EXPECT_EQ(kernels_of(part_of(of.data, {"iteration #"})).size(), 9U);
    EXPECT_EQ(kernels_of(part_of(of.data, {"iteration 1"})).size(), 3U);
    EXPECT_EQ(kernels_of(part_of(of.data, {"iteration 1/forward", "iteration 2/b*"})),
              (std::vector<std::string>{"gemm", "grad"}));
    EXPECT_EQ(kernels_of(part_of(of.data, {"iteration #/backward"})).size(), 3U);
    EXPECT_EQ(kernels_of(part_of(of.data, {"[f]orward"})).size(), 3U);
    EXPECT_EQ(part_of(of.data, {"forward", "nothing"}).facts().in_vain,
              (std::vector<std::string>{"no range matches \"nothing\"; there are iteration #, forward, backward"}));
}

TEST(Selection, NamesTheNearestRangeWhereNoneMatches) {
    const trainer of;
    const auto message = [&](const selection_request& request) -> std::string {
        try {
            const selected_part part(of.data, {}, request);
        } catch (const nothing_selected& failure) {
            return failure.what();
        }
        return "found";
    };
    EXPECT_EQ(message({.ranges = {"backwrd"}}), "no range matches \"backwrd\"; did you mean backward?");
    EXPECT_EQ(message({.ranges = {"forward/backward"}}),
              "no range matches \"forward/backward\"; did you mean backward?");
    EXPECT_EQ(message({.steps = "9"}), "no step is in 9: the capture has 2 steps from 0 to 1");
    EXPECT_EQ(message({.from = "1s"}), "the capture has nothing from 1s: it is 0.000003 s long");
}

TEST(Selection, CountsStepsByARangeAfterTheFact) {
    trainer of;
    count_steps_by(of.data, "iteration #");
    const selected_part part(of.data, {}, {.steps = "1:3"});
    EXPECT_EQ(part.facts().steps, (std::vector<std::uint64_t>{1})) << "nothing shows the end of the last";
    EXPECT_EQ(part.facts().all_steps, 3U);
    EXPECT_EQ(kernels_of(part).size(), 6U);
    EXPECT_EQ(selected_part(of.data, {}, {.skip_first = 1}).facts().steps, (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(kernels_of(selected_part(of.data, {}, {.ranges = {"backward"}, .steps = ":1"})),
              (std::vector<std::string>{"grad"}));
    EXPECT_THROW(count_steps_by(of.data, "iteratio"), nothing_selected);
}

// A phase of the name of a range around it, and a function that calls itself, are one stretch each.
TEST(Selection, CountsNoStepInsideAnotherOfItsName) {
    capture_builder capture;
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    auto& main = capture.thread("main");
    for (std::uint64_t at = 0; at < 500; at += 100) {
        main.push(at, "forward").push(at + 2, "forward", phases).pop(at + 40, phases).push(at + 41, "forward");
        main.pop(at + 49).pop(at + 50);
    }
    timeline data = capture.build();
    count_steps_by(data, "forward");
    const attribution att = attribute(data);
    const whole_steps found = find_whole_steps(data, att);
    EXPECT_EQ(found.source, step_source::counted);
    EXPECT_EQ(found.range, "forward");
    EXPECT_EQ(found.steps.size(), 4U);
    for (const whole_step& step : found.steps) EXPECT_EQ(step.length_ns(), 100);
}

// What ended the steps that were observed says nothing of those that a range counts.
TEST(Selection, NamesTheRangeThatCountsSteps) {
    capture_builder capture;
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    auto& main = capture.thread("main");
    for (std::uint64_t at = 0; at < 500; at += 100) {
        main.push(at, "step", phases).push(at + 10, "backward").pop(at + 50).pop(at + 100, phases);
    }
    timeline data = capture.build();
    for (timeline_range& range : data.ranges) {
        if (range.domain != 0) range.category = optimizer_witness;
    }
    EXPECT_EQ(measure_steps(data, attribute(data))->witness, optimizer_witness);
    count_steps_by(data, "backward");
    const std::optional<step_figures> steps = measure_steps(data, attribute(data));
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->range, "backward");
    EXPECT_EQ(steps->witness, 0U);
}

// An operation counts where its launch is, although it ran later.
TEST(Selection, OfTimesHasWhatWasLaunchedThen) {
    const trainer of;
    const selected_part part(of.data, {}, {.from = "1000ns", .to = "2000ns"});
    EXPECT_EQ(works_of(part.data()).size(), 1U);  // the builder gives each the number 0
    ASSERT_EQ(part.data().ops.size(), 3U);
    EXPECT_EQ(part.data().ops[0].start_ns, 1500);
    EXPECT_EQ(part.data().ops[2].end_ns, 2310);
    EXPECT_EQ(sums(projected(part)).front(), "iteration # 510 10");
}

TEST(Selection, OfTimesHasTheValuesOfCountersThen) {
    capture_builder capture;
    capture.thread("main").push(0, "a").counter(10, "loss", 3).counter(20, "loss", 2).counter(30, "loss", 1).pop(40);
    const timeline data = capture.build();
    const selected_part part(data, {}, {.from = "15ns", .to = "25ns"});
    ASSERT_EQ(part.data().series.size(), 1U);
    ASSERT_EQ(part.data().series[0].samples.size(), 1U);
    EXPECT_EQ(part.data().series[0].samples[0].value, 2);
}

// Whole steps of 1000, of which the third is longer; the first is warm-up, and of the last one nothing shows the end.
struct counted_steps_of {
    counted_steps_of() {
        capture_builder capture;
        const std::uint16_t own = capture.domain("prof");
        thread_script& main = capture.thread("python");
        std::uint64_t at = 0;
        for (std::uint64_t number = 0; number < 6; ++number) {
            main.step(at, number, own).launch(at + 100, number + 1);
            capture.kernel(number + 1, at + 200, at + 1'500);
            at += number == 2 ? 3'000 : 1'000;
        }
        data = capture.build();
    }
    std::vector<std::uint64_t> chosen(const selection_request& request) const {
        std::vector<std::uint64_t> out;
        for (const whole_step& step : choose_whole_steps(data, attribute(data), request).steps) {
            out.push_back(step.number);
        }
        return out;
    }
    timeline data;
};

TEST(ChosenWholeSteps, BeginInThePartAndEndBeforeItsLastMoment) {
    using numbers = std::vector<std::uint64_t>;
    const counted_steps_of of;
    EXPECT_EQ(of.chosen({.steps = "0:2"}), (numbers{0, 1}));
    EXPECT_EQ(of.chosen({.steps = "3:"}), (numbers{3, 4}));
    EXPECT_EQ(of.chosen({.skip_first = 3}), (numbers{3, 4}));
    EXPECT_EQ(of.chosen({.to = "5000ns"}), (numbers{1, 2}));
    EXPECT_EQ(of.chosen({.to = "4999ns"}), (numbers{1}));
    EXPECT_EQ(of.chosen({.from = "1000ns", .to = "6500ns"}), (numbers{1, 2, 3}));
    EXPECT_EQ(of.chosen({.from = "1001ns", .to = "6500ns"}), (numbers{2, 3}));
    EXPECT_EQ(of.chosen({.steps = "1:", .to = "5000ns"}), (numbers{1, 2}));
    EXPECT_EQ(of.chosen({.to = "1000ns"}), (numbers{0}));
    EXPECT_THROW(of.chosen({.steps = "5"}), nothing_selected);
    EXPECT_THROW(of.chosen({.from = "6001ns"}), nothing_selected);
}

TEST(ChosenWholeSteps, CountTheWarmUpThatTheyLeaveOut) {
    const counted_steps_of of;
    const auto warm_up = [&](const selection_request& request) {
        return choose_whole_steps(of.data, attribute(of.data), request).warm_up;
    };
    EXPECT_EQ(warm_up({.to = "5000ns"}), 1U);
    EXPECT_EQ(warm_up({.from = "1000ns"}), 0U);
    EXPECT_EQ(warm_up({.to = "1000ns"}), 0U);
    EXPECT_EQ(warm_up({.steps = "0:3"}), 0U);
}

TEST(Selection, ReadsSlicesOfSteps) {
    EXPECT_EQ(parse_step_slice("3:8")->first, 3U);
    EXPECT_EQ(parse_step_slice("3:8")->end, 8U);
    EXPECT_EQ(parse_step_slice("3:")->end, UINT64_MAX);
    EXPECT_EQ(parse_step_slice(":8")->first, 0U);
    EXPECT_EQ(parse_step_slice("7")->end, 8U);
    for (const char* const wrong : {"", ":", "8:3", "3:3", "a", "3:8:2", "-3:", "3 :8"}) {
        EXPECT_FALSE(parse_step_slice(wrong)) << wrong;
    }
}

TEST(Selection, ReadsMoments) {
    EXPECT_EQ(parse_moment("1.5")->ns, 1'500'000'000);
    EXPECT_EQ(parse_moment("20ms")->ns, 20'000'000);
    EXPECT_EQ(parse_moment("0.5us")->ns, 500);
    EXPECT_FALSE(parse_moment("7ns")->is_absolute);
    // date -u -d 2026-11-25T21:30:00 +%s
    EXPECT_EQ(parse_moment("2026-11-25T21:30:00Z")->ns, INT64_C(1795642200'000000000));
    EXPECT_EQ(parse_moment("2026-11-25 21:30")->ns, INT64_C(1795642200'000000000));
    EXPECT_EQ(parse_moment("2026-11-25T21:30:00.25")->ns, INT64_C(1795642200'250000000));
    EXPECT_TRUE(parse_moment("2026-11-25T21:30")->is_absolute);
    for (const char* const wrong : {"", "1h", "ms", "2026-02-30T00:00", "2026-11-25", "1.5 s", "-1", "nan", "1e300"}) {
        EXPECT_FALSE(parse_moment(wrong)) << wrong;
    }
}

TEST(TimeSpans, AreASet) {
    const time_spans of({{10, 20}, {30, 40}, {18, 25}, {50, 50}});
    EXPECT_EQ(of.list(), (std::vector<time_span>{{10, 25}, {30, 40}}));
    EXPECT_EQ(of.total_ns(), 25);
    EXPECT_EQ(of.cut(0, 100), (time_span{10, 40}));
    EXPECT_EQ(of.cut(20, 28), (time_span{20, 25}));
    EXPECT_EQ(of.cut(26, 30), std::nullopt);
    EXPECT_EQ(of.cut(24, 24), (time_span{24, 24}));
    EXPECT_EQ(of.cut(25, 25), std::nullopt);
    EXPECT_EQ(of.within(time_spans({{0, 12}, {24, 31}})).list(),
              (std::vector<time_span>{{10, 12}, {24, 25}, {30, 31}}));
}

// Where the GPU's last step began is known of the whole trace only.
TEST(Selection, HasNotTheWholesLastStepOnTheGpu) {
    capture_builder capture;
    capture.thread("python").push(1'000, "a").launch(1'100, 1).pop(1'200).push(2'000, "b").pop(2'100);
    capture.kernel(1, 1'200, 1'300);
    capture.parts().properties = {{"last_step_on_gpu_ns", "2050"}, {"trace", "read"}};
    const timeline whole = capture.build();
    const auto properties = [&](const selection_request& of) { return selected_part(whole, {}, of).data().properties; };
    EXPECT_EQ(properties({.from = "0ns", .to = "500ns"}).count("last_step_on_gpu_ns"), 0U);
    EXPECT_EQ(properties({.from = "0ns", .to = "500ns"}).at("trace"), "read");
    EXPECT_EQ(properties({.ranges = {"a"}}).count("last_step_on_gpu_ns"), 1U);
}

}  // namespace
}  // namespace prof
