// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/domain_filter.hpp"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/projection/projection.hpp"
#include "analysis/rows.hpp"
#include "support/capture_builder.hpp"
#include "support/sanitized.hpp"

namespace prof::domain_filter_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

attribution_options without(const std::string& pattern) {
    attribution_options out;
    out.domains.exclude = {pattern};
    return out;
}

projection project_without(const timeline& data, const std::string& pattern) {
    return project(data, projection_options{.attribution = without(pattern)});
}

TEST(DomainFilter, MatchesNamesAndShellPatterns) {
    const domain_filter only{.include = {"NCCL", "cu*"}, .exclude = {}};
    EXPECT_TRUE(only.keeps("NCCL"));
    EXPECT_TRUE(only.keeps("cuBLAS"));
    EXPECT_FALSE(only.keeps("default"));
    EXPECT_FALSE(only.keeps("NCCL2"));
    const domain_filter both{.include = {"cu*"}, .exclude = {"cuDNN"}};
    EXPECT_TRUE(both.keeps("cuBLAS"));
    EXPECT_FALSE(both.keeps("cuDNN"));
    EXPECT_TRUE(domain_filter{}.keeps("anything"));
}

TEST(HiddenDomains, MatchTheDefaultDomainByName) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("main").push(1, "a", nccl).pop(2, nccl);
    const timeline data = capture.build();
    const hidden_domains other{data, {.include = {"NCCL"}, .exclude = {}}};
    EXPECT_TRUE(other.contains(0));
    EXPECT_FALSE(other.contains(nccl));
    EXPECT_FALSE((hidden_domains{data, {.include = {}, .exclude = {"nothing"}}}).any());
}

TEST(DomainFilter, NamesPatternsThatMatchNoDomainOfARange) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.domain("unused");
    capture.thread("main").push(1, "a").push(2, "b", nccl).pop(3, nccl).pop(4);
    const timeline data = capture.build();
    EXPECT_THAT(patterns_in_vain(data, {.include = {"N*", "def*"}, .exclude = {"NCCL"}}), IsEmpty());
    EXPECT_THAT(
        patterns_in_vain(data, {.include = {"unused"}, .exclude = {"nccl", "default"}}),
        ElementsAre("nvtx_domain_include: no range has the domain \"unused\"; there are ranges of default, NCCL",
                    "nvtx_domain_exclude: no range has the domain \"nccl\"; there are ranges of default, NCCL"));
    EXPECT_THAT(patterns_in_vain(capture_builder().build(), {.include = {"x"}, .exclude = {}}), IsEmpty());
}

