// SPDX-License-Identifier: Apache-2.0
// Which numbers in names are folded, on programs worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/projection/merged_names.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/rows.hpp"
#include "record/fold_rule.hpp"
#include "report/tables/step_estimate.hpp"
#include "support/capture_builder.hpp"

namespace prof::fold_rule_test {
namespace {

using testing::ElementsAre;

// The paths of all rows but the three fixed ones, "*" before captured ones, with the instances.
std::vector<std::string> paths_of(const projection& p) {
    std::vector<std::string> out;
    for (const projection_row& row : p.rows) {
        if (row.kind != row_kind::range) continue;
        out.push_back((row.is_captured ? "*" : "") + row.path + ' ' + std::to_string(row.instances));
    }
    EXPECT_EQ(self_total(p), p.total_gpu_ns);
    return out;
}

fold_rule listed(std::vector<std::string> names) { return {.mode = fold_mode::listed, .names = std::move(names)}; }

// So many names with so many instances each on each of the threads.
merged_names names_of(std::uint32_t names, int instances, std::uint32_t threads = 1) {
    merged_names out;
    for (thread_id thread{0}; thread < threads; ++thread) {
        for (int i = 0; i < instances; ++i) {
            for (name_id name(1); name <= names; ++name) out.add(name, thread);
        }
    }
    return out;
}

TEST(MergedNames, AreDifferentThingsIfFewOfThemRecurOften) {
    EXPECT_TRUE(names_of(2, 3).are_different_things());
    EXPECT_TRUE(names_of(6, 4).are_different_things());
    EXPECT_TRUE(names_of(8, 3).are_different_things());
    EXPECT_TRUE(names_of(12, 12).are_different_things()) << "the layers of a small transformer, in twelve steps";
    EXPECT_TRUE(names_of(64, 100).are_different_things());
    EXPECT_FALSE(names_of(1, 100).are_different_things());
    EXPECT_FALSE(names_of(5, 1).are_different_things()) << "iterations of a small capture";
    EXPECT_FALSE(names_of(2, 2).are_different_things());
    EXPECT_FALSE(names_of(9, 8).are_different_things());
    EXPECT_FALSE(names_of(65, 1000).are_different_things());
    EXPECT_FALSE(names_of(100, 3).are_different_things()) << "a hundred iterations in each of three epochs";
}

TEST(MergedNames, RecurOnlyWhereOneThreadRepeatsThem) {
    EXPECT_FALSE(names_of(4, 1, 8).are_different_things()) << "eight threads, each with iterations of its own";
    EXPECT_TRUE(names_of(4, 3, 2).are_different_things());
    merged_names two_threads;
    for (int i = 0; i < 3; ++i) two_threads.add(name_id(1), thread_id(0));
    for (int i = 0; i < 3; ++i) two_threads.add(name_id(2), thread_id(1));
    EXPECT_TRUE(two_threads.are_different_things()) << "each on a thread of its own";
}

TEST(MergedNames, AreAsRareAsTheRarest) {
    merged_names names = names_of(2, 100);
    names.add(name_id(7), thread_id(0));
    EXPECT_FALSE(names.are_different_things());
    EXPECT_EQ(names.doubtful(), 0U);
    names.add(name_id(7), thread_id(0));
    EXPECT_FALSE(names.are_different_things());
    EXPECT_EQ(names.doubtful(), 3U);
    names.add(name_id(7), thread_id(0));
    EXPECT_TRUE(names.are_different_things());
}

TEST(MergedNames, AreDoubtfulIfTheyMayBeDifferentThings) {
    EXPECT_EQ(names_of(2, 2).doubtful(), 2U);
    EXPECT_EQ(names_of(8, 2).doubtful(), 8U);
    EXPECT_EQ(names_of(6, 4).doubtful(), 6U) << "where all numbers are folded";
    EXPECT_EQ(names_of(12, 3).doubtful(), 12U);
    EXPECT_EQ(names_of(8, 1).doubtful(), 0U);
    EXPECT_EQ(names_of(9, 2).doubtful(), 0U);
    EXPECT_EQ(names_of(65, 1000).doubtful(), 0U);
    EXPECT_EQ(names_of(1, 1000).doubtful(), 0U);
}

// One thread, on which something happens each nanosecond.
class program {
public:
    program& push(const std::string& name) {
        main_.push(++now_, name);
        return *this;
    }
    program& pop() {
        main_.pop(++now_);
        return *this;
    }
    program& launch(std::uint64_t ns) {
        main_.launch(++now_, ++correlation_);
        capture_.kernel(correlation_, 100'000 + now_, 100'000 + now_ + ns);
        return *this;
    }
    program& start_end(const std::string& name) {
        const std::uint64_t id = ++now_;
        main_.start(id, name, id).end(++now_, id);
        return *this;
    }
    timeline build() { return capture_.build(); }

private:
    capture_builder capture_;
    thread_script& main_ = capture_.thread("main");
    std::uint64_t now_ = 0;
    std::uint64_t correlation_ = 0;
};

// Iterations with the same ranges in each, which launch 1, 2, 3 ... ns of work.
timeline iterations(int count, const std::vector<std::string>& names) {
    program made;
    for (int i = 0; i < count; ++i) {
        made.push("iteration " + std::to_string(i));
        std::uint64_t ns = 0;
        for (const std::string& name : names) made.push(name).launch(++ns).pop();
        made.pop();
    }
    return made.build();
}

TEST(FoldRule, FoldsWhatCountsAndKeepsWhatNames) {
    const timeline data = iterations(4, {"conv1d", "conv2d", "fp8", "fp16", "layer1.0", "layer1.1", "fc1", "fc2"});
    EXPECT_THAT(sums(project(data)),
                ElementsAre("iteration # 144 0", "iteration #/conv1d 4 4", "iteration #/conv2d 8 8",
                            "iteration #/fp8 12 12", "iteration #/fp16 16 16", "iteration #/layer1.0 20 20",
                            "iteration #/layer1.1 24 24", "iteration #/fc1 28 28", "iteration #/fc2 32 32",
                            "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_THAT(paths_of(project(data, {.fold = {.mode = fold_mode::all}})),
                ElementsAre("iteration # 4", "iteration #/conv1d 4", "iteration #/conv2d 4", "iteration #/fp8 4",
                            "iteration #/fp16 4", "iteration #/layer#.# 8", "iteration #/fc# 8"));
}

TEST(FoldRule, TellsLayersFromIterationsInASmallCapture) {
    std::vector<std::string> layers;
    std::vector<testing::Matcher<std::string>> apart{"iteration # 4"};
    for (int i = 0; i < 6; ++i) {
        layers.push_back("layer " + std::to_string(i));
        apart.emplace_back("iteration #/layer " + std::to_string(i) + " 4");
    }
    EXPECT_THAT(paths_of(project(iterations(4, layers))), testing::ElementsAreArray(apart));
    EXPECT_THAT(paths_of(project(iterations(5, {}))), ElementsAre("iteration # 5"));
    const projection two = project(iterations(2, layers));
    EXPECT_THAT(paths_of(two), ElementsAre("iteration # 2", "iteration #/layer # 12"));
    EXPECT_EQ(row_at(two, "iteration #/layer #").merged_names, 6U) << "noted";
}

TEST(FoldRule, FoldsTheNamesThatAreListedAlone) {
    const timeline data = iterations(2, {"layer 0", "layer 1"});
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"layer #"})})),
                ElementsAre("iteration 0 1", "iteration 0/layer # 2", "iteration 1 1", "iteration 1/layer # 2"));
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"iter*#"})})),
                ElementsAre("iteration # 2", "iteration #/layer 0 2", "iteration #/layer 1 2"));
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"iteration #", "layer #"})})),
                ElementsAre("iteration # 2", "iteration #/layer # 4"));
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"#"})})),
                ElementsAre("iteration 0 1", "iteration 0/layer 0 1", "iteration 0/layer 1 1", "iteration 1 1",
                            "iteration 1/layer 0 1", "iteration 1/layer 1 1"));
}

