// SPDX-License-Identifier: Apache-2.0
#include "base/outcome.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace prof::outcome_test {
namespace {

TEST(Outcome, IsOkWithoutAMessageByDefault) {
    const outcome none;
    EXPECT_TRUE(none.ok());
    EXPECT_EQ(none.code(), outcome_code::ok);
    EXPECT_EQ(none.message(), "");
}

TEST(Outcome, CarriesItsMessageAndCode) {
    const outcome refused = outcome::wrong_state("nothing is recorded; call prof_start first");
    EXPECT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), outcome_code::wrong_state);
    EXPECT_EQ(refused.message(), "nothing is recorded; call prof_start first");
    EXPECT_EQ(outcome::failed("no").code(), outcome_code::failed);
    EXPECT_EQ(outcome::failed("moved out").message(), "moved out");
}

TEST(Result, IsAValueOrAFailure) {
    result<std::unique_ptr<int>> made = std::make_unique<int>(7);
    ASSERT_TRUE(made.ok());
    EXPECT_TRUE(made.failure().ok());
    EXPECT_EQ(*std::move(made).value(), 7) << "a value that cannot be copied is moved out";

    const result<std::string> none = outcome::failed("no name");
    EXPECT_FALSE(none.ok());
    EXPECT_EQ(none.failure().message(), "no name");
}

}  // namespace
}  // namespace prof::outcome_test