TEST(HiddenRanges, GiveTheirWorkToTheNextVisibleRange) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("main")
        .push(1, "step")
        .launch(2, 1)
        .push(4, "outer", nccl)
        .push(5, "inner", nccl)
        .launch(6, 2)
        .push(8, "kept")
        .launch(9, 3)
        .pop(11)
        .pop(12, nccl)
        .pop(13, nccl)
        .pop(14)
        .push(15, "alone", nccl)
        .launch(16, 4)
        .pop(18, nccl);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 200, 300).kernel(4, 1000, 2000);
    const timeline data = capture.build();
    EXPECT_THAT(
        sums(project_without(data, "NCCL")),
        ElementsAre("step 111 11", "step/kept 100 100", "(no range) 1000 1000", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(row_at(project_without(data, "NCCL"), "step/kept").depth, 1U);
    EXPECT_THAT(sums(project_without(data, "*")),
                ElementsAre("(no range) 1111 1111", "(ambiguous) 0 0", "(unmatched) 0 0"));
}

TEST(HiddenRanges, GiveAdoptedWorkToTheRangeAroundThem) {
    capture_builder capture;
    const std::uint16_t lib = capture.domain("lib");
    capture.thread("python").push(1, "backward").push(2, "engine", lib).launch(3, 1).pop(20, lib).pop(21);
    capture.thread("pt_autograd_0")
        .launch(5, 2)
        .push(7, "hook", lib)
        .launch(8, 3)
        .push(10, "layer")
        .launch(11, 4)
        .pop(13)
        .pop(14, lib);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 200, 300).kernel(4, 1000, 2000);
    const projection p = project_without(capture.build(), "lib");
    EXPECT_THAT(sums(p), ElementsAre("backward 1111 111", "backward/layer 1000 1000", "(no range) 0 0",
                                     "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(row_at(p, "backward").adopted_ops, 3U);
}

TEST(HiddenRanges, DoNotChangeTheAdopter) {
    capture_builder capture;
    const std::uint16_t lib = capture.domain("lib");
    capture.thread("one").push(1, "step").launch(2, 1).pop(30);
    capture.thread("two").push(1, "busy", lib).launch(4, 2).pop(30, lib);
    capture.thread("pt_autograd_0").launch(5, 3).push(7, "hook", lib).launch(8, 4).pop(10, lib);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 200, 300).kernel(4, 1000, 2000);
    // Two threads could be meant, whatever is shown of them.
    const projection p = project_without(capture.build(), "lib");
    EXPECT_THAT(sums(p), ElementsAre("step 1 1", "(no range) 10 10", "(ambiguous) 1100 1100", "(unmatched) 0 0"));
    EXPECT_EQ(p.adopted_ops, 0U);
}

TEST(HiddenRanges, AdoptNothingWithoutAVisibleAdopter) {
    capture_builder capture;
    const std::uint16_t lib = capture.domain("lib");
    capture.thread("python").push(1, "engine", lib).launch(2, 1).pop(30, lib);
    capture.thread("pt_autograd_0").push(5, "layer").launch(6, 2).pop(9).launch(10, 3);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 200, 300);
    const timeline data = capture.build();
    EXPECT_EQ(project(data).adopted_ops, 2U);
    const projection p = project_without(data, "lib");
    EXPECT_THAT(sums(p), ElementsAre("layer 10 10", "(no range) 101 101", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(p.adopted_ops, 0U);
}

// As without a filter, work under a range counts as adopted also after the adopter has ended.
TEST(HiddenRanges, KeepWorkAdoptedWhenTheyOutlastTheAdopter) {
    capture_builder capture;
    const std::uint16_t lib = capture.domain("lib");
    capture.thread("python").push(1, "step").push(2, "engine", lib).launch(3, 1).pop(8).pop(30, lib);
    capture.thread("pt_autograd_0").push(5, "layer").launch(6, 2).launch(10, 3).pop(20);
    capture.kernel(1, 100, 101).kernel(2, 110, 120).kernel(3, 200, 300);
    const projection p = project_without(capture.build(), "lib");
    EXPECT_THAT(sums(p),
                ElementsAre("step 11 1", "step/layer 110 110", "(no range) 0 0", "(ambiguous) 0 0", "(unmatched) 0 0"));
    EXPECT_EQ(p.adopted_ops, 2U);
}

TEST(HiddenRanges, GiveTheirWaitsToVisibleRanges) {
    capture_builder capture;
    const std::uint16_t nccl = capture.domain("NCCL");
    capture.thread("python")
        .push(1, "step")
        .push(2, "reduce", nccl)
        .wait(3, 10, 1)
        .pop(11, nccl)
        .pop(12)
        .push(20, "barrier", nccl)
        .wait(21, 25, 2)
        .pop(26, nccl);
    const projection p = project_without(capture.build(), "NCCL");
    EXPECT_EQ(row_at(p, "step").wait_ns, 7);
    EXPECT_EQ(row_at(p, "(no range)").wait_ns, 4);
    EXPECT_EQ(p.wait_ns, 11);
}

TEST(HiddenRanges, LeaveOutStartEndRanges) {
    capture_builder capture;
    const std::uint16_t lib = capture.domain("lib");
    capture.thread("one").start(1, "a", 71, lib).start(2, "b", 72).end(3, 71).end(4, 72);
    const projection p = project_without(capture.build(), "lib");
    ASSERT_EQ(p.process_ranges.size(), 1U);
    EXPECT_EQ(p.process_ranges[0].path, "b");
}

// Programs made at random: what is hidden must be as what was never recorded. Times never repeat, since with equal
// times only the order of records tells what was open.
struct random_program {
    capture_builder all;
    capture_builder kept;  // without domain 2
    std::mt19937 random;
    std::uint64_t hidden_launches = 0;  // made in a range that is hidden

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

    explicit random_program(std::uint32_t seed) : random(seed) {
        for (capture_builder* capture : {&all, &kept}) {
            (void)capture->domain("kept");
            (void)capture->domain("hidden");
        }
        std::uint64_t now = 10;
        std::uint64_t correlation = 1;
        const std::uint32_t trainers = 1 + below(2);
        std::vector<std::vector<std::uint32_t>> depth(trainers + 1, std::vector<std::uint32_t>(3, 0));
        for (std::uint32_t i = 0; i < trainers; ++i) {
            for (capture_builder* capture : {&all, &kept}) capture->thread("trainer").push(now, "step");
            ++now;
        }
        for (capture_builder* capture : {&all, &kept}) (void)capture->thread("pt_autograd_0");
        for (std::uint32_t i = below(60) + 10; i > 0; --i) {
            now += 1 + below(5);
            const std::uint32_t thread = below(trainers + 1);
            // Whom autograd works for must not hang on what is hidden: there all is kept.
            const auto domain = static_cast<std::uint16_t>(below(thread == trainers ? 2 : 3));
            std::uint32_t& open = depth[thread][domain];
            const std::string name(1, static_cast<char>('a' + below(3)));
            const std::uint32_t what = below(5);
            for (capture_builder* capture : {&all, &kept}) {
                thread_script& script = capture->thread_at(thread);
                const bool is_written = domain != 2 || capture == &all;
                if (what < 2 && is_written) script.push(now, name, domain);
                if (what == 2 && open > 0 && is_written) script.pop(now, domain);
                if (what > 2) script.launch(now, correlation);
            }
            if (what < 2) ++open;
            if (what == 2 && open > 0) --open;
            if (what > 2) {
                if (depth[thread][2] > 0) ++hidden_launches;
                const std::uint64_t start = now + below(100);
                const placement on{.stream = 7 + thread, .device = 0};
                const std::uint64_t length = below(30);
                for (capture_builder* capture : {&all, &kept}) capture->kernel(correlation, start, start + length, on);
                ++correlation;
                ++now;
            }
        }
        // What never closes ends with the last record, which both have.
        for (capture_builder* capture : {&all, &kept}) capture->thread_at(0).mark(now + 1, "end");
    }
};

std::vector<std::string> everything(const projection& p) {
    std::vector<std::string> lines;
    for (const projection_row& r : p.rows) {
        std::string line = r.path;
        for (const std::int64_t n :
             {std::int64_t{r.depth}, r.host_ns, r.gpu_sum_ns, r.gpu_self_ns, r.gpu_busy_ns, r.gpu_span_ns, r.adopted_ns,
              static_cast<std::int64_t>(r.instances), static_cast<std::int64_t>(r.ops)}) {
            line += ' ' + std::to_string(n);
        }
        lines.push_back(line);
    }
    return lines;
}

TEST(HiddenRanges, AreAsIfNeverRecordedInRandomPrograms) {
    std::uint64_t hidden_launches = 0;
    for (std::uint32_t seed = 1; seed <= test::random_cases(3'000); ++seed) {
        random_program made{seed};
        const projection hidden = project_without(made.all.build(), "hidden");
        ASSERT_EQ(everything(hidden), everything(project(made.kept.build()))) << "seed " << seed;
        ASSERT_EQ(self_total(hidden), hidden.total_gpu_ns);
        hidden_launches += made.hidden_launches;
    }
    EXPECT_GT(hidden_launches, test::random_cases(10'000));
}

}  // namespace
}  // namespace prof::domain_filter_test
