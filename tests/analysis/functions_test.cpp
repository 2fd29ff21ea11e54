// SPDX-License-Identifier: Apache-2.0
// Samples of perf in ranges, counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/tables.hpp"
#include "report/makers.hpp"
#include "support/capture_builder.hpp"
#include "timeline/perf_samples.hpp"

namespace prof::functions_test {
namespace {

using lines = std::vector<std::string>;

// CLOCK_MONOTONIC is 5 s behind the capture's clock, which is twice as fast from its second reading on.
struct FunctionsReport : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("python");
    perf_samples samples{.functions = {{"eval", "python"}, {"copy", "libc"}}};

    FunctionsReport() {
        const auto at = [](std::uint64_t ticks, std::uint64_t monotonic_ns) {
            return clock_snapshot{
                .ticks = ticks, .monotonic_ns = monotonic_ns, .realtime_ns = ticks, .cupti_ns = ticks};
        };
        capture.parts().clocks = {at(5'000'000'000, 1'000), at(5'000'100'000, 101'000), at(5'000'300'000, 201'000)};
        const auto push = [&](const char* name, std::uint64_t ns) { main.push(5'000'000'000 + ns, name); };
        push("forward", 10'000);
        push("attn", 20'000);
        main.pop(5'000'040'000);
        main.pop(5'000'090'000);
        push("backward", 120'000);
        main.pop(5'000'160'000);
    }
    void sample(std::uint32_t tid, std::int64_t monotonic_ns, std::uint32_t function) {
        samples.samples.push_back({tid, monotonic_ns, function});
    }
    table report() const { return functions_report({.data = capture.build(), .samples = &samples}); }
};

TEST_F(FunctionsReport, CountsASampleForEachRangeAround) {
    const std::uint32_t tid = capture.build().threads[0].tid;
    sample(tid, 31'000, 0);  // in attn
    sample(tid, 61'000, 1);  // in forward
    sample(tid, 62'000, 1);
    sample(tid, 121'000, 0);      // at 140,000 of the capture's clock, in backward
    sample(tid, 171'000, 0);      // at 240,000, in none
    sample(tid + 77, 31'000, 0);  // of another program
    const table found = report();
    EXPECT_EQ(rows_of(found, {"range", "function", "file", "samples", "range_samples"}),
              (lines{"(all) eval python 3 5", "(all) copy libc 2 5", "forward copy libc 2 3", "forward eval python 1 3",
                     "(no range) eval python 1 1", "backward eval python 1 1", "forward/attn eval python 1 1"}));
    ASSERT_EQ(found.notes.size(), 1U);
    EXPECT_EQ(found.notes[0], "1 of 6 samples are of threads that the capture does not have");
}

TEST_F(FunctionsReport, SaysThatNoneFits) {
    sample(capture.build().threads[0].tid, 7'000'000'000'000, 0);
    const table found = report();
    EXPECT_TRUE(found.rows.empty());
    EXPECT_THAT(found.notes, testing::ElementsAre(testing::HasSubstr("-k CLOCK_MONOTONIC")));
}

TEST_F(FunctionsReport, NeedsTheClock) {
    capture.parts().clocks = {{}};
    EXPECT_THAT(report().instead, testing::HasSubstr("does not have the clock"));
}

}  // namespace
}  // namespace prof::functions_test
