// SPDX-License-Identifier: Apache-2.0
// A job's answer against simulated jobs, of which the truth is known: what was injected is found, named and priced, and
// nothing is found where nothing was injected.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ranks/job_answer.hpp"
#include "ranks/job_replay.hpp"
#include "ranks/simulated_job.hpp"
#include "support/sanitized.hpp"

namespace prof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct answered {
    job_ranks job;
    job_answer answer;
};

answered answer_to(const job_plan& plan) {
    std::vector<job_ranks> jobs = jobs_among(simulated_job(plan).summaries());
    EXPECT_THAT(jobs, SizeIs(1));
    job_answer answer = answer_of(jobs.front());
    return {std::move(jobs.front()), std::move(answer)};
}

std::vector<std::int64_t> ranks_of(const answered& of, const straggler& is) {
    std::vector<std::int64_t> out;
    for (const std::uint32_t r : is.ranks) out.push_back(of.job.ranks[r].rank.value_or(-1));
    return out;
}

// What the job's steps gain without the flaw, of those that count: the first is warm-up.
double true_gain(const job_plan& plan) {
    simulated_job job(plan);
    const double gain = job.step_ns(true) - job.step_ns(false);
    const bool has_first = plan.flaw->from_step == 0;
    return has_first ? gain : gain * plan.steps / (plan.steps - 1);
}

void expect_found(const job_plan& plan, straggler_kind kind, const std::vector<std::int64_t>& ranks,
                  const std::string& cause) {
    const answered of = answer_to(plan);
    ASSERT_THAT(of.answer.stragglers, SizeIs(1)) << verdict_of(of.job, of.answer);
    const straggler& is = of.answer.stragglers.front();
    EXPECT_EQ(is.kind, kind);
    EXPECT_EQ(ranks_of(of, is), ranks);
    EXPECT_THAT(is.cause, HasSubstr(cause));
    const double truth = true_gain(plan);
    EXPECT_NEAR(is.gain_ns, truth, 0.05 * truth) << is.error_ns.value_or(-1);
}

void expect_clocks_within_their_error(const job_plan& plan, const answered& of) {
    const simulated_job job(plan);
    for (std::uint32_t r = 0; r < of.job.ranks.size(); ++r) {
        const host_clock& clock = of.job.clocks.hosts[of.job.clocks.of_rank[r]];
        ASSERT_TRUE(clock.is_aligned);
        const auto rank = static_cast<std::uint32_t>(*of.job.ranks[r].rank);
        for (const double share : {0.0, 0.5, 1.0}) {
            const double at = job.begin_ns() + share * 0.25e9;
            const auto own = static_cast<std::int64_t>(std::llround(job.on_clock(rank, at)));
            const auto first = static_cast<double>(std::llround(job.on_clock(0, at)));
            EXPECT_NEAR(static_cast<double>(of.job.aligned(r, own)), first, clock.fit.error_ns() + 1);
        }
    }
}

TEST(Ranks, FindsASlowGpu) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 2e5};
    expect_found(plan, straggler_kind::rank, {3}, "its GPU takes longer for the same kernels");
}

TEST(Ranks, FindsALateHost) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::host, .ranks = {5}, .ns = 3e5};
    expect_found(plan, straggler_kind::rank, {5}, "its host is late");
}

TEST(Ranks, FindsUnevenWorkInOneLayer) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::more_kernels, .ranks = {1}, .layer = 2, .ns = 1e6};
    expect_found(plan, straggler_kind::rank, {1}, "uneven work: it has 13 kernels a step, its peers 12");
    EXPECT_EQ(answer_to(plan).answer.stragglers.front().where, "before all_reduce 3 of 6");
}

TEST(Ranks, FindsASlowHost) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {4, 5, 6, 7}, .ns = 2e5};
    expect_found(plan, straggler_kind::host, {4, 5, 6, 7}, "its GPU takes longer");
}

TEST(Ranks, FindsWhatPasses) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {2}, .from_step = 5, .end_step = 9, .ns = 1e6};
    expect_found(plan, straggler_kind::rank, {2}, "its GPU takes longer");
    const straggler is = answer_to(plan).answer.stragglers.front();
    EXPECT_TRUE(is.is_passing);
    EXPECT_EQ(is.steps, 4U);
}

// Of skewed noise one slow step would have to be much longer to be told from chance.
TEST(Ranks, FindsWhatComesBack) {
    for (std::uint64_t seed = 1; seed <= test::random_cases(20); ++seed) {
        job_plan plan;
        plan.ranks = 4;
        plan.steps = 40;
        plan.noise = 0.08;
        plan.is_skewed = true;
        plan.seed = seed;
        plan.flaw = injected_flaw{.kind = flaw_kind::host,
                                  .ranks = {2},
                                  .layer = 0,
                                  .from_step = static_cast<std::uint32_t>(3 + seed % 3),
                                  .every = 5,
                                  .ns = 4e6};
        const answered of = answer_to(plan);
        ASSERT_THAT(of.answer.stragglers, SizeIs(1)) << seed << ": " << verdict_of(of.job, of.answer);
        const straggler& is = of.answer.stragglers.front();
        EXPECT_THAT(ranks_of(of, is), ElementsAre(2));
        EXPECT_TRUE(is.is_passing);
        EXPECT_GE(is.steps, 6U) << seed;  // of eight, and by chance another one
        EXPECT_LE(is.steps, 9U) << seed;
        const double truth = true_gain(plan);
        EXPECT_NEAR(is.gain_ns, truth, 0.2 * truth) << seed;
        plan.flaw->every = 100;  // once
        EXPECT_THAT(answer_to(plan).answer.stragglers, IsEmpty()) << seed;
    }
}

