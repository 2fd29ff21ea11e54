// SPDX-License-Identifier: Apache-2.0
// Captures that are parts of a run: windows, flight recordings, and those in which activities are missing. Times are
// microseconds, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test::windows {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A step of 1000: the host prepares for 499, launches, and waits for the kernel until 999.
class program {
public:
    program()
        : steps_(capture.domain("prof")),
          phases_(capture.domain(std::string(phase_domain))),
          main_(&capture.thread("python")) {}

    void mark(std::int64_t at_us, std::uint64_t number) { main_->step(ns(at_us), number, steps_); }

    void work(std::int64_t at_us) {
        main_->push(ns(at_us + 1), "prepare", phases_).pop(ns(at_us + 500), phases_);
        launch_and_wait(at_us);
    }

    // A step of which the host has prepared the work before.
    void launch_and_wait(std::int64_t at_us) {
        const std::uint64_t launch = ++correlation_;
        main_->call(ns(at_us + 500), ns(at_us + 503), launch, launch_kernel, "kernel");
        capture.kernel(launch, ns(at_us + 505), ns(at_us + 995));
        main_->wait_for(ns(at_us + 510), ns(at_us + 999), ++correlation_, stream_synchronize, sync_kind::host_stream, 0,
                        {.stream = 7});
    }

    void begin(std::int64_t at_us) { main_->push(ns(at_us), "prepare", phases_); }
    void end(std::int64_t at_us) { main_->pop(ns(at_us), phases_); }

    void window(std::uint32_t epoch, std::int64_t begin_us, std::int64_t end_us, std::uint64_t first_step,
                std::uint64_t last_step) {
        capture.parts().windows[epoch] = {.epoch = epoch,
                                          .begin_ticks = ns(begin_us),
                                          .end_ticks = ns(end_us),
                                          .first_step = first_step,
                                          .last_step = last_step};
    }

