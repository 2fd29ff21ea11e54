// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/numbered_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/selection/selected_part.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::numbered_steps_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct NumberedSteps : testing::Test {
    capture_builder capture;
    std::uint16_t own = capture.domain("prof");
    std::uint16_t phases = capture.domain(std::string(phase_domain));
    thread_script& main = capture.thread("python");

    void step(std::uint64_t start_ns, std::uint64_t end_ns, std::uint32_t witness = optimizer_witness) {
        main.add({.ticks = start_ns,
                  .name = capture.name("step"),
                  .category = witness,
                  .domain = phases,
                  .kind = record_kind::range_push});
        main.pop(end_ns, phases);
    }
    void mark(std::uint64_t ns, std::uint64_t number) { main.step(ns, number, own); }
    std::vector<std::string> found(const domain_filter& hidden = {}) const { return listed(capture.build(), hidden); }
    static std::vector<std::string> listed(const timeline& data, const domain_filter& hidden = {}) {
        std::vector<std::string> out;
        for (const numbered_step& each : number_steps(data, {data, hidden}).steps) {
            EXPECT_EQ(each.thread, 0U);
            out.push_back(std::to_string(each.number) + " " + std::to_string(each.start_ns) + "-" +
                          std::to_string(each.end_ns));
        }
        return out;
    }
};

TEST_F(NumberedSteps, AreTheObservedSteps) {
    main.push(0, "startup", phases).pop(10, phases);
    step(10, 20, 0);
    step(20, 30);
    step(40, 55);
    EXPECT_THAT(found(), ElementsAre("0 10-20", "1 20-30", "2 40-55"));
    EXPECT_EQ(number_steps(capture.build()).source, step_source::observed);
    EXPECT_THAT(found({.include = {}, .exclude = {"prof.phases"}}), IsEmpty());
}

TEST_F(NumberedSteps, OfAPartAreThoseOfTheWhole) {
    main.push(0, "startup", phases).pop(10, phases);
    for (std::uint64_t i = 0; i < 6; ++i) step(10 + 10 * i, 20 + 10 * i);
    const timeline data = capture.build();
    const selected_part part(data, {}, {.steps = "2:4"});
    EXPECT_THAT(listed(part.data()), ElementsAre("2 30-40", "3 40-50"));
    const selected_part later(part.data(), {}, {.steps = "3:4"});
    EXPECT_THAT(listed(later.data()), ElementsAre("3 40-50"));
}

TEST_F(NumberedSteps, LeaveOutStepsBeforeTheOptimizerWasMade) {
    step(10, 20, 0);
    step(20, 30, call_witness);
    main.push(30, "startup", phases).pop(40, phases);
    step(40, 50, 0);
    EXPECT_THAT(found(), ElementsAre("0 40-50"));
}

TEST_F(NumberedSteps, EndAnAnnotatedStepAtTheNext) {
    step(10, 12, annotation_witness);
    step(20, 22, annotation_witness);
    EXPECT_THAT(found(), ElementsAre("0 10-20", "1 20-22"));
}

TEST_F(NumberedSteps, PreferCountedSteps) {
    mark(10, 7);
    step(11, 15);
    mark(20, 8);
    main.push(25, "r").pop(30);
    EXPECT_THAT(found(), ElementsAre("7 10-20", "8 20-30"));
    EXPECT_EQ(number_steps(capture.build()).source, step_source::counted);
    EXPECT_THAT(found({.include = {}, .exclude = {"prof"}}), ElementsAre("0 11-15"));
}

TEST_F(NumberedSteps, AreNoneBesideProfilerSteps) {
    mark(5, 1);
    step(10, 20);
    main.push(21, "ProfilerStep#3").pop(25);
    EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace prof::numbered_steps_test