TEST(Ranks, FindsANetworkThatIsSlowForAWhile) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::network, .ranks = {0}, .from_step = 5, .end_step = 9, .ns = 1e6};
    expect_found(plan, straggler_kind::network, {0, 1, 2, 3, 4, 5, 6, 7}, "at other times");
}

TEST(Ranks, FindsTheNetworkOfOneCommunicator) {
    job_plan plan;
    plan.ranks = 16;
    plan.in_group = 4;
    plan.flaw = injected_flaw{.kind = flaw_kind::network, .ranks = {4}, .ns = 3e5};
    expect_found(plan, straggler_kind::network, {4, 5, 6, 7}, "of other communicators");
}

TEST(Ranks, FindsASlowGpuBesideOverlappedCollectives) {
    job_plan plan;
    plan.is_overlapped = true;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {6}, .ns = 2e5};
    expect_found(plan, straggler_kind::rank, {6}, "its GPU takes longer");
}

// Persistent ones, over seeds: each is found, and the clocks are within their errors.
TEST(Ranks, FindsItWithEverySeed) {
    for (std::uint64_t seed = 1; seed <= test::random_cases(20); ++seed) {
        job_plan plan;
        plan.seed = seed;
        plan.is_overlapped = seed % 2 == 0;
        plan.drifts[1] = 1e-6 * static_cast<double>(seed % 7);
        plan.offsets_ns[1] = 1e5 * static_cast<double>(seed) - 1e6;
        const auto rank = static_cast<std::uint32_t>(seed % 8);
        plan.flaw =
            injected_flaw{.kind = seed % 3 == 0 ? flaw_kind::host : flaw_kind::gpu, .ranks = {rank}, .ns = 2.5e5};
        SCOPED_TRACE(seed);
        expect_found(plan, straggler_kind::rank, {rank}, "");
        expect_clocks_within_their_error(plan, answer_to(plan));
    }
}

TEST(Ranks, FindNothingWhereNothingIs) {
    for (std::uint64_t seed = 1; seed <= test::random_cases(100); ++seed) {
        job_plan plan;
        plan.seed = seed;
        plan.is_overlapped = seed % 2 == 0;
        const answered of = answer_to(plan);
        EXPECT_THAT(of.answer.stragglers, IsEmpty()) << seed << ": " << verdict_of(of.job, of.answer);
        EXPECT_EQ(of.answer.no_verdict, "");
        EXPECT_THAT(verdict_of(of.job, of.answer), HasSubstr("would have been seen"));
        expect_clocks_within_their_error(plan, of);
    }
}

// With noise on all ranks the job gains what it gains without the flaw and with the same noise: within a tenth or
// 0.2 ms, and in 19 of 20 within the error that is told.
TEST(Ranks, APriceKeepsTheNoiseOfARank) {
    int told = 0, within = 0;
    for (const std::uint32_t ranks : {2U, 4U, 8U}) {
        for (const double noise : {0.0, 0.05, 0.2}) {
            for (std::uint64_t seed = 1; seed <= test::random_cases(6); ++seed) {
                job_plan plan;
                plan.ranks = ranks;
                plan.layers = 3;
                plan.noise = noise;
                plan.is_skewed = seed % 2 == 0;
                plan.steps = 60;
                plan.seed = seed;
                plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {1}, .ns = 1e6};
                const answered of = answer_to(plan);
                ASSERT_THAT(of.answer.stragglers, SizeIs(1)) << verdict_of(of.job, of.answer);
                const straggler& is = of.answer.stragglers.front();
                EXPECT_THAT(ranks_of(of, is), ElementsAre(1));
                const double truth = true_gain(plan);
                EXPECT_NEAR(is.gain_ns, truth, std::max(0.1 * truth, 2e5)) << ranks << ' ' << noise << ' ' << seed;
                ++told;
                within += std::abs(is.gain_ns - truth) <= is.error_ns.value_or(0) + 5e3 ? 1 : 0;
            }
        }
    }
    EXPECT_GE(within, told - told / 20 - 1);
}

// Noise that lasts from step to step, or has a long tail, is no straggler.
TEST(Ranks, FindNothingInNoiseThatLasts) {
    for (std::uint64_t seed = 1; seed <= test::random_cases(100); ++seed) {
        job_plan plan;
        plan.ranks = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 4 : 8;
        plan.layers = 2;
        plan.steps = seed % 2 == 0 ? 20 : 40;
        plan.noise = seed % 5 == 0 ? 0.2 : 0.02;
        plan.is_skewed = seed % 4 == 0;
        plan.wander = seed % 7 == 0 ? 0 : 0.06;
        plan.kept = seed % 2 == 0 ? 0.9 : 0.5;
        plan.seed = seed;
        const answered of = answer_to(plan);
        EXPECT_THAT(of.answer.stragglers, IsEmpty()) << seed << ": " << verdict_of(of.job, of.answer);
    }
}