TEST(FoldRule, MatchesListedNamesWithTheirDomainAndWithout) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    thread_script& main = capture.thread("main");
    main.push(1, "op 1", nccl).pop(2, nccl).push(3, "op 2", nccl).pop(4, nccl).push(5, "op 1").pop(6).push(7, "op 2");
    const timeline data = capture.build();
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"NCCL:op #"})})),
                ElementsAre("NCCL:op # 2", "op 1 1", "op 2 1"));
    EXPECT_THAT(paths_of(project(data, {.fold = listed({"op #"})})), ElementsAre("NCCL:op # 2", "op # 2"));
}

// What is below "layer 0" and "layer 1" is decided for both together: head 0 is in the one, head 1 in the other, and
// chunks are few below each of them but not in all.
TEST(FoldRule, DecidesTogetherBelowRowsThatAreKeptApart) {
    program made;
    for (int step = 0; step < 3; ++step) {
        for (const char* layer : {"0", "1"}) {
            made.push(std::string("layer ") + layer).push(std::string("head ") + layer).pop();
            made.push("chunk " + std::to_string(step)).pop().pop();
        }
    }
    EXPECT_THAT(paths_of(project(made.build())), ElementsAre("layer 0 3", "layer 0/head 0 3", "layer 0/chunk # 3",
                                                             "layer 1 3", "layer 1/head 1 3", "layer 1/chunk # 3"));
}

TEST(FoldRule, KeepsNamesApartFromARangeNamedWithASign) {
    program made;
    for (int i = 0; i < 3; ++i) made.push("part 1").pop().push("part 2").pop().push("part #").pop();
    EXPECT_THAT(paths_of(project(made.build())), ElementsAre("part 1 3", "part 2 3", "part # 3"));
}

