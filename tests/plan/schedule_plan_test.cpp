// SPDX-License-Identifier: Apache-2.0
// Schedules and capture ranges as pure policy: which steps are recorded, in which window. The expected lines are worked
// out by hand from torch.profiler.schedule's documentation.
#include "plan/schedule_plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "options/plans.hpp"
#include "plan/trigger_plan.hpp"

namespace prof::schedule_plan_test {
namespace {

// Does what a session does: '.' nothing, 'w' warming up, '1', '2', … in that window, '|' the capture is complete. Tells
// the plan what came of it. Of the times that the plan asks for a window, those in `passed_over` (counted from 1) come
// to nothing.
class states {
public:
    explicit states(window_plan& plan, std::set<int> passed_over = {})
        : plan_(plan), passed_over_(std::move(passed_over)) {
        apply(plan_.begin());
    }

    void apply(plan_action action) {
        const bool was_open = is_open_;
        switch (action) {
            case plan_action::none:
                return;
            case plan_action::warm_up:
                EXPECT_EQ(now_, '.');
                now_ = 'w';
                break;
            case plan_action::open:
                EXPECT_FALSE(was_open);
                EXPECT_NE(now_, '|');
                open();
                break;
            case plan_action::reopen:
                EXPECT_TRUE(was_open);
                now_ = '.';
                open();
                break;
            case plan_action::close:
                now_ = '.';
                is_open_ = false;
                break;
            case plan_action::rewarm:
                now_ = 'w';
                is_open_ = false;
                break;
            case plan_action::finish:
                now_ = '|';
                is_open_ = false;
                break;
        }
        plan_.took(action, is_open_, 0);
    }
    char now() const { return now_; }

private:
    void open() {
        is_open_ = !passed_over_.contains(++asked_);
        if (is_open_) now_ = ++window_;
    }

