// SPDX-License-Identifier: Apache-2.0
// What runs beside computing takes its time there: no step is shorter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test::beside_limits {
namespace {

// A copy of 3 ms and a kernel of 1 ms in each step, at the end of which the host waits.
struct copying {
    explicit copying(std::uint32_t stream_of_copies) : run({program(stream_of_copies)}) {
        const timeline data = run.capture.build();
        of = diagnose(data, attribute(data));
        step_ns = run.steps_ns[2] - run.steps_ns[1];
    }
    static code program(std::uint32_t stream_of_copies) {
        code all;
        for (int i = 0; i <= 20; ++i) {
            all.push_back({action::step});
            all.push_back({.what = action::copy, .ns = 3'000 * us, .stream = stream_of_copies});
            all.push_back({.what = action::launch, .ns = 1'000 * us});
            all.push_back({action::wait_all});
        }
        all.push_back({action::step});
        return all;
    }
    double gain_of_overlap() const {
        const auto found = std::find_if(of.findings.begin(), of.findings.end(),
                                        [](const finding& each) { return each.rule == "copy_overlap"; });
        return found == of.findings.end() ? 0 : of.per_step(found->gain_ns);
    }

    simulation run;
    diagnosis of;
    std::int64_t step_ns = 0;
};

TEST(BesideLimits, CopiesTakeTheirTimeBesideComputing) {
    const copying in_one_stream(0);
    EXPECT_GT(in_one_stream.step_ns, 4'000 * us);
    EXPECT_NEAR(in_one_stream.gain_of_overlap(), static_cast<double>(in_one_stream.step_ns - 3'000 * us), 1);
    EXPECT_LE(in_one_stream.of.per_step(in_one_stream.of.together_ns),
              static_cast<double>(in_one_stream.step_ns - 3'000 * us) + 1);
}

TEST(BesideLimits, CopiesBesideComputingGainNothing) {
    const copying in_two_streams(1);
    EXPECT_LT(in_two_streams.step_ns, 3'100 * us);
    EXPECT_EQ(in_two_streams.gain_of_overlap(), 0);
}

}  // namespace
}  // namespace prof::diagnose_test::beside_limits
