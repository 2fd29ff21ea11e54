// SPDX-License-Identifier: Apache-2.0
// Many small copies to the host: with a wait behind each they are synchronization, however many there are; with one
// wait behind all they are one copy in pieces. A copy and the wait behind it count once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "diagnose/diagnosis.hpp"
#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t ten_steps = 10;  // after one of warm-up

// Each step has `count` pieces of work: a kernel, a copy of 4 bytes and, with `waits`, a wait for it.
diagnosis of_pieces(int count, action copy, bool waits) {
    code all;
    for (std::uint64_t i = 0; i <= ten_steps; ++i) {
        all.push_back({action::step});
        all.push_back({.what = action::push, .name = "metrics"});
        for (int piece = 0; piece < count; ++piece) {
            if (waits) all.push_back({.what = action::launch, .ns = 60 * us});
            all.push_back({.what = copy, .ns = 20 * us, .bytes = 4});
            if (waits) all.push_back({action::wait});
        }
        all.push_back({action::pop});
        all.push_back({.what = action::compute, .ns = 80 * us});  // what follows is no wait for the last piece
        all.push_back({action::wait});
    }
    all.push_back({action::step});
    simulation run({all});
    const timeline data = run.capture.build();
    return diagnose(data, attribute(data));
}

TEST(AwaitedCopies, ToTheHostAreSynchronizationHoweverManyThereAre) {
    for (const int count : {7, 8, 15, 16, 40}) {
        const diagnosis of = of_pieces(count, action::copy_back_async, true);
        ASSERT_FALSE(of.findings.empty()) << count;
        const finding& first = of.findings.front();
        EXPECT_EQ(first.rule, "synchronization") << count;
        EXPECT_EQ(first.parts.front().count, ten_steps * static_cast<std::uint64_t>(count));
        for (const finding& each : of.findings) EXPECT_NE(each.rule, "small_copies") << count;
    }
}

TEST(AwaitedCopies, ToTheHostWithOneWaitBehindAllAreInPieces) {
    const diagnosis of = of_pieces(64, action::copy_back_async, false);
    ASSERT_FALSE(of.findings.empty());
    EXPECT_EQ(of.findings.front().rule, "small_copies");
    EXPECT_THAT(of.findings.front().title, HasSubstr("64 copies of 4 bytes a step"));
}

TEST(AwaitedCopies, ToTheGpuAreInPiecesFromSixteenOn) {
    for (const int count : {15, 16}) {
        const diagnosis of = of_pieces(count, action::copy, true);
        ASSERT_FALSE(of.findings.empty());
        bool is_in_pieces = false;
        for (const finding& each : of.findings) is_in_pieces |= each.rule == "small_copies";
        EXPECT_EQ(is_in_pieces, count == 16);
        if (!is_in_pieces) continue;
        EXPECT_THAT(of.findings.front().title, HasSubstr("16 copies of 4 bytes a step"));
    }
}

}  // namespace
}  // namespace prof::diagnose_test