// Half of the ranks are slow: as many as are fast, so that no rank's peers are faster by majority.
TEST(Ranks, FindsHalfOfTheRanks) {
    for (const std::uint32_t ranks_on_host : {4U, 8U}) {
        job_plan plan;
        plan.ranks_on_host = ranks_on_host;
        plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {4, 5, 6, 7}, .ns = 2e5};
        const bool is_host = ranks_on_host == 4;
        expect_found(plan, is_host ? straggler_kind::host : straggler_kind::group, {4, 5, 6, 7},
                     "its GPU takes longer");
        const answered of = answer_to(plan);
        EXPECT_THAT(verdict_of(of.job, of.answer),
                    ::testing::StartsWith(is_host ? "host host1 holds the job up" : "ranks 4 to 7 hold the job up"));
    }
    // Ranks that share nothing, on one host; and more than half.
    for (const std::vector<std::uint32_t>& slow : {std::vector<std::uint32_t>{0, 3, 5}, {1, 2, 3, 4, 6}}) {
        job_plan plan;
        plan.ranks_on_host = 8;
        plan.flaw = injected_flaw{.kind = flaw_kind::host, .ranks = slow, .ns = 3e5};
        expect_found(plan, straggler_kind::group, {slow.begin(), slow.end()}, "its host is late");
    }
    job_plan plan;
    plan.ranks = 4;
    plan.ranks_on_host = 4;
    plan.noise = 0.05;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {1, 3}, .ns = 1e6};
    expect_found(plan, straggler_kind::group, {1, 3}, "its GPU takes longer");
}

// One step has no interval; on two ranks it has no verdict either.
TEST(Ranks, OneStepHasNoInterval) {
    job_plan plan;
    plan.steps = 2;  // the first is warm-up
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 1e6};
    const answered of = answer_to(plan);
    ASSERT_EQ(of.job.steps, 1U);
    ASSERT_THAT(of.answer.stragglers, SizeIs(1));
    EXPECT_FALSE(of.answer.stragglers.front().error_ns.has_value());
    EXPECT_THAT(sentences_of(of.job, of.answer), ::testing::Contains(HasSubstr("(one step has no interval)")));
    plan.ranks = 2;
    plan.flaw->ranks = {1};
    EXPECT_THAT(answer_to(plan).answer.no_verdict, HasSubstr("one step"));
}

// A collective that one rank calls otherwise, or of which its record is missing, is no less waited for by the others.
TEST(Ranks, AMismatchLeavesThePrice) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {2}, .ns = 3e5};
    const double whole = answer_to(plan).answer.stragglers.at(0).gain_ns;
    for (const bool is_missing : {false, true}) {
        std::vector<rank_summary> all = simulated_job(plan).summaries();
        for (const std::size_t i : {31U, 61U}) {
            rank_collective& odd = all[1].collectives[i];
            if (is_missing) {
                odd.key += 1;
            } else {
                odd.function = collective_function::broadcast;
            }
        }
        const std::vector<job_ranks> jobs = jobs_among(std::move(all));
        const job_answer answer = answer_of(jobs.front());
        ASSERT_THAT(answer.stragglers, SizeIs(1));
        EXPECT_NEAR(answer.stragglers.front().gain_ns, whole, 0.01 * whole) << is_missing;
    }
}

// The job's collectives as NCCL's ranges have them: without a communicator's numbers.
std::vector<rank_summary> without_numbers(const job_plan& plan) {
    std::vector<rank_summary> out = simulated_job(plan).summaries();
    for (rank_summary& each : out) {
        for (rank_collective& of : each.collectives) {
            of.by = collective_match::order;
            of.order_key = 7;
            of.key = 0;
            of.members = 0;
        }
    }
    return out;
}

// Where some records of a rank were lost, the others are still matched with their own members, and no others.
TEST(Ranks, MatchesByOrderAroundWhatWasLost) {
    job_plan plan;
    plan.ranks_on_host = 8;
    plan.noise = 0.02;
    std::vector<rank_summary> all = without_numbers(plan);
    for (rank_summary& each : all) {
        for (std::size_t i = 0; i < each.collectives.size(); ++i) each.collectives[i].sequence = i;
    }
    // By position in the whole recording: lost at the begin, within, and two together.
    const std::vector<std::vector<std::size_t>> lost{{}, {0, 1, 2}, {40}, {70, 71}, {}, {5, 90}, {}, {}};
    std::size_t records = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
        std::vector<rank_collective>& of = all[r].collectives;
        for (auto each = lost[r].rbegin(); each != lost[r].rend(); ++each) {
            of.erase(of.begin() + static_cast<std::ptrdiff_t>(*each));
        }
        for (rank_collective& each : of) each.after = UINT32_MAX;
        all[r].waits.clear();
        records += of.size();
    }
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(1));
    std::size_t found = 0;
    for (const matched_collective& of : jobs.front().matched) {
        for (const collective_member& each : jobs.front().members_of(of)) {
            EXPECT_EQ(jobs.front().at(each).sequence, jobs.front().at(jobs.front().members[of.first]).sequence);
            ++found;
        }
    }
    // All but those that began before the last rank's recording, as far as what is left of it shows.
    EXPECT_GE(found, records - 3 * 7);
    EXPECT_EQ(jobs.front().lost.missing, 5U * 7);
}

TEST(Ranks, ARankWithoutStepsHasThoseOfAnother) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {2}, .ns = 3e5};
    const answered whole = answer_to(plan);
    for (const std::size_t without : {1U, 2U}) {
        std::vector<rank_summary> all = simulated_job(plan).summaries();
        rank_summary& rank = all[without];
        rank.has_steps = false;
        rank.steps = {{.from_ns = rank.windows[0].begin_ns,
                       .to_ns = rank.windows[0].end_ns,
                       .host_from_ns = rank.windows[0].begin_ns,
                       .host_to_ns = rank.windows[0].end_ns}};
        for (rank_collective& each : rank.collectives) each.step = 0;
        const std::vector<job_ranks> jobs = jobs_among(std::move(all));
        const job_answer answer = answer_of(jobs.front());
        EXPECT_EQ(answer.steps, whole.answer.steps);
        EXPECT_NEAR(answer.step_ns, whole.answer.step_ns, 0.005 * whole.answer.step_ns);
        ASSERT_THAT(answer.stragglers, SizeIs(1));
        EXPECT_THAT(answer.stragglers.front().ranks, ElementsAre(2));
        EXPECT_NEAR(answer.stragglers.front().gain_ns, whole.answer.stragglers.front().gain_ns, 5e4);
        EXPECT_THAT(answer.remarks, ::testing::Contains(HasSubstr("without steps of its own")));
    }
}

