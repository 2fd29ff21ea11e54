// SPDX-License-Identifier: Apache-2.0
// In what the ranks of a job wait when their recordings end, against simulated jobs of which it is known; and that jobs
// which end in good order, or whose ranks were recorded for different times, are no standstill.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ranks/job_answer.hpp"
#include "ranks/standstill.hpp"
#include "ranks/stopped_job.hpp"

namespace prof {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

job_plan plan_of(std::uint32_t ranks) {
    job_plan plan;
    plan.ranks = ranks;
    plan.steps = 8;
    return plan;
}

struct answered {
    job_ranks job;
    job_answer answer;
    std::string verdict;
    const std::vector<standstill>& stands() const { return answer.standstill.stands; }
};

answered answer_to(std::vector<rank_summary> all) {
    std::vector<job_ranks> jobs = jobs_among(std::move(all));
    EXPECT_THAT(jobs, SizeIs(1));
    job_answer answer = answer_of(jobs.front());
    std::string verdict = verdict_of(jobs.front(), answer);
    return {std::move(jobs.front()), std::move(answer), std::move(verdict)};
}

std::vector<std::int64_t> numbers_of(const answered& of, const std::vector<standing_rank>& ranks) {
    std::vector<std::int64_t> out;
    for (const standing_rank& each : ranks) out.push_back(of.job.ranks[each.rank].rank.value_or(-1));
    return out;
}

TEST(Standstill, NamesTheRankThatIsInItsLoader) {
    const stopped_job job(plan_of(8));
    const std::uint64_t next = job.calls_before();
    for (const bool is_numbered : {true, false}) {
        std::map<std::uint32_t, stopped_rank> as;
        for (std::uint32_t r = 0; r < 8; ++r) {
            // The others have queued the collectives of the next layers, too.
            as[r] = {.calls = {{.sequence = next}, {.sequence = next + 1}}, .range = "backward"};
            as[r].is_numbered = is_numbered;
        }
        as[5].calls.clear();
        as[5].range = "next batch";
        as[5].line = "train.py:57";
        const answered of = answer_to(job.summaries(as));
        ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
        const standstill& is = of.stands().front();
        EXPECT_EQ(is.kind, standstill_kind::not_called);
        EXPECT_THAT(numbers_of(of, is.called), ElementsAre(0, 1, 2, 3, 4, 6, 7));
        EXPECT_THAT(numbers_of(of, is.not_called), ElementsAre(5));
        EXPECT_EQ(is.call_in(of.job).number, next);
        EXPECT_EQ(is.call_in(of.job).bytes, 4U << 20);
        EXPECT_NEAR(static_cast<double>(is.waited_ns), 12e9 - 1e6, 1e5);  // the clocks' drift
        EXPECT_EQ(is.not_called.front().ended_before_ns, 0);
        const std::string what =
            "all_reduce number " + std::to_string(next) + (is_numbered ? " of dp0" : "") + " (4,194,304 bytes)";
        EXPECT_THAT(of.verdict,
                    AllOf(StartsWith("ranks 0 to 4, 6 and 7 wait for 12.0 s in " + what),
                          HasSubstr("which rank 5 has not called"),
                          HasSubstr("Rank 5 is in next batch for 12.0 s, at train.py:57 (12.0 s before the end)"),
                          HasSubstr("its last one before was all_reduce")));
        EXPECT_THAT(sentences_of(of.job, of.answer), Contains(StartsWith("In the steps before: ")));
    }
}

// A rank leaves out one collective of a step: from then on its numbers are those of others' next ones, and at the end
// it lacks the last one.
TEST(Standstill, NamesTheRankThatLeftOneOut) {
    const job_plan plan = plan_of(4);
    const stopped_job job(plan);
    const std::uint64_t next = job.calls_before();
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {{.sequence = next}}};
    as[2].calls.clear();
    as[2].range = "evaluate";
    std::vector<rank_summary> all;
    for (const auto& [rank, how] : as) {
        timeline data = job.timeline_of(rank, how);
        if (rank == 2) {
            // The third of step 4; what it calls later has the number before.
            const std::size_t left_out = 4 * 6 + 2;
            data.collectives.erase(data.collectives.begin() + static_cast<std::ptrdiff_t>(left_out));
            for (std::size_t i = left_out; i < data.collectives.size(); ++i) --data.collectives[i].sequence;
        }
        all.push_back(summarize_rank(data, attribute(data)));
    }
    const answered of = answer_to(std::move(all));
    ASSERT_THAT(of.answer.standstill.shifted, SizeIs(1)) << of.verdict;
    const shifted_calls& is = of.answer.standstill.shifted.front();
    EXPECT_EQ(of.job.ranks[is.rank].rank, 2);
    EXPECT_EQ(is.fewer, 1);
    const rank_summary& other = of.job.ranks[is.other];
    const rank_collective& first = other.collectives[is.collective];
    EXPECT_EQ(other.steps[first.step].number, 4U);
    EXPECT_THAT(of.verdict, HasSubstr("Rank 2 has 1 collective less than rank 0 up to all_reduce number 29 of dp0"));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_THAT(numbers_of(of, of.stands().front().not_called), ElementsAre(2));
}

