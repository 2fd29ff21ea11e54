// SPDX-License-Identifier: Apache-2.0
// The order of findings, in every format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/finding.hpp"

namespace prof::diagnose_test::sorted {
namespace {

using testing::ElementsAre;

finding priced(std::string rule, std::int64_t gain_ns, confidence trust = confidence::high) {
    finding out;
    out.rule = std::move(rule);
    out.gain_ns = gain_ns;
    out.trust = trust;
    return out;
}

// Of a step of 1,000.
std::vector<std::string> order_of(std::vector<finding> findings) {
    diagnosis of;
    of.steps = 1;
    of.step_ns = 1'000;
    of.findings = std::move(findings);
    sort_findings(of);
    std::vector<std::string> out;
    for (const finding& each : of.findings) out.push_back(each.rule);
    return out;
}

TEST(SortFindings, HasSureOnesFirstAndTheDearestOfTheOthersThird) {
    finding changes = priced("changes", 60);
    changes.changes_results = true;
    const finding rough = priced("rough", 400, confidence::low);
    EXPECT_THAT(order_of({rough, priced("a", 10), priced("b", 30), changes, priced("c", 20)}),
                ElementsAre("b", "c", "rough", "a", "changes"));
    EXPECT_THAT(order_of({rough, priced("a", 10)}), ElementsAre("a", "rough"));
    EXPECT_THAT(order_of({rough, changes}), ElementsAre("rough", "changes"));
    EXPECT_THAT(order_of({}), ElementsAre());
}

TEST(SortFindings, LeavesASmallRoughOneAtTheEnd) {
    const finding rough = priced("rough", 49, confidence::low);
    EXPECT_THAT(order_of({rough, priced("a", 10), priced("b", 30), priced("c", 20)}),
                ElementsAre("b", "c", "a", "rough"));
}

}  // namespace
}  // namespace prof::diagnose_test::sorted