TEST(Ranks, MissingRanksAreRanges) {
    job_plan plan;
    plan.ranks = 4;
    plan.absent = 1;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (rank_summary& each : all) each.world_size = std::int64_t{1} << 60;
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs.front().missing, SizeIs(2));
    EXPECT_EQ(jobs.front().missing[1].first, 4);
    EXPECT_EQ(jobs.front().missing[1].last, (std::int64_t{1} << 60) - 1);
    EXPECT_THAT(answer_of(jobs.front()).remarks,
                ::testing::Contains("no capture with GPU work of ranks 1, 4 to 1152921504606846975"));
}

TEST(Ranks, RanksThatShareAGpuAreSaidTo) {
    job_plan plan;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (std::size_t r = 0; r < all.size(); ++r) all[r].gpu = std::string(16, static_cast<char>('a' + (r < 2 ? 0 : r)));
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    EXPECT_THAT(answer_of(jobs.front()).remarks, ::testing::Contains(HasSubstr("ranks 0 and 1 share a GPU")));
}

TEST(Ranks, NumbersAreListedInRanges) {
    EXPECT_EQ(list_of_numbers({3}), "3");
    EXPECT_EQ(list_of_numbers({2, 3}), "2 and 3");
    EXPECT_EQ(list_of_numbers({0, 1, 2, 3, 8}), "0 to 3 and 8");
    EXPECT_EQ(list_of_numbers({1, 3, 5, 7, 9, 11}), "1, 3, 5, 7 and 2 more");
}

// A capture of the same rank twice: two jobs, and each says of the other.
TEST(Ranks, ARankThatIsThereTwiceIsSaidToBe) {
    job_plan plan;
    plan.ranks = 2;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    all[1].rank = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
        for (rank_collective& each : all[r].collectives) each.by = collective_match::group;
    }
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(2));
    EXPECT_THAT(answer_of(jobs.front()).remarks, ::testing::Contains(HasSubstr("1 more capture has the same rank")));
}

// A second capture of one process is none of its ranks', and is named.
TEST(Ranks, ACopyIsLeftOut) {
    const job_plan plan;
    for (const bool is_start_known : {true, false}) {
        std::vector<rank_summary> all = simulated_job(plan).summaries();
        if (!is_start_known) {
            for (rank_summary& each : all) each.start.clear();
        }
        rank_summary copy = all[3];
        copy.path = "copy of 3.prof";
        // Of the same process another recording is a copy, too, where it is known that it is the same.
        if (is_start_known) copy.windows.front().begin_ns += 1000;
        all.push_back(copy);
        const std::vector<job_ranks> jobs = jobs_among(std::move(all));
        ASSERT_THAT(jobs, SizeIs(1));
        EXPECT_THAT(jobs.front().ranks, SizeIs(plan.ranks));
        ASSERT_THAT(jobs.front().copies, SizeIs(1));
        EXPECT_EQ(jobs.front().copies.front().path, "copy of 3.prof");
        EXPECT_EQ(jobs.front().ranks[jobs.front().copies.front().kept].rank, 3);
        EXPECT_EQ(jobs.front().lost.ambiguous, 0U);
        EXPECT_THAT(
            answer_of(jobs.front()).remarks,
            ::testing::Contains("left out, since another capture is of the same process: copy of 3.prof (rank 3, as "
                                "rank3.prof)"));
    }
}

// Of the other job only the captures whose ranks this one has.
TEST(Ranks, RivalsAreThoseWithARankOfTheJob) {
    job_plan plan;
    plan.ranks = 5;
    plan.ranks_on_host = 5;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    all[4].rank = 1;
    for (rank_summary& each : all) {
        for (rank_collective& one : each.collectives) one.by = collective_match::group;
    }
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(2));
    EXPECT_THAT(jobs[0].ranks, SizeIs(4));
    EXPECT_EQ(jobs[0].rivals, 1U);
    EXPECT_EQ(jobs[1].rivals, 1U);
}

// Ranks that hold the job up together may have causes of their own: each is said.
TEST(Ranks, CausesOfAGroupAreThoseOfEachRank) {
    job_plan plan;
    plan.ranks_on_host = 8;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {1, 2}, .layer = 1, .ns = 5e5};
    const answered same = answer_to(plan);
    ASSERT_THAT(same.answer.stragglers, SizeIs(1));
    EXPECT_EQ(same.answer.stragglers.front().where, "before all_reduce 2 of 6");
    EXPECT_THAT(sentences_of(same.job, same.answer)[1], HasSubstr("Cause, on each: its GPU takes longer"));
    plan.second_flaw = plan.flaw;
    plan.flaw->ranks = {1};
    plan.second_flaw->ranks = {2};
    plan.second_flaw->layer = 3;
    const answered apart = answer_to(plan);
    ASSERT_THAT(apart.answer.stragglers, SizeIs(1));
    EXPECT_THAT(apart.answer.stragglers.front().ranks, ElementsAre(1, 2));
    EXPECT_EQ(apart.answer.stragglers.front().where,
              "before all_reduce 2 of 6 on rank 1, before all_reduce 4 of 6 on rank 2");
    EXPECT_THAT(sentences_of(apart.job, apart.answer)[1], HasSubstr("Cause, on each: its GPU takes longer"));
    // Other causes are no cause on each.
    plan.second_flaw->kind = flaw_kind::host;
    const answered unlike = answer_to(plan);
    ASSERT_THAT(unlike.answer.stragglers, SizeIs(1));
    const straggler& is = unlike.answer.stragglers.front();
    EXPECT_FALSE(is.is_on_each);
    EXPECT_THAT(is.cause, HasSubstr("its GPU takes longer for the same kernels on rank 1"));
    EXPECT_THAT(is.cause, HasSubstr(" on rank 2"));
    EXPECT_THAT(sentences_of(unlike.job, unlike.answer)[1], HasSubstr(" Cause: its "));
    EXPECT_THAT(gain_together(unlike.answer, is), HasSubstr("the job's gain of ranks 1 and 2 together: "));
}