    // Only what was recorded from here on is there, and the range that is open.
    void lose_until(std::int64_t at_us) {
        thread_script open(capture, main_->uid());
        open.push(ns(at_us - 2'000), "prepare", phases_);
        capture.parts().runs.push_back({.thread_uid = main_->uid(), .records = open.records(), .is_open = true});
        capture.parts().begins.emplace();
        capture.parts().begins->begin_ticks = ns(at_us);
    }

    static std::uint64_t ns(std::int64_t at_us) { return static_cast<std::uint64_t>(1'000'000 + at_us * us); }

    capture_builder capture;

private:
    std::uint16_t steps_;
    std::uint16_t phases_;
    std::uint64_t correlation_ = 0;
    thread_script* main_;
};

diagnosis diagnosis_of(const program& of) {
    const timeline data = of.capture.build();
    return diagnose(data, attribute(data));
}

const finding* found_in(const diagnosis& of, std::string_view rule, std::string_view place) {
    const auto found = std::find_if(of.findings.begin(), of.findings.end(), [&](const finding& each) {
        return each.rule == rule && each.title.find(place) != std::string::npos;
    });
    return found == of.findings.end() ? nullptr : &*found;
}

std::int64_t path_of(const diagnosis& of, std::string_view kind) {
    std::int64_t total_ns = 0;
    for (const path_share& each : of.path) total_ns += each.kind == kind ? each.total_ns : 0;
    return total_ns;
}

constexpr std::uint64_t steps_of_window = 10;

// Of 50 ms before them, of what lies between the windows (51 steps that take as long), and of the steps that an edge
// cuts, nothing counts.
program two_windows() {
    program out;
    // Ten whole steps, and the first 400 of another, in which a range is open.
    for (std::uint64_t i = 0; i < steps_of_window; ++i) {
        out.mark(static_cast<std::int64_t>(i) * 1'000, 5 + i);
        out.work(static_cast<std::int64_t>(i) * 1'000);
    }
    out.mark(10'000, 5 + steps_of_window);
    out.begin(10'001);
    out.window(0, -100, 10'400, 4, 15);
    // The end of a step, ten whole steps, and the beginning of one.
    out.launch_and_wait(60'000);
    for (std::uint64_t i = 0; i <= steps_of_window; ++i) {
        const std::int64_t at_us = 61'000 + static_cast<std::int64_t>(i) * 1'000;
        out.mark(at_us, 66 + i);
        out.work(at_us);
    }
    out.window(1, 60'300, 72'000, 65, 76);
    return out;
}

TEST(DiagnosisOfWindows, IsOfTheirWholeSteps) {
    const diagnosis of = diagnosis_of(two_windows());
    EXPECT_TRUE(of.has_steps);
    EXPECT_EQ(of.steps, 2 * steps_of_window);
    EXPECT_EQ(of.warm_up, 0U);
    EXPECT_EQ(of.wall_ns, 20'000 * us);
    EXPECT_DOUBLE_EQ(of.step_ns, 1'000'000);
    EXPECT_EQ(of.replayed_ns, of.wall_ns);
    EXPECT_EQ(of.path_ns, of.wall_ns);
    // From 0 to 505 of each step the GPU waits for the host, then the host for the GPU.
    EXPECT_EQ(path_of(of, "kernels"), 20 * 490 * us);
}

TEST(DiagnosisOfWindows, DoesNotPriceWhatLiesBetweenThem) {
    const diagnosis of = diagnosis_of(two_windows());
    const finding* const prepare = found_in(of, "host_code", "in prepare");
    ASSERT_NE(prepare, nullptr);
    EXPECT_EQ(prepare->gain_ns, 20 * 499 * us);
    EXPECT_EQ(prepare->cost_ns, 20 * 499 * us);
    EXPECT_EQ(prepare->steps, 20U);
    ASSERT_THAT(prepare->parts, SizeIs(1));
    EXPECT_EQ(prepare->parts.front().count, 20U);
    EXPECT_EQ(prepare->parts.front().longest_ns, 499 * us);
    EXPECT_EQ(found_in(of, "uneven_steps", ""), nullptr);
    EXPECT_THAT(of.remarks, SizeIs(0));
}

// Of a run of which only the latest part was kept: its beginning is lost, with the beginning of a range and of a step.
TEST(DiagnosisOfFlightRecordings, IsOfTheStepsThatAreWhole) {
    program of;
    of.end(200);  // of "prepare", which began before
    of.launch_and_wait(0);
    for (std::uint64_t i = 0; i < steps_of_window; ++i) {
        const std::int64_t at_us = 1'000 + static_cast<std::int64_t>(i) * 1'000;
        of.mark(at_us, 70'001 + i);
        of.work(at_us);
    }
    of.mark(11'000, 70'011);
    of.window(0, -5'000'000, 11'500, 0, 70'011);
    of.lose_until(150);
    const diagnosis found = diagnosis_of(of);
    EXPECT_EQ(found.steps, steps_of_window);
    EXPECT_EQ(found.warm_up, 0U);
    EXPECT_EQ(found.wall_ns, 10'000 * us);
    const finding* const prepare = found_in(found, "host_code", "in prepare");
    ASSERT_NE(prepare, nullptr);
    EXPECT_EQ(prepare->gain_ns, 10 * 499 * us);
    EXPECT_EQ(found_in(found, "uneven_steps", ""), nullptr);
}

// The program computes for 300 and waits for its kernel, of which only part of the activities are recorded.
diagnosis without(const std::string& activities, bool records_waits) {
    code all;
    for (int i = 0; i <= 20; ++i) {
        all.push_back({action::step});
        all.push_back({action::compute, 300 * us});
        all.push_back({action::launch, 2'000 * us});
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    simulation run({all}, {.records_waits = records_waits});
    run.capture.parts().properties["activities"] = activities;
    const timeline data = run.capture.build();
    return diagnose(data, attribute(data));
}

TEST(DiagnosisOfActivities, FindsTheHostsCodeIfAllAreRecorded) {
    const diagnosis of = without("all", true);
    EXPECT_NE(found_in(of, "host_code", ""), nullptr);
    EXPECT_THAT(of.not_looked, SizeIs(0));
}

// Time in a call that was not recorded is not code of the host's.
TEST(DiagnosisOfActivities, DoesNotTakeWaitsThatWereNotRecordedForCode) {
    const diagnosis of = without("kernels,copies,sets,allocations", false);
    EXPECT_EQ(found_in(of, "host_code", ""), nullptr);
    for (const std::string_view rule : {"synchronization", "host_code"}) {
        EXPECT_THAT(of.not_looked, Contains(AllOf(HasSubstr(std::string(rule) + ": "),
                                                  HasSubstr("waits were not recorded (option activities)"))));
        EXPECT_THAT(of.looked, Not(Contains(rule)));
    }
}

}  // namespace
}  // namespace prof::diagnose_test::windows