    window_plan& plan_;
    const std::set<int> passed_over_;
    int asked_ = 0;
    bool is_open_ = false;
    char now_ = '.';
    char window_ = '0';
};

// The state in each of the steps 0, 1, ….
std::string steps_of(const std::string& schedule, int count, bool step_0_is_under_way,
                     const std::set<int>& passed_over = {}) {
    step_schedule parsed;
    EXPECT_TRUE(parse_schedule(schedule, parsed) || parse_steps(schedule, parsed)) << schedule;
    schedule_plan plan(parsed, step_0_is_under_way);
    states state(plan, passed_over);
    std::string out = step_0_is_under_way ? std::string(1, state.now()) : std::string();
    for (std::uint64_t step = out.size(); step < static_cast<std::uint64_t>(count); ++step) {
        state.apply(plan.next(plan_event::step, step, 0));
        out += state.now();
    }
    return out;
}

struct schedule_case {
    const char* schedule;
    const char* expected;  // one character a step
};

constexpr schedule_case cases[] = {
    {"active=1", "123456789"},
    {"active=3", "111222333444"},
    {"active=3,repeat=1", "111||||"},
    {"active=2,repeat=2", "1122|||"},
    {"active=1,repeat=1", "1||"},
    {"wait=1,active=1", ".1.2.3.4"},
    {"wait=1,warmup=1,active=1", ".w1.w2.w3"},
    {"warmup=1,active=1", "w1w2w3w4"},
    {"warmup=2,active=1,repeat=2", "ww1ww2||"},
    {"wait=1,warmup=1,active=2,repeat=1", ".w11||||"},
    {"wait=1,warmup=1,active=3,repeat=2", ".w111.w222||||"},
    {"wait=2,warmup=1,active=2", "..w11..w22..w33"},
    {"skip_first=3,active=2,repeat=1", "...11||"},
    {"skip_first=10,wait=1,warmup=1,active=3,repeat=2", "...........w111.w222||"},
    {"skip_first=2,warmup=1,active=1", "..w1w2w3"},
    {"skip_first=1,wait=3,warmup=1,active=1,repeat=2,skip_first_wait=1", ".w1...w2||"},
    {"wait=3,warmup=1,active=1,skip_first_wait=0", "...w1...w2"},
    {"skip_first_wait=1,wait=2,active=2,repeat=1", "11|||"},
    {"4-6", "...w111||"},
    {"1", "w1||"},
    {"0-1", "11||"},
    {"7", "......w1|"},
};

TEST(SchedulePlan, RecordsTheSameStepsAsTorch) {
    for (const schedule_case& c : cases) {
        const std::string expected = c.expected;
        EXPECT_EQ(steps_of(c.schedule, static_cast<int>(expected.size()), true), expected) << c.schedule;
    }
}

// Steps that a range marks: step 0 begins at its first push, and what is before it is no step's.
TEST(SchedulePlan, RecordsTheSameStepsWithAStepRange) {
    for (const schedule_case& c : cases) {
        const std::string expected = c.expected;
        EXPECT_EQ(steps_of(c.schedule, static_cast<int>(expected.size()), false), expected) << c.schedule;
    }
}

TEST(SchedulePlan, GoesOnAfterAWindowThatWasPassedOver) {
    const auto without_second = [](const char* schedule, int count) { return steps_of(schedule, count, true, {2}); };
    EXPECT_EQ(without_second("wait=1,active=2,repeat=3", 10), ".11....22|");
    EXPECT_EQ(without_second("wait=1,warmup=1,active=2", 12), ".w11.www.w22");
    EXPECT_EQ(without_second("warmup=1,active=1,repeat=3", 7), "w1www2|");
    EXPECT_EQ(without_second("active=2,repeat=3", 7), "11..22|");
    EXPECT_EQ(without_second("wait=1,active=1,repeat=2", 5), ".1..|") << "the capture is complete all the same";
}

TEST(SchedulePlan, WarmsUpBeforeTheFirstStepOfAStepRange) {
    step_schedule every;
    ASSERT_TRUE(parse_schedule("active=1", every));
    EXPECT_EQ(schedule_plan(every, false).begin(), plan_action::warm_up);
    EXPECT_EQ(schedule_plan(every, true).begin(), plan_action::open);
    ASSERT_TRUE(parse_schedule("wait=1,active=1", every));
    EXPECT_EQ(schedule_plan(every, false).begin(), plan_action::none);
}

TEST(SchedulePlan, RefusesInvalidSchedules) {
    step_schedule out;
    for (const char* bad : {"", "active", "active=", "active=0", "wait=1", "active=-1", "active=1,", "active=1,,wait=1",
                            "Active=1", "active=1 ", "active=1x", "pause=1,active=1", "active=99999999999999999999",
                            "active=1,active=2", "wait=1,active=1,wait=1"}) {
        EXPECT_FALSE(parse_schedule(bad, out)) << bad;
    }
    for (const char* bad : {"", "-", "3-", "-3", "5-4", "a", "1-2-3", "1 - 2"})
        EXPECT_FALSE(parse_steps(bad, out)) << bad;
}

struct trigger_case {
    const char* end;
    const char* events;    // '(' and ')'
    const char* expected;  // the state after each
    std::set<int> passed_over{};
};

TEST(TriggerPlan, OpensAndEndsAsNsightDoes) {
    const trigger_case trigger_cases[] = {
        {"stop", "()()", "1|||"},
        {"stop", ")()", ".1|"},
        {"stop", "(())", "11||"},  // the driver's call inside the runtime's
        {"none", "()()", "1111"},
        {"repeat", "()()()", "1.2.3."},
        {"repeat", "(())(())", "11..22.."},
        {"repeat:2", "()()()", "1.2|||"},
        {"repeat:1", "()()", "1|||"},
        // A window that was passed over was none.
        {"repeat", "()()()", "1...2.", {2}},
        {"repeat", "(())()", "....1.", {1, 2}},
        {"repeat:2", "()()()()", "1...2|||", {2}},
        {"stop", "()()()", "..1|||", {1}},
        {"none", "()()()", "..1111", {1}},
    };
    for (const trigger_case& c : trigger_cases) {
        range_end end;
        ASSERT_TRUE(parse_range_end(c.end, end));
        trigger_plan plan(end);
        states state(plan, c.passed_over);
        std::string seen;
        for (const char event : std::string(c.events)) {
            state.apply(plan.next(event == '(' ? plan_event::trigger_begin : plan_event::trigger_end, 0, 0));
            seen += state.now();
        }
        EXPECT_EQ(seen, c.expected) << c.end << " " << c.events;
    }
    range_end out;
    for (const char* bad : {"", "stop-shutdown", "repeat:", "repeat:0", "repeat:x", "repeat-shutdown:2", "Stop"}) {
        EXPECT_FALSE(parse_range_end(bad, out)) << bad;
    }
}

TEST(Plans, AreRefusedForContradictoryOptions) {
    const auto problem_of = [](std::initializer_list<std::pair<const char*, const char*>> settings) {
        session_options options;
        for (const auto& [name, value] : settings) EXPECT_EQ(set_option(options, name, value).message(), "");
        return plan_problem(options).message();
    };
    EXPECT_EQ(problem_of({}), "");
    EXPECT_EQ(problem_of({{"schedule", "active=1"}, {"step_range", "step"}}), "");
    EXPECT_EQ(problem_of({{"capture_range", "nvtx"}, {"nvtx_capture", "a@b"}}), "");
    EXPECT_NE(problem_of({{"capture_range", "nvtx"}}), "");
    EXPECT_NE(problem_of({{"nvtx_capture", "a"}}), "");
    EXPECT_NE(problem_of({{"capture_range", "steps"}}), "");
    EXPECT_NE(problem_of({{"steps", "1-2"}}), "");
    EXPECT_NE(problem_of({{"schedule", "active=1"}, {"capture_range", "cudaProfilerApi"}}), "");
    // Without a range that ends nothing would come of it, and all would be recorded.
    EXPECT_NE(problem_of({{"capture_range_end", "repeat:3"}}), "");
    EXPECT_NE(problem_of({{"capture_range_end", "none"}, {"schedule", "active=1"}}), "");
    EXPECT_NE(problem_of({{"capture_range_end", "repeat"}, {"capture_range", "steps"}, {"steps", "3"}}), "");
    EXPECT_EQ(problem_of({{"capture_range_end", "stop"}}), "");
    EXPECT_EQ(problem_of({{"capture_range_end", "repeat"}, {"capture_range", "cudaProfilerApi"}}), "");
    EXPECT_EQ(problem_of({{"capture_range_end", "none"}, {"capture_range", "nvtx"}, {"nvtx_capture", "a"}}), "");
}

}  // namespace
}  // namespace prof::schedule_plan_test