// A collective of which one rank has another size keeps no rank from waiting in it.
TEST(Ranks, WaitsInACollectiveThatDiffersCount) {
    job_plan plan;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 4e5};
    const answered whole = answer_to(plan);
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (std::size_t c = 0; c < all[0].collectives.size(); c += 5) all[0].collectives[c].bytes = 20;
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_GT(jobs.front().lost.differing, 0U);
    const job_answer answer = answer_of(jobs.front());
    for (std::size_t r = 0; r < answer.ranks.size(); ++r) {
        EXPECT_NEAR(answer.ranks[r].wait_ns, whole.answer.ranks[r].wait_ns, 1);
    }
}

TEST(Ranks, RanksWithoutNumbersHaveTheNamesOfTheirCaptures) {
    job_plan plan;
    plan.ranks_on_host = 8;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {1, 2}, .ns = 5e5};
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (rank_summary& each : all) each.rank.reset();
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    const job_answer answer = answer_of(jobs.front());
    EXPECT_THAT(sentences_of(jobs.front(), answer).front(),
                HasSubstr("capture rank1.prof and capture rank2.prof hold the job up"));
}

// A recording without steps is no step that differs by chance.
TEST(Ranks, WithoutStepsNothingIsSaidOfThem) {
    job_plan plan;
    plan.ranks = 4;
    plan.steps = 1;
    plan.noise = 0.6;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {1, 2}, .ns = 2e6};
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (rank_summary& each : all) each.has_steps = false;
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    const job_answer answer = answer_of(jobs.front());
    EXPECT_THAT(answer.stragglers, IsEmpty());
    EXPECT_THAT(answer.no_verdict, ::testing::AllOf(HasSubstr("no rank has steps, and of a recording of "),
                                                    ::testing::Not(HasSubstr("step to step"))));
    EXPECT_THAT(answer.remarks, ::testing::Contains(HasSubstr("each recording as a whole is taken for one")));
}

// The ranks that begin sooner wait for the last one: of one step that is not evened out.
TEST(Ranks, AStepThatIsShorterThanTheRanksIsSaidToBe) {
    job_plan plan;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    job_answer answer = answer_of(jobs.front());
    EXPECT_THAT(verdict_of(jobs.front(), answer), ::testing::Not(HasSubstr("when its last rank")));
    answer.recorded_ns = 1.2 * answer.step_ns;
    EXPECT_THAT(verdict_of(jobs.front(), answer), ::testing::Not(HasSubstr("when its last rank")));
    answer.begin_skew_ns = 0.2 * answer.step_ns * answer.steps;
    EXPECT_THAT(verdict_of(jobs.front(), answer), HasSubstr("A step of the job is counted from when its last rank"));
}

// While the others wait for a slow GPU, their hosts launch ahead of it. Without it these are what holds the job up.
TEST(Ranks, APriceEndsWhereTheHostsHoldTheJobUp) {
    job_plan plan;
    plan.ranks_on_host = 8;
    plan.host_ns = 2.8e6;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 1e6};
    // A step of 6 layers: 2.8 ms until the first is launched, and 6 · 3.3; without the flaw 6 · 2.8, and 2.3 for the
    // last.
    EXPECT_NEAR(true_gain(plan), 22.6e6 - 19.1e6, 0.1e6);
    expect_found(plan, straggler_kind::rank, {3}, "its GPU takes longer");
    // A host that is late is faster itself.
    plan.flaw->kind = flaw_kind::host;
    EXPECT_NEAR(true_gain(plan), 6 * 1e6, 0.1e6);
    expect_found(plan, straggler_kind::rank, {3}, "its host is late");
    plan.flaw.reset();
    EXPECT_THAT(answer_to(plan).answer.stragglers, IsEmpty());
}

// Without a change the replay gives the recorded times again.
TEST(Ranks, ReplayRepeatsTheRecording) {
    for (const bool is_overlapped : {false, true}) {
        job_plan plan;
        plan.is_overlapped = is_overlapped;
        plan.noise = 0.05;
        plan.ranks_on_host = 8;  // one clock
        plan.offsets_ns = {0};
        plan.drifts = {0};
        const answered of = answer_to(plan);
        const replayed_steps steps = job_replay(of.job).run();
        double first = 0, last = 0;
        for (std::uint32_t r = 0; r < of.job.ranks.size(); ++r) {
            const rank_summary& rank = of.job.ranks[r];
            const std::size_t from = of.job.first_step[r];
            first = std::max(first, static_cast<double>(rank.after_wait_ns(rank.steps[from].from_ns)));
            last = std::max(last, static_cast<double>(rank.after_wait_ns(rank.steps[from + of.job.steps - 1].to_ns)));
        }
        EXPECT_NEAR(steps.mean_ns() * of.job.steps, last - first, 1000);
    }
}

