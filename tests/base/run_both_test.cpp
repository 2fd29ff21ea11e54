// SPDX-License-Identifier: Apache-2.0
#include "base/run_both.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace prof::run_both_test {
namespace {

TEST(RunBoth, HasTheResultsOfBothOnOneThreadAndOnTwo) {
    for (const bool on_two : {false, true}) {
        std::thread::id first;
        std::thread::id second;
        run_both(
            on_two, [&] { first = std::this_thread::get_id(); }, [&] { second = std::this_thread::get_id(); });
        EXPECT_EQ(first, std::this_thread::get_id());
        EXPECT_NE(second, std::thread::id());
        EXPECT_EQ(first != second, on_two);
    }
}

TEST(RunBoth, ThrowsOnWhatAFunctionThrows) {
    const auto thrown = [](bool on_two, const char* one, const char* other) -> std::string {
        const auto throws = [](const char* what) {
            if (what != nullptr) throw std::runtime_error(what);
        };
        try {
            run_both(
                on_two, [&] { throws(one); }, [&] { throws(other); });
        } catch (const std::runtime_error& failure) {
            return failure.what();
        }
        return "";
    };
    for (const bool on_two : {false, true}) {
        EXPECT_EQ(thrown(on_two, nullptr, nullptr), "");
        EXPECT_EQ(thrown(on_two, "one", nullptr), "one");
        EXPECT_EQ(thrown(on_two, nullptr, "other"), "other");
        EXPECT_EQ(thrown(on_two, "one", "other"), "one");
    }
}

}  // namespace
}  // namespace prof::run_both_test
