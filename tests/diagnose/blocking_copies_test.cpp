// SPDX-License-Identifier: Apache-2.0
// Copies from page-locked memory for which the host waits: one root cause, and one finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::ElementsAre;

enum class how { asynchronous, in_the_call, in_the_next_call };

// Twelve steps with a copy of 400 us among kernels of 2 ms, after it `host_ns` of the host.
std::vector<code> steps_with(how copy, std::int64_t host_ns) {
    code all;
    for (int i = 0; i < 13; ++i) {
        all.push_back({action::step});
        for (int kernel = 0; kernel < 4; ++kernel) all.push_back({.what = action::launch, .ns = 500 * us});
        const bool blocks = copy == how::in_the_call;
        all.push_back({.what = blocks ? action::blocking_copy : action::copy, .ns = 400 * us, .bytes = 16U << 20});
        if (copy == how::in_the_next_call) all.push_back({action::wait});
        all.push_back({.what = action::push, .name = "prepare"});
        all.push_back({.what = action::compute, .ns = host_ns});
        all.push_back({action::pop});
    }
    all.push_back({action::step});
    return {all};
}

std::vector<std::string> rules_of(how copy, std::int64_t host_ns) {
    simulation run(steps_with(copy, host_ns));
    const timeline data = run.capture.build();
    std::vector<std::string> out;
    for (const finding& each : diagnose(data, attribute(data)).findings) out.push_back(each.rule);
    return out;
}

// The host's work after the copy is what the GPU waits for: without the wait, it runs beside the kernels.
TEST(BlockingCopies, AreOneFindingWhereTheHostHasOtherWork) {
    EXPECT_THAT(rules_of(how::in_the_call, 1'000 * us), ElementsAre("blocking_copies", "host_code"));
    EXPECT_THAT(rules_of(how::in_the_next_call, 1'000 * us), ElementsAre("blocking_copies", "host_code"));
}

// The next kernels are there at once. What the wait costs is too little for a finding, but the copy's time is not.
TEST(BlockingCopies, AreAnOverlapWhereTheHostHasNone) {
    EXPECT_THAT(rules_of(how::in_the_call, 0), ElementsAre("copy_overlap"));
    EXPECT_THAT(rules_of(how::asynchronous, 1'000 * us), ElementsAre("copy_overlap"));
}

}  // namespace
}  // namespace prof::diagnose_test