// The second collective needs a kernel that ends at 50 us, and the first one, which ends at 300 us, since it waits for
// another rank; the GPU's multiprocessors are taken, so that it begins 150 us later. It is held up by the first one.
// Without events the kernel is the one that the thread launched last. One that ends after the first collective holds
// the second one up, however short the gap.
TEST(Ranks, ACollectiveIsHeldUpByTheOneBeforeItAlsoOnABusyGpu) {
    constexpr placement compute{.stream = 7};
    constexpr placement communication{.stream = 20};
    constexpr std::uint64_t us = 1'000;
    const auto held_up = [&](bool has_event, bool has_late_kernel) {
        capture_builder capture;
        thread_script& main = capture.thread("python");
        std::uint64_t now = 100 * us;
        std::uint64_t id = 0;
        for (int step = 0; step < 4; ++step, now += 1'000 * us) {
            main.push(now, "ProfilerStep#" + std::to_string(step));
            const std::uint64_t at = now + 20 * us;
            main.launch(now + 1 * us, ++id, "gemm");
            capture.kernel(id, at, at + 20 * us, compute, "gemm");
            main.launch(now + 3 * us, ++id, "ncclDevKernel_AllReduce");
            capture.kernel(id, at + 25 * us, at + 300 * us, communication, "ncclDevKernel_AllReduce");
            main.launch(now + 5 * us, ++id, "gemm");
            capture.kernel(id, at + 30 * us, at + (has_late_kernel ? 449 : 50) * us, compute, "gemm");
            if (has_event) {
                main.sync(now + 6 * us, sync_kind::event_record, 77, compute);
                main.sync(now + 7 * us, sync_kind::stream_wait, 77, communication);
            }
            main.launch(now + 8 * us, ++id, "ncclDevKernel_AllReduce");
            capture.kernel(id, at + 450 * us, at + 500 * us, communication, "ncclDevKernel_AllReduce");
            main.pop(now + 900 * us);
        }
        const timeline data = capture.build();
        const rank_summary of = summarize_rank(data, attribute(data));
        EXPECT_THAT(of.collectives, SizeIs(8));
        return of.collectives;
    };
    for (const bool has_event : {true, false}) {
        for (const bool has_late_kernel : {true, false}) {
            const std::vector<rank_collective> found = held_up(has_event, has_late_kernel);
            for (std::uint32_t i = 1; i < found.size(); i += 2) {
                EXPECT_EQ(found[i].after, has_late_kernel ? UINT32_MAX : i - 1);
                EXPECT_EQ(found[i].gap_ns, has_late_kernel ? 0 : 150 * us);
            }
        }
    }
}

// The path's parts are the steps. Where one rank is late in each layer, its work is nearly all of the path beside the
// transfers; the ranks' common work is on the path by whoever comes last.
TEST(Ranks, TheCriticalPathIsThatOfTheLateRank) {
    for (const bool is_overlapped : {false, true}) {
        job_plan plan;
        plan.is_overlapped = is_overlapped;
        plan.ranks_on_host = 8;  // one clock
        plan.offsets_ns = {0};
        plan.drifts = {0};
        plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 4e5};
        const answered of = answer_to(plan);
        double sum = 0, own = 0, transfers = 0;
        for (const path_part& part : of.answer.path) {
            sum += part.ns;
            if (part.rank == UINT32_MAX) transfers += part.ns;
            if (part.rank != UINT32_MAX && of.job.ranks[part.rank].rank == 3) own += part.ns;
        }
        EXPECT_NEAR(sum, of.answer.step_ns, 1e-6 * of.answer.step_ns);
        // Of six layers of 2.4 ms with 0.3 ms of transfer; beside computing only the last transfer is on the path.
        EXPECT_NEAR(own, 6 * 2.4e6, 0.02 * 6 * 2.4e6) << is_overlapped;
        EXPECT_NEAR(transfers, (is_overlapped ? 1 : 6) * 3e5, 0.05 * 6 * 3e5) << is_overlapped;
        ASSERT_FALSE(of.answer.path.empty());
        EXPECT_EQ(path_part_name(of.job, of.answer.path.front()), "own work of rank 3");
    }
}