// Three iterations whose backward runs on autograd's thread, which opens ranges for two layers.
TEST(FoldRule, HoldsForAdoptedRanges) {
    capture_builder capture;
    thread_script& python = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
    std::uint64_t correlation = 0;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const std::uint64_t t = 100 * i;
        python.push(t, "iteration " + std::to_string(i)).launch(t + 1, ++correlation).push(t + 5, "backward");
        capture.kernel(correlation, 1000 * i, 1000 * i + 1);
        for (std::uint64_t layer = 1; layer <= 2; ++layer) {
            const std::uint64_t at = t + 10 * layer;
            autograd.push(at, "layer " + std::to_string(layer)).launch(at + 1, ++correlation).pop(at + 2);
            capture.kernel(correlation, 1000 * i + 10 * layer, 1000 * i + 10 * layer + layer);
        }
        python.pop(t + 50).pop(t + 60);
    }
    const projection p = project(capture.build());
    EXPECT_THAT(sums(p), ElementsAre("iteration # 12 3", "iteration #/backward 9 0", "iteration #/backward/layer 1 3 3",
                                     "iteration #/backward/layer 2 6 6", "(no range) 0 0", "(ambiguous) 0 0",
                                     "(unmatched) 0 0"));
    EXPECT_EQ(row_at(p, "iteration #/backward/layer 2").adopted_ops, 3U);
}

// Two layers are captured in a graph, once, which three iterations launch.
TEST(FoldRule, HoldsForCapturedRanges) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.begin_capture(1, 90).push(2, "layer 0").node(3, 1).pop(4).push(5, "layer 1").node(6, 2).pop(7);
    main.copy(10, 101, 1).copy(10, 102, 2);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const std::uint64_t t = 100 * i;
        main.push(t, "iteration " + std::to_string(i)).launch(t + 1, i, "").pop(t + 2);
        capture.kernel(i, t + 10, t + 15, {.graph_node = 101}).kernel(i, t + 15, t + 17, {.graph_node = 102});
    }
    const timeline data = capture.build();
    const projection p = project(data);
    EXPECT_THAT(paths_of(p),
                ElementsAre("layer # 2", "iteration # 3", "*iteration #/layer 0 3", "*iteration #/layer 1 3"));
    EXPECT_EQ(row_at(p, "iteration #/layer 0").gpu_self_ns, 15);
    EXPECT_EQ(row_at(p, "iteration #/layer 1").gpu_self_ns, 6);
    EXPECT_THAT(paths_of(project(data, {.fold = {.mode = fold_mode::all}})),
                ElementsAre("layer # 2", "iteration # 3", "*iteration #/layer # 6"));
}

TEST(FoldRule, HoldsForProcessRanges) {
    program made;
    for (int i = 0; i < 3; ++i) {
        made.start_end("top-1").start_end("top-5");
        if (i < 2) made.start_end("rare 1").start_end("rare 2");
        made.start_end("request " + std::to_string(i));
    }
    const timeline data = made.build();
    const auto rows = [&](const fold_rule& rule) {
        std::vector<std::string> out;
        for (const projection_row& row : project(data, {.fold = rule}).process_ranges) {
            out.push_back(row.path + ' ' + std::to_string(row.instances) + ' ' + std::to_string(row.merged_names));
        }
        return out;
    };
    EXPECT_THAT(rows({}), ElementsAre("top-1 3 0", "top-5 3 0", "rare # 4 2", "request # 3 0"));
    EXPECT_THAT(rows({.mode = fold_mode::all}), ElementsAre("top-# 6 2", "rare # 4 2", "request # 3 0"));
    EXPECT_THAT(rows({.mode = fold_mode::none}), ElementsAre("top-1 3 0", "top-5 3 0", "rare 1 2 0", "rare 2 2 0",
                                                             "request 0 1 0", "request 1 1 0", "request 2 1 0"));
    EXPECT_THAT(rows(listed({"top-#"})), ElementsAre("top-# 6 2", "rare 1 2 0", "rare 2 2 0", "request 0 1 0",
                                                     "request 1 1 0", "request 2 1 0"));
}

TEST(FoldRule, IsParsedFromAWordOrFromNames) {
    const auto mode = [](const char* text) { return parse_fold_rule(text).value().mode; };
    EXPECT_EQ(mode("counters"), fold_mode::counters);
    EXPECT_EQ(mode("1"), fold_mode::counters);
    EXPECT_EQ(mode("all"), fold_mode::all);
    EXPECT_EQ(mode("none"), fold_mode::none);
    EXPECT_EQ(mode("0"), fold_mode::none);
    EXPECT_THAT(parse_fold_rule("layer #,a\\,b #").value().names, ElementsAre("layer #", "a\\,b #"));
    for (const char* const bad : {"", "2", "layer", "layer 1", "layer #,", ",layer #", "layer #,step", "All"}) {
        EXPECT_FALSE(parse_fold_rule(bad)) << bad;
    }
    for (const char* const text : {"counters", "all", "none", "layer #,a\\,b #"}) {
        EXPECT_EQ(parse_fold_rule(text).value().text(), text);
    }
}

}  // namespace
}  // namespace prof::fold_rule_test