TEST(Standstill, NamesCollectivesInDifferentOrder) {
    const stopped_job job(plan_of(4));
    const std::uint64_t next = job.calls_before();
    const stopped_rank::call reduce{.sequence = next};
    const stopped_rank::call gather{.function = collective_function::all_gather, .sequence = 0, .bytes = 1 << 10};
    for (const bool waits_for_each : {true, false}) {
        std::map<std::uint32_t, stopped_rank> as;
        for (std::uint32_t r = 0; r < 4; ++r) {
            as[r].range = "forward";
            as[r].calls = r == 1 ? std::vector{gather, reduce} : std::vector{reduce, gather};
            if (waits_for_each) as[r].calls.resize(1);
        }
        const answered of = answer_to(job.summaries(as));
        ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
        const standstill& is = of.stands().front();
        EXPECT_EQ(is.kind, standstill_kind::other_call);
        EXPECT_THAT(numbers_of(of, is.called), ElementsAre(0, 2, 3));
        EXPECT_THAT(numbers_of(of, is.not_called), ElementsAre(1));
        EXPECT_THAT(of.verdict, AllOf(StartsWith("ranks 0, 2 and 3 wait for 12.0 s in all_reduce number 48 of dp0"),
                                      HasSubstr("where rank 1 has called another collective"),
                                      HasSubstr("Rank 1 has called all_gather number 0 of dp0 (1,024 bytes)")));
    }
}

TEST(Standstill, SaysThatARankDied) {
    const stopped_job job(plan_of(4));
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {{.sequence = job.calls_before()}}};
    as[3] = {.calls = {}, .range = "optimizer_step", .seconds = 0.4, .how = 11};
    answered of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_THAT(numbers_of(of, of.stands().front().not_called), ElementsAre(3));
    EXPECT_NEAR(static_cast<double>(of.stands().front().not_called.front().ended_before_ns), 11.6e9, 1e6);
    EXPECT_THAT(of.verdict, HasSubstr("Rank 3 ended 11.6 s before the others (the process was killed by signal 11 "
                                      "(SIGSEGV)); was in optimizer_step"));
    // It had called it.
    as[3].calls = {{.sequence = job.calls_before()}};
    of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_EQ(of.stands().front().kind, standstill_kind::not_ended);
    EXPECT_THAT(of.verdict, HasSubstr("Rank 3, which has called it, ended 11.6 s before the others"));
    // The launcher ended the others soon after it.
    for (std::uint32_t r = 0; r < 4; ++r) as[r].seconds = r == 3 ? 0.02 : 1.8;
    of = answer_to(job.summaries(as));
    EXPECT_THAT(of.stands(), IsEmpty());
    EXPECT_THAT(of.verdict,
                HasSubstr("Rank 3 ended 1780.00 ms before the others: the process was killed by signal 11"));
    // A program that returned while the others go on.
    as[3] = {.calls = {}, .seconds = 0.1, .how = 0, .has_exited = true};
    for (std::uint32_t r = 0; r < 3; ++r) as[r].seconds = 20;
    of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_THAT(of.verdict,
                HasSubstr("Rank 3 ended 19.9 s before the others (the recording was closed in good order)"));
}

TEST(Standstill, AllHaveCalledWhatDoesNotEnd) {
    const stopped_job job(plan_of(4));
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) {
        as[r] = {.calls = {{.sequence = job.calls_before()}, {.sequence = job.calls_before() + 1}}};
    }
    answered of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_EQ(of.stands().front().kind, standstill_kind::not_ended);
    EXPECT_EQ(of.stands().front().call_in(of.job).number, job.calls_before());
    EXPECT_THAT(of.verdict, HasSubstr("all of its ranks have called it, and it has not ended"));
    // Without the capture of a rank it is not known whether that has.
    as.erase(2);
    of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_EQ(of.stands().front().absent, 1U);
    EXPECT_THAT(of.verdict,
                AllOf(HasSubstr("of 1 of its ranks there is no capture"), Not(HasSubstr("all of its ranks"))));
}