// FSDP's shape: the first product needs the all-gather, for which this rank waits from 1,300 to 5,700 us; meanwhile
// another stream copies for the next all-gather, as soon as the host has launched that.
TEST(Ranks, LittleWorkOfOtherStreamsDoesNotEndAWait) {
    constexpr placement compute{.stream = 7};
    constexpr placement copies{.stream = 18};
    constexpr placement communication{.stream = 22};
    constexpr std::uint64_t us = 1'000;
    capture_builder capture;
    thread_script& main = capture.thread("python");
    std::uint64_t id = 0;
    for (std::uint64_t step = 0; step < 4; ++step) {
        const std::uint64_t now = (100 + 20'000 * step) * us;
        main.push(now, "ProfilerStep#" + std::to_string(step));
        main.launch(now + 1'290 * us, ++id, "ncclDevKernel_AllGather");
        capture.kernel(id, now + 1'300 * us, now + 5'700 * us, communication, "ncclDevKernel_AllGather");
        main.launch(now + 1'660 * us, ++id, "gemm");
        capture.kernel(id, now + 5'705 * us, now + 15'000 * us, compute, "gemm");
        main.launch(now + 2'700 * us, ++id, "copy_in");
        capture.kernel(id, now + 2'733 * us, now + 2'757 * us, copies, "copy_in");
        main.launch(now + 3'700 * us, ++id, "copy_in");
        capture.kernel(id, now + 5'750 * us, now + 5'780 * us, copies, "copy_in");
        main.wait(now + 15'990 * us, now + 16'000 * us, ++id);
        main.pop(now + 16'000 * us);
    }
    const timeline data = capture.build();
    const rank_summary of = summarize_rank(data, attribute(data));
    // The first and the last step are not whole.
    ASSERT_GE(of.waited.size(), 2U);
    for (const rank_summary::waited_time& each : of.waited) {
        EXPECT_NEAR(static_cast<double>(each.to_ns - each.from_ns), (5'700 - 1'660) * us, 10.0 * us);
    }
    // The launch of the product could hold the GPU up; that of a copy beside it not.
    for (const rank_launch& each : of.launches) {
        const std::int64_t in_step = (each.begin_ns - static_cast<std::int64_t>(100 * us)) % std::int64_t{20'000 * us};
        EXPECT_EQ(in_step, static_cast<std::int64_t>(5'705 * us));
    }
}

// With transfers that take no time the steps are shorter by what the simulated job gains without them: also where the
// work beside them is slower for it.
TEST(Ranks, PricesExposedCommunication) {
    for (const auto& [is_overlapped, slowing] : {std::pair(false, 1.0), {true, 1.0}, {true, 1.8}}) {
        job_plan plan;
        plan.is_overlapped = is_overlapped;
        plan.slowing = slowing;
        plan.end_spread_ns = plan.end_bias_ns = 0;
        const double with = simulated_job(plan).step_ns();
        job_plan without = plan;
        without.transfer_ns = 0;
        const double gain = with - simulated_job(without).step_ns();
        const job_answer found = answer_to(plan).answer;
        EXPECT_NEAR(found.exposed_ns, gain, 0.05 * gain);
        // Each of the transfers beside a layer slows it by what the layer does not do meanwhile.
        const double slowed = (plan.layers - 1) * plan.transfer_ns * (1 - 1 / slowing);
        EXPECT_NEAR(found.slowing_ns, slowed, 0.05 * slowed + 0.001 * with);
    }
}

TEST(Ranks, CollectivesHaveTheirFigures) {
    job_plan plan;
    plan.ranks_on_host = 8;
    plan.noise = plan.outliers = plan.end_spread_ns = plan.end_bias_ns = 0;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 2e5};
    const answered of = answer_to(plan);
    ASSERT_THAT(of.answer.collectives, SizeIs(1));
    const collective_figures& is = of.answer.collectives.front();
    // Of the 20 steps with six each, all but the warm-up count.
    EXPECT_EQ(is.count, 114U);
    EXPECT_DOUBLE_EQ(is.a_step, 6);
    EXPECT_EQ(of.answer.outside_steps, 6U);
    EXPECT_EQ(is.ranks, 8U);
    EXPECT_NEAR(is.transfer_ns, 3e5, 2);
    EXPECT_NEAR(is.arrival_skew_ns, 2e5, 20e3);
    EXPECT_EQ(of.job.ranks[is.last_rank].rank, 3);
    EXPECT_GT(is.last_share, 0.95);
    // 2 (n - 1) / n of 4 MiB in 300 us.
    EXPECT_NEAR(is.bus_bytes_per_ns, 1.75 * 4 * 1024 * 1024 / 3e5, 0.01);
    // The other ranks wait for rank 3, and then for the transfer.
    const rank_figures& other = of.answer.ranks[0];
    EXPECT_NEAR(other.wait_ns, 6 * 2e5, 1);
    EXPECT_NEAR(of.answer.ranks[3].wait_ns, 0, 1);
    EXPECT_EQ(of.answer.order.front(), 3U);
}

TEST(Ranks, BusFactorsAreThoseOfNcclTests) {
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::all_reduce, 4), 1.5);
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::all_gather, 4), 3);  // 3/4 of four times a rank's part
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::reduce_scatter, 4), 3);
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::broadcast, 4), 1);
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::all_to_all, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(collective_function::all_reduce, 1), 0);
}

TEST(Ranks, AMissingRankIsNamedAndTheOthersCompared) {
    job_plan plan;
    plan.absent = 2;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {3}, .ns = 2e5};
    const answered of = answer_to(plan);
    ASSERT_THAT(of.job.missing, SizeIs(1));
    EXPECT_EQ(of.job.missing.front().first, 2);
    EXPECT_EQ(of.job.missing.front().last, 2);
    EXPECT_THAT(sentences_of(of.job, of.answer), ::testing::Contains("no capture with GPU work of rank 2."));
    ASSERT_THAT(of.answer.stragglers, SizeIs(1));
    EXPECT_THAT(ranks_of(of, of.answer.stragglers.front()), ElementsAre(3));
}

// The others wait for a rank that was not captured, which looks like long transfers: no network is blamed, and what is
// known of transfers is a bound.
TEST(Ranks, WaitsForAMissingRankAreNoTransfers) {
    for (const std::uint32_t every : {1U, 3U}) {
        job_plan plan;
        plan.absent = 2;
        plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {2}, .every = every, .ns = 8e5};
        const answered of = answer_to(plan);
        EXPECT_THAT(of.answer.stragglers, IsEmpty());
        EXPECT_TRUE(of.answer.exposed_is_at_most);
        ASSERT_THAT(of.answer.collectives, SizeIs(1));
        EXPECT_TRUE(of.answer.collectives.front().lacks_ranks);
        EXPECT_EQ(of.answer.collectives.front().bus_bytes_per_ns, 0);
        const std::vector<std::string> said = sentences_of(of.job, of.answer);
        EXPECT_THAT(said.front(), HasSubstr("no captured rank holds the job up"));
        EXPECT_THAT(said.front(), HasSubstr(". Of rank 2 no work on a GPU was captured."));
        EXPECT_THAT(said, ::testing::Contains(::testing::AllOf(HasSubstr("a step would be at most "),
                                                               HasSubstr("waiting for rank 2, which was not"))));
    }
    // Nor where the traces do not say how many ranks a communicator has.
    job_plan plan;
    plan.absent = 2;
    plan.flaw = injected_flaw{.kind = flaw_kind::gpu, .ranks = {2}, .every = 3, .ns = 8e5};
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    for (rank_summary& each : all) {
        for (rank_collective& one : each.collectives) one.members = 0;
    }
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    const job_answer answer = answer_of(jobs.front());
    EXPECT_THAT(answer.stragglers, IsEmpty());
    EXPECT_TRUE(answer.exposed_is_at_most);
    plan.absent = UINT32_MAX;
    EXPECT_FALSE(answer_to(plan).answer.exposed_is_at_most);
}

