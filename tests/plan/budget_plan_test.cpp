// SPDX-License-Identifier: Apache-2.0
// The plan behind the option budget, on simulated jobs (simulated_job.hpp).
#include "plan/budget_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <sstream>

#include "session/simulated_job.hpp"
#include "support/sanitized.hpp"

namespace prof::test::budget_plan_test {
namespace {

// Any number between two, as likely small as large.
double between(std::mt19937_64& random, double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
}

job_model random_model(std::mt19937_64& random) {
    const auto chance = [&] { return std::uniform_real_distribution<double>()(random); };
    constexpr std::uint64_t periods[] = {0, 0, 2, 4, 10, 50, 100};
    job_model model;
    model.step_ns = between(random, 1e6, 1e9);
    model.jitter = 0.2 * chance();
    model.drift = chance() < 0.5 ? 0 : 2 * chance() - 0.5;
    model.period = periods[random() % std::size(periods)];
    model.long_factor = between(random, 1.2, 20);
    model.outliers = chance() < 0.7 ? 0 : 0.01 * chance();
    model.slow_steps = random() % 12;
    model.captured = chance() < 0.1 ? 0 : between(random, 0.01, 1);
    model.open_ns = between(random, 1e5, 3e7);
    model.close_ns = between(random, 1e4, 3e6);
    model.settle_ns = between(random, 1e5, 3e7);
    model.first_open_ns = between(random, 1e6, 1e8);
    return model;
}

std::string shown(const job_model& m, double share, const job_outcome& of) {
    std::ostringstream out;
    out << "share " << share << " overhead " << of.overhead() << " in " << of.windows << " windows; step " << m.step_ns
        << " jitter " << m.jitter << " drift " << m.drift << " period " << m.period << " x" << m.long_factor
        << " outliers " << m.outliers << " captured " << m.captured << " open " << m.open_ns << " settle "
        << m.settle_ns << " first " << m.first_open_ns;
    return out.str();
}

TEST(BudgetPlan, KeepsToTheBudgetAndUsesIt) {
    constexpr std::uint64_t steps = 8000;
    constexpr std::uint32_t jobs = is_sanitized ? 100 : 500;
    std::uint32_t long_jobs = 0;
    std::uint32_t thrifty = 0;
    for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
        std::mt19937_64 random(seed);
        const job_model model = random_model(random);
        const double share = between(random, 0.003, 0.1);
        budget_plan plan(share, seed);
        const job_outcome found = run_job(model, plan, steps, seed);
        const double allowed_ns = share * found.plain_ns;
        // A run may be too short for even the first window.
        EXPECT_TRUE(found.overhead_ns <= allowed_ns || found.windows == 1)
            << "job " << seed << ": " << shown(model, share, found);
        EXPECT_GE(found.windows, 1U) << "job " << seed;
        // Where windows cost less than steps vary by, it stops at one step of so many.
        const bool is_dense = found.captured.size() * 12 > steps;
        if (is_dense || allowed_ns < 20 * found.first_window_ns) continue;
        ++long_jobs;
        thrifty += found.overhead_ns < allowed_ns / 2 ? 1 : 0;
    }
    EXPECT_GT(long_jobs, jobs * 2 / 5) << thrifty;
    EXPECT_LT(thrifty, long_jobs / 5);
}

TEST(BudgetPlan, CapturesAWindowEarly) {
    budget_plan plan(0.01);
    const job_outcome found = run_job({}, plan, 40, 1);
    ASSERT_EQ(found.windows, 1U);
    EXPECT_GT(found.window_begins[0], 12U);  // when the slow steps are over
    EXPECT_LE(found.window_begins[0], 32U);
    EXPECT_EQ(found.captured.size(), 1U);
}

// The plan rests on this estimate.
TEST(BudgetPlan, EstimatesItsSpending) {
    for (const std::uint64_t period : {0U, 2U, 10U}) {
        budget_plan plan(0.01);
        const job_outcome found = run_job({.period = period, .long_factor = 5}, plan, 20'000, 3);
        const double by_truth = plan.costs().spent_ns() / found.overhead_ns;
        EXPECT_GT(by_truth, 0.95) << "period " << period;
        EXPECT_LT(by_truth, 1.25) << "period " << period;
    }
}

TEST(BudgetPlan, SpacesExpensiveWindowsWithoutBound) {
    // A window costs 100 steps: at 0.1 % that is one in 100 000 or more.
    budget_plan plan(0.001);
    const job_outcome found = run_job({.settle_ns = 2e9, .first_open_ns = 0}, plan, 1'000'000, 1);
    EXPECT_GE(found.windows, 4U);
    EXPECT_LE(found.windows, 10U);
    EXPECT_LE(found.overhead(), 0.001);
}

TEST(BudgetPlan, CapturesAtMostAnEighthWhenWindowsAreFree) {
    budget_plan plan(0.05);
    const job_outcome found =
        run_job({.captured = 0, .open_ns = 0, .close_ns = 0, .settle_ns = 0, .first_open_ns = 0}, plan, 8000, 1);
    EXPECT_LE(found.captured.size(), 1000U);
    EXPECT_GE(found.captured.size(), 500U);
}

// Each step of a stratum has the same chance, so that whatever happens every so many steps is captured as often as it
// happens: here every tenth step, and each other one of the ten.
TEST(BudgetPlan, SamplesPeriodicStepsEvenly) {
    std::array<double, 10> captured{};
    double all = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        budget_plan plan(0.05, seed);
        const job_outcome found = run_job({.jitter = 0, .period = 10, .long_factor = 3}, plan, 20'000, seed);
        for (const std::uint64_t step : found.captured) captured[step % 10] += 1;
        all += static_cast<double>(found.captured.size());
    }
    ASSERT_GT(all, 2000);
    double chi_square = 0;
    for (const double count : captured) chi_square += (count - all / 10) * (count - all / 10) / (all / 10);
    EXPECT_LT(chi_square, 27.9) << "of 9 degrees of freedom: chance is 0.1 %";
}

TEST(BudgetPlan, DrawsEachWindowFromItsOwnSteps) {
    budget_plan plan(0.02);
    const job_outcome found = run_job({}, plan, 50'000, 5);
    ASSERT_GT(found.windows, 20U);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < found.windows; ++i) {
        const drawn_steps from = found.drawn_among[i];
        EXPECT_GE(from.first, end);
        EXPECT_GE(found.window_begins[i], from.first);
        end = from.first + from.count;
        EXPECT_LT(found.window_begins[i], end);
    }
}

// When opening is the expensive part, a window has several steps, and stands at one of the places into which its
// stratum is divided.
TEST(BudgetPlan, CapturesSeveralStepsWhenOpeningIsExpensive) {
    budget_plan plan(0.02);
    const job_outcome found = run_job({.captured = 0.005, .open_ns = 10e6}, plan, 100'000, 3);
    ASSERT_GT(found.windows, 40U);
    std::set<std::uint64_t> captured(found.captured.begin(), found.captured.end());
    double steps = 0;
    for (std::size_t i = found.windows / 2; i + 1 < found.windows; ++i) {
        std::uint64_t end = found.window_begins[i];
        while (captured.contains(end) && end != found.window_begins[i + 1]) ++end;
        const std::uint64_t length = end - found.window_begins[i];
        EXPECT_EQ((found.window_begins[i] - found.drawn_among[i].first) % length, 0U);
        EXPECT_EQ(found.drawn_among[i].count % length, 0U);
        steps += static_cast<double>(length);
    }
    EXPECT_GT(steps / (static_cast<double>(found.windows) / 2), 4);
}

// The steps become shorter all the time, and the wait ends all the same.
TEST(BudgetPlan, LimitsTheWaitForSteadySteps) {
    budget_plan plan(0.01);
    std::uint64_t now_ns = 0;
    std::uint64_t opened = 0;
    double step_ns = 1e9;
    for (std::uint64_t step = 1; step <= 100 && opened == 0; ++step, step_ns *= 0.9) {
        if (plan.next(plan_event::step, step, now_ns) == plan_action::open) {
            plan.took(plan_action::open, true, 0);
            opened = step;
        }
        now_ns += static_cast<std::uint64_t>(step_ns);
    }
    EXPECT_GE(opened, 5U + 64);
    EXPECT_LE(opened, 5U + 64 + 2 + 8);
}

// The first window costs next to nothing, the second slows the steps after it by much. Where it stands at the end of
// its stratum, that is learned when the place of the third is drawn already: it does not begin if it is not affordable
// then.
TEST(BudgetPlan, RechecksTheBudgetBeforeADrawnWindow) {
    constexpr double share = 0.3;
    std::uint64_t windows = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        budget_plan plan(share, seed);
        double now_ns = 0;
        bool open = false;
        std::uint64_t opened = 0;
        std::uint64_t closed = 0;  // steps since
        for (std::uint64_t step = 1; step <= 300; ++step, ++closed) {
            const double spent_ns = plan.costs().spent_ns();
            const plan_action action = plan.next(plan_event::step, step, static_cast<std::uint64_t>(now_ns));
            const bool opens = action == plan_action::open || action == plan_action::reopen;
            if (opens && ++opened > 1) {
                EXPECT_GE(share * now_ns, spent_ns) << "seed " << seed << ", window " << opened;
                ++windows;
            }
            if (open && action != plan_action::none) closed = 0;
            open = opens || (open && action == plan_action::none);
            if (action != plan_action::none) plan.took(action, open, 0);
            now_ns += opened > 1 && !open && closed < window_costs::settling_steps ? 30e6 : 1e6;
        }
    }
    EXPECT_GE(windows, 300U);
}

// The program was held up for a window that was passed over then. That costs as much as if it had begun, but nothing is
// learned from it: the first window is still to come.
TEST(BudgetPlan, ChargesAWindowThatWasPassedOver) {
    constexpr std::uint64_t step_ns = 10'000'000;
    constexpr std::uint64_t delay_ns = 250'000'000;
    budget_plan plan(0.5);
    std::uint64_t passed_over = 0;
    bool opened = false;
    std::uint64_t now_ns = step_ns;
    for (std::uint64_t step = 1; step <= 200 && !opened; ++step, now_ns += step_ns) {
        const plan_action action = plan.next(plan_event::step, step, now_ns);
        if (action == plan_action::none) continue;
        ASSERT_EQ(action, plan_action::open) << "nothing is open that could end";
        opened = passed_over == 3;
        plan.took(action, opened, opened ? 0 : delay_ns);
        if (opened) continue;
        ++passed_over;
        now_ns += delay_ns;
        EXPECT_EQ(plan.costs().spent_ns(), static_cast<double>(passed_over * delay_ns));
    }
    EXPECT_TRUE(opened);
    EXPECT_NEAR(plan.costs().history().mean_ns(), static_cast<double>(step_ns), 1.0);
}

TEST(BudgetPlan, IsDeterministic) {
    budget_plan one(0.01, 7);
    budget_plan same(0.01, 7);
    budget_plan other(0.01, 8);
    const job_outcome found = run_job({}, one, 5000, 1);
    EXPECT_EQ(found.captured, run_job({}, same, 5000, 1).captured);
    EXPECT_NE(found.captured, run_job({}, other, 5000, 1).captured);
}

// The program is held up while the GPU has work for longer than that: the step is no longer than without.
TEST(BudgetPlan, CountsHoldsThatStepsHide) {
    window_costs costs;
    for (int i = 0; i < 20; ++i) costs.add_plain(20e6);
    for (int window = 0; window < 10; ++window) {
        costs.begin_window();
        costs.hold(8e6);
        costs.add_captured(20e6);
        for (std::size_t i = 0; i < window_costs::settling_steps; ++i) costs.add_settling(i, 20e6);
        for (int i = 0; i < 10; ++i) costs.add_plain(20e6);
    }
    EXPECT_GE(costs.spent_ns(), 10 * 8e6);
    EXPECT_LT(costs.spent_ns(), 10 * 10e6);
}

// Twenty steps of 20 ms, then windows of one step that opening holds up for 8 ms.
struct held_windows {
    window_costs costs;
    held_windows() {
        for (int i = 0; i < 20; ++i) costs.add_plain(20e6);
    }
    void begin() {
        costs.begin_window();
        costs.hold(8e6);
        costs.add_captured(28e6);
    }
    void settle() {
        for (std::size_t i = 0; i < window_costs::settling_steps; ++i) costs.add_settling(i, 20e6);
        for (int i = 0; i < 10; ++i) costs.add_plain(20e6);
    }
};

TEST(WindowCosts, SeparateConsecutiveWindows) {
    held_windows job;
    for (int i = 0; i < 10; ++i) job.begin();
    job.settle();
    EXPECT_GE(job.costs.spent_ns(), 10 * 8e6);
    // What ten of them cost is not the price of one.
    EXPECT_GE(job.costs.expected_ns(1), 8e6);
    EXPECT_LT(job.costs.expected_ns(1), 12e6);
}

TEST(WindowCosts, CountAWindowFromItsBeginning) {
    held_windows job;
    for (int i = 0; i < 4; ++i) {
        job.begin();
        job.settle();
    }
    const double before_ns = job.costs.spent_ns();
    job.costs.begin_window();
    EXPECT_GE(job.costs.spent_ns(), before_ns + 8e6) << "what one is going to cost";
    job.costs.hold(50e6);
    EXPECT_GE(job.costs.spent_ns(), before_ns + 50e6) << "what it has cost already";
}

TEST(StepHistory, FindsThePeriodOfSteps) {
    for (const std::uint64_t period : {1U, 2U, 7U, 10U, 30U}) {
        step_history history;
        std::mt19937_64 random(1);
        for (std::uint64_t i = 0; i < 250; ++i) {
            const double jitter = std::exp(0.05 * std::normal_distribution<double>()(random));
            history.add((i % period == 0 && period != 1 ? 40e6 : 10e6) * jitter, true);
        }
        EXPECT_EQ(history.best_lag(), period);
        const double ratio = history.ratio(200 / period * period, period);
        EXPECT_NEAR(ratio, 1, 0.2);
    }
}

TEST(BudgetOption, IsAPercentage) {
    double share = 0;
    EXPECT_TRUE(parse_budget("1%", share));
    EXPECT_DOUBLE_EQ(share, 0.01);
    EXPECT_TRUE(parse_budget("0.01%", share));
    EXPECT_TRUE(parse_budget("50%", share));
    for (const char* bad : {"", "1", "%", "0%", "51%", "-1%", "1 %", "nan%", "inf%", "1e0%", "0x1%", "1%%"}) {
        EXPECT_FALSE(parse_budget(bad, share)) << bad;
    }
}

}  // namespace
}  // namespace prof::test::budget_plan_test