TEST(Standstill, IsNoneWhereAJobEnds) {
    const stopped_job job(plan_of(4));
    const std::uint64_t next = job.calls_before();
    const auto expect_none = [&](const std::map<std::uint32_t, stopped_rank>& as, const char* what) {
        const answered of = answer_to(job.summaries(as));
        EXPECT_THAT(of.stands(), IsEmpty()) << what << ": " << of.verdict;
        EXPECT_THAT(of.answer.standstill.shifted, IsEmpty()) << what;
        EXPECT_THAT(of.verdict, StartsWith("no rank holds the job up")) << what;
    };
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {}, .how = 0, .has_exited = true};
    expect_none(as, "all end in good order, at once");
    for (std::uint32_t r = 0; r < 4; ++r) as[r].seconds = 0.1 + r;
    expect_none(as, "all end in good order, one after another");
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {{.sequence = next}}, .seconds = 0.05};
    as[1].calls.clear();
    expect_none(as, "killed in a collective that some have not yet called");
    // Recorded for different times: rank 1's window ends first, and the others' calls have ended.
    as.clear();
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {}, .seconds = 30, .how = 0};
    as[1].seconds = 0.01;
    expect_none(as, "a window that ends first");
}

// What one rank was recorded for is no longer than the calls of the others: whether it called, is not known.
TEST(Standstill, DoesNotSayWhatWasNotRecorded) {
    const stopped_job job(plan_of(4));
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {{.sequence = job.calls_before()}}};
    as[1] = {.calls = {}, .seconds = 0.0005, .how = 0};
    const answered of = answer_to(job.summaries(as));
    ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
    EXPECT_THAT(of.stands().front().not_called, IsEmpty());
    EXPECT_THAT(of.verdict, HasSubstr("whether rank 1 called it is not known"));
}

// By order, where most of what was called before has found no partner: the numbers say nothing.
TEST(Standstill, DoesNotCountWhatHasNoOrder) {
    const stopped_job job(plan_of(4));
    for (const bool is_alike : {true, false}) {
        std::map<std::uint32_t, stopped_rank> as;
        for (std::uint32_t r = 0; r < 4; ++r) {
            as[r] = {.calls = {{.sequence = job.calls_before()}}};
            as[r].is_numbered = false;
        }
        as[2].calls.clear();
        std::vector<rank_summary> all = job.summaries(as);
        // A stage of a pipeline that communicates half as often as the others, and at other times.
        for (std::size_t i = 0; !is_alike && i < all[2].collectives.size(); ++i) {
            if (i % 2 == 0) all[2].collectives[i].bytes += 4;
        }
        const answered of = answer_to(std::move(all));
        ASSERT_THAT(of.stands(), SizeIs(1)) << of.verdict;
        EXPECT_EQ(numbers_of(of, of.stands().front().not_called),
                  is_alike ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{});
        const bool is_said = of.verdict.find("whether rank 2 called it is not known") != std::string::npos;
        EXPECT_EQ(is_said, !is_alike) << of.verdict;
    }
}

// Two groups: what waits behind another group's collective is not what the job waits for.
TEST(Standstill, NamesTheFirstOfThoseThatWaitForOneAnother) {
    job_plan plan = plan_of(4);
    plan.in_group = 2;
    const stopped_job job(plan);
    const std::uint64_t next = job.calls_before();
    std::map<std::uint32_t, stopped_rank> as;
    for (std::uint32_t r = 0; r < 4; ++r) as[r] = {.calls = {{.sequence = next}}};
    as[3].calls.clear();
    as[3].range = "save";
    // All four have a second communicator, in which ranks 0 and 1 wait for rank 2, which waits for rank 3.
    std::vector<rank_summary> all;
    for (const auto& [rank, how] : as) {
        timeline data = job.timeline_of(rank, how);
        data.communicators.push_back({.id = 5, .name = "all", .ranks = 4, .rank = rank});
        if (rank < 2) {
            data.collectives.back().communicator = communicator_id(1);
            data.collectives.back().sequence = 0;
        }
        all.push_back(summarize_rank(data, attribute(data)));
    }
    const answered of = answer_to(std::move(all));
    ASSERT_FALSE(of.stands().empty()) << of.verdict;
    EXPECT_THAT(of.verdict, StartsWith("rank 2 waits for 12.0 s in all_reduce number 48 of dp1"));
    EXPECT_THAT(of.verdict, HasSubstr("which rank 3 has not called"));
}

}  // namespace
}  // namespace prof