TEST(Ranks, TwoJobsAreToldApart) {
    std::vector<rank_summary> all;
    for (const std::uint64_t seed : {1U, 2U}) {
        job_plan plan;
        plan.ranks = seed == 1 ? 4 : 2;
        plan.seed = seed;
        for (rank_summary& each : simulated_job(plan).summaries()) {
            for (rank_communicator& of : each.communicators) of.key += seed;
            if (seed == 2) each.pid = *each.pid + 1000;
            for (rank_collective& of : each.collectives) of.key += seed;
            all.push_back(std::move(each));
        }
    }
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(2));
    EXPECT_THAT(jobs[0].ranks, SizeIs(4));
    EXPECT_THAT(jobs[1].ranks, SizeIs(2));
    EXPECT_THAT(jobs[0].missing, IsEmpty());
}

TEST(Ranks, WhatBeganBeforeTheLastRankRecordedIsLeftOut) {
    job_plan plan;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    // Rank 7 records from its third step on. Its first collective there is one in which the others wait for it.
    rank_summary& late = all[7];
    const std::int64_t from_ns = late.collectives[12].begin_ns - 1000;
    late.windows.front().begin_ns = from_ns;
    std::vector<rank_collective> kept(late.collectives.begin() + 12, late.collectives.end());
    for (rank_collective& each : kept) each.after = UINT32_MAX;
    late.collectives = kept;
    late.waits.clear();
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_GE(jobs.front().lost.before_recording, 12U * 7);
    for (const matched_collective& of : jobs.front().matched) {
        for (const collective_member& each : jobs.front().members_of(of)) {
            EXPECT_GE(jobs.front().aligned(each.rank, jobs.front().at(each).begin_ns),
                      jobs.front().aligned(7, from_ns) - 1);
        }
    }
}

TEST(Ranks, ACollectiveThatOneRankDoesNotCallIsNamed) {
    job_plan plan;
    std::vector<rank_summary> all = simulated_job(plan).summaries();
    all[4].collectives[30].bytes /= 2;
    rank_collective& skipped = all[6].collectives[50];
    skipped.key += 1;
    const std::vector<job_ranks> jobs = jobs_among(std::move(all));
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs.front().lost.differing, 8U);
    EXPECT_EQ(jobs.front().lost.missing, 7U + 1);
    const job_answer answer = answer_of(jobs.front());
    ASSERT_THAT(answer.differences, SizeIs(4));  // three, and how many more
    EXPECT_EQ(answer.differences[0],
              "rank 4 calls all_reduce number 30 of dp0 (2,097,152 bytes), where it is all_reduce number 30 of dp0 "
              "(4,194,304 bytes) on ranks 0 to 3 and 5 to 7");
    EXPECT_THAT(
        answer.differences[1],
        ::testing::StartsWith("rank 6 does not have all_reduce number 50 of dp0 (4,194,304 bytes), which ranks 0 "
                              "to 5 and 7 have; its last one before was all_reduce number "));
    EXPECT_THAT(verdict_of(jobs.front(), answer), HasSubstr("would have been seen. Rank 4 calls all_reduce number 30"));
}

TEST(Ranks, HostsWithoutSharedCollectivesStayUnaligned) {
    job_plan plan;
    plan.in_group = 4;
    const answered of = answer_to(plan);
    ASSERT_THAT(of.job.clocks.hosts, SizeIs(2));
    EXPECT_FALSE(of.job.clocks.hosts[1].is_aligned);
    EXPECT_THAT(of.answer.remarks, ::testing::Contains(HasSubstr("host host1 shares no collective")));
}

// The fit alone, against known clocks: offsets, drift, outliers, and ends that spread.
TEST(Ranks, ClockFitsAreWithinTheirErrors) {
    for (std::uint64_t seed = 1; seed <= test::random_cases(100); ++seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        const double offset = 1e6 * normal(random), drift = 3e-6 * normal(random), bias = 3e3 * normal(random);
        std::vector<clock_sample> samples;
        const std::size_t count = seed % 3 == 0 ? 6 : 200;
        const std::int64_t begin_ns = 1'700'000'000'000'000'000;
        for (std::size_t i = 0; i < count; ++i) {
            const double at = 3e7 * static_cast<double>(i);
            const double true_offset = offset + drift * at;
            double error = bias + 2e3 * normal(random);
            if (uniform(random) < 0.02) error += 5e4;
            const double transfer = 1e5 * (1 + uniform(random));
            samples.push_back({begin_ns + std::llround(at), std::llround(true_offset + error),
                               std::llround(true_offset - transfer), std::llround(true_offset + transfer)});
        }
        const clock_fit fit = fit_clock(samples);
        for (const clock_sample& each : {samples.front(), samples[count / 2], samples.back()}) {
            const auto after = static_cast<double>(each.at_ns - fit.at_ns);
            const double found = static_cast<double>(fit.offset_ns) + fit.drift * after;
            EXPECT_NEAR(found, offset + drift * static_cast<double>(each.at_ns - begin_ns), fit.error_ns()) << seed;
        }
        EXPECT_TRUE(fit.is_consistent);
    }
}

}  // namespace
}  // namespace prof
