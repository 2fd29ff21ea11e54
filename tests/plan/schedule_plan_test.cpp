// SPDX-License-Identifier: Apache-2.0
// Schedules and capture ranges as pure policy: which steps are recorded, in which window. The expected lines are worked
// out by hand from torch.profiler.schedule's documentation.
#include "plan/schedule_plan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "options/plans.hpp"
#include "plan/trigger_plan.hpp"

namespace prof::schedule_plan_test {
namespace {

// Does what a session does: '.' nothing, 'w' warming up, '1', '2', … in that window, '|' the capture is complete.
class states {
public:
    void apply(plan_action action) {
        switch (action) {
            case plan_action::none:
                return;
            case plan_action::warm_up:
                EXPECT_EQ(now_, '.');
                now_ = 'w';
                return;
            case plan_action::open:
                EXPECT_TRUE(now_ == '.' || now_ == 'w');
                now_ = ++window_;
                return;
            case plan_action::reopen:
                EXPECT_EQ(now_, window_);
                now_ = ++window_;
                return;
            case plan_action::close:
                EXPECT_EQ(now_, window_);
                now_ = '.';
                return;
            case plan_action::rewarm:
                EXPECT_EQ(now_, window_);
                now_ = 'w';
                return;
            case plan_action::finish:
                EXPECT_EQ(now_, window_);
                now_ = '|';
                return;
        }
    }
    char now() const { return now_; }

private:
    char now_ = '.';
    char window_ = '0';
};

// The state in each of the steps 0, 1, ….
std::string steps_of(const std::string& schedule, int count, bool step_0_is_under_way) {
    step_schedule parsed;
    EXPECT_TRUE(parse_schedule(schedule, parsed) || parse_steps(schedule, parsed)) << schedule;
    schedule_plan plan(parsed, step_0_is_under_way);
    states state;
    state.apply(plan.begin());
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
};

TEST(TriggerPlan, OpensAndEndsAsNsightDoes) {
    const trigger_case trigger_cases[] = {
        {"stop", "()()", "1|||"},           {"stop", ")()", ".1|"},
        {"stop", "(())", "11||"},  // the driver's call inside the runtime's
        {"none", "()()", "1111"},           {"repeat", "()()()", "1.2.3."},
        {"repeat", "(())(())", "11..22.."}, {"repeat:2", "()()()", "1.2|||"},
        {"repeat:1", "()()", "1|||"},
    };
    for (const trigger_case& c : trigger_cases) {
        range_end end;
        ASSERT_TRUE(parse_range_end(c.end, end));
        trigger_plan plan(end);
        states state;
        state.apply(plan.begin());
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
