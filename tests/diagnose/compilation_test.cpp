// SPDX-License-Identifier: Apache-2.0
// Compilation within steps, as torch.compile's phase shows it. The expected gain is that of simulated_program.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Twelve steps; the compiler runs for `compile`, if that is not empty.
std::vector<code> steps_with(const code& compile) {
    code all;
    for (int i = 0; i < 13; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = "forward"});
        all.insert(all.end(), compile.begin(), compile.end());
        for (int kernel = 0; kernel < 4; ++kernel) all.push_back({.what = action::launch, .ns = 400 * us});
        all.push_back({action::pop});
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    return {all};
}

diagnosis of(simulation& run) {
    const timeline data = run.capture.build();
    return diagnose(data, attribute(data));
}

std::int64_t length_of(const simulation& run) { return run.steps_ns.back() - run.steps_ns[1]; }

// It tries kernels: launches and waits of its own are no findings beside it.
code compilation() {
    code out = {{.what = action::push, .name = "compilation"},
                {.what = action::push, .name = "Net.forward (net.py)"},
                {.what = action::compute, .ns = 4'000 * us}};
    for (int i = 0; i < 40; ++i) {
        out.push_back({.what = action::compute, .ns = 40 * us});
        out.push_back({.what = action::launch, .ns = 1 * us});
        out.push_back({action::wait});
    }
    out.push_back({action::pop});
    out.push_back({action::pop});
    return out;
}

TEST(CompilationRule, IsOneFindingWithAllThatTheCompilerDoes) {
    simulation slow(steps_with(compilation()));
    slow.capture.parts().properties["text.torch_recompilations"] =
        "Net.forward (net.py)\t12\t9\tsize of x, 3 and not 4\n"
        "Net.forward (net.py)\t12\t1\tsize of x, 3 and not 5\n"
        "Net\t0\tmany\tdamaged\n"
        "loss (net.py)\t30\t11\tanother type";
    const diagnosis found = of(slow);
    std::vector<std::string> titles;
    for (const finding& each : found.findings) titles.push_back(each.title);
    ASSERT_THAT(titles, ElementsAre("a compiler runs in the steps, in forward/compilation/Net.forward (net.py)",
                                    HasSubstr("outside ranges")));  // the wait at the end of each step
    const finding& only = found.findings.front();
    EXPECT_EQ(only.rule, "compilation");
    EXPECT_EQ(only.steps, 12U);
    const simulation fast(steps_with({}));
    const double truth_ns = static_cast<double>(length_of(slow) - length_of(fast));
    EXPECT_NEAR(static_cast<double>(only.gain_ns), truth_ns, 0.02 * truth_ns);
    ASSERT_GE(only.advice.size(), 2U);
    EXPECT_THAT(only.advice[0], HasSubstr("loss (net.py), line 30, again 11 times, because of another type"));
    EXPECT_THAT(only.advice[1],
                HasSubstr("Net.forward (net.py), line 12, again 10 times, because of size of x, 3 and not 4"));
    EXPECT_THAT(only.advice, Not(Contains(HasSubstr("damaged"))));
}

TEST(CompilationRule, FindsNothingWhereNothingIsCompiled) {
    simulation fast(steps_with({}));
    const diagnosis found = of(fast);
    EXPECT_TRUE(found.findings.empty());
    EXPECT_THAT(found.looked, Contains("compilation"));
}

}  // namespace
}  // namespace prof::diagnose_test
