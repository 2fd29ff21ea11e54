// SPDX-License-Identifier: Apache-2.0
// What a line of the program would gain, against the program without what is on the line.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test::gain_by_line {
namespace {

constexpr int steps = 40;
constexpr std::uint32_t short_wait = 10, long_wait = 20, slow_code = 30, other_code = 40;

// Two waits and two stretches of host code in each step, all of them outside ranges. `without`: a line that is not
// there.
code program(std::uint32_t without = 0) {
    code out;
    for (int i = 0; i < steps; ++i) {
        out.push_back({action::step});
        out.push_back({action::launch, 1'000 * us});
        if (without != short_wait) out.push_back({.what = action::wait, .line = short_wait});
        if (without != slow_code) out.push_back({action::compute, 700 * us});
        out.push_back({.what = action::launch, .ns = 2'000 * us, .line = without == slow_code ? 0 : slow_code});
        if (without != long_wait) out.push_back({.what = action::wait, .line = long_wait});
        if (without != other_code) out.push_back({action::compute, 300 * us});
        out.push_back({.what = action::launch, .ns = 100 * us, .line = without == other_code ? 0 : other_code});
    }
    out.push_back({action::step});
    return out;
}

double step_ns(const code& of) {
    const simulation run({of});
    return static_cast<double>(run.steps_ns.back() - run.steps_ns.front()) / steps;
}

double gain_at(const diagnosis& of, std::uint32_t line, const std::string& cause) {
    for (const line_cost& each : of.lines) {
        if (each.line == "program.py:" + std::to_string(line) && each.cause == cause) return of.per_step(each.gain_ns);
    }
    ADD_FAILURE() << "no line " << line << " of " << cause;
    return 0;
}

TEST(GainByLine, IsThatOfTheProgramWithoutIt) {
    const simulation run({program()});
    const timeline data = run.capture.build();
    const diagnosis of = diagnose(data, attribute(data));
    const double all_ns = step_ns(program());
    for (const auto& [line, cause] : {std::pair(short_wait, "waiting"), std::pair(long_wait, "waiting"),
                                      std::pair(slow_code, "host code"), std::pair(other_code, "host code")}) {
        const double truth_ns = all_ns - step_ns(program(line));
        EXPECT_NEAR(gain_at(of, line, cause), truth_ns, 0.05 * truth_ns + 30 * us) << line;
    }
    // The findings are those of both lines.
    EXPECT_GT(std::abs(gain_at(of, slow_code, "host code") - gain_at(of, other_code, "host code")), 300 * us);
}

}  // namespace
}  // namespace prof::diagnose_test::gain_by_line
