// SPDX-License-Identifier: Apache-2.0
// A program with a range of a new name for each request: it stays code in ranges when their number exceeds the limit of
// places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::Contains;

// Letters, since numbers are folded.
std::string name_of(int request) {
    std::string out = "request_";
    for (int i = 0; i < 4; ++i, request /= 20) out += static_cast<char>('b' + request % 20);
    return out;
}

TEST(ManyPlaces, AreOtherRangesAndStayHostCode) {
    constexpr int steps = 90;
    code all;
    int request = 0;
    for (int step = 0; step <= steps; ++step) {
        all.push_back({action::step});
        for (int i = 0; i < 100; ++i) {
            all.push_back({.what = action::push, .name = name_of(request++)});
            all.push_back({.what = action::compute, .ns = 150 * us});
            all.push_back({.what = action::launch, .ns = 50 * us});
            all.push_back({action::pop});
        }
        all.push_back({.what = action::push, .name = step < steps / 2 ? "early" : "enumerate(DataLoader)"});
        all.push_back({.what = action::compute, .ns = 3'000 * us});
        all.push_back({action::pop});
    }
    all.push_back({action::step});
    simulation run({all});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    std::vector<std::string> rules;
    for (const finding& each : of.findings) {
        rules.push_back(each.rule);
        for (const finding_part& part : each.parts) EXPECT_NE(part.what, "outside ranges") << each.rule;
    }
    ASSERT_THAT(rules, Contains("host_code"));
    EXPECT_THAT(rules, Contains("data_loader"));  // although it comes after the limit
    bool has_others = false;
    std::int64_t host_code_ns = 0;
    for (const finding& each : of.findings) {
        if (each.rule == "host_code") host_code_ns += each.cost_ns;
        for (const finding_part& part : each.parts) has_others |= part.what == "in other ranges";
    }
    EXPECT_TRUE(has_others);
    EXPECT_GE(host_code_ns, steps * 100 * 150 * us);
}

}  // namespace
}  // namespace prof::diagnose_test
