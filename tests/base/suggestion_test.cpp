// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prof::suggestion_test {
namespace {

const std::vector<std::string> names = {"gpu-projection", "kernels", "copies", "cuda_gpu_kern_sum", "cuda_api_sum"};

TEST(Suggestion, IsTheNameWithFewestEdits) {
    EXPECT_EQ(nearest_name("kernel", names), "kernels");    // a letter is missing
    EXPECT_EQ(nearest_name("kernelss", names), "kernels");  // one is extra
    EXPECT_EQ(nearest_name("copied", names), "copies");     // one is wrong
    EXPECT_EQ(nearest_name("kerenls", names), "kernels");   // two are exchanged
    EXPECT_EQ(nearest_name("gpu_projektion", names), "gpu-projection");
    EXPECT_EQ(nearest_name("CUDA-API-SUMM", names), "cuda_api_sum");
}

TEST(Suggestion, IsTheFirstNameThatContainsTheWord) {
    EXPECT_EQ(nearest_name("projection", names), "gpu-projection");
    EXPECT_EQ(nearest_name("kern", names), "kernels");
    EXPECT_EQ(nearest_name("ke", names), "");  // too short
}

TEST(Suggestion, IsMissingWhereNoNameIsNear) {
    EXPECT_EQ(nearest_name("steps", names), "");
    EXPECT_EQ(nearest_name("", names), "");
    EXPECT_EQ(nearest_name("x", {"y"}), "");
    EXPECT_EQ(nearest_name(std::string(100'000, 'k'), names), "");
    EXPECT_EQ(nearest_name("kernel", {}), "");
}

TEST(Suggestion, NamesAreTheSameInEitherCaseAndWithEitherDash) {
    EXPECT_TRUE(is_same_name("GPU_Projection", "gpu-projection"));
    EXPECT_FALSE(is_same_name("gpu projection", "gpu-projection"));
    EXPECT_FALSE(is_same_name("gpu-projection", "gpu-projections"));
}

TEST(Suggestion, StandsInPlaceOfTheList) {
    EXPECT_EQ(unknown_name("report", "kernel", names), "there is no report \"kernel\"; did you mean kernels?");
    EXPECT_EQ(unknown_name("sort", "x", {"y", "z"}), "there is no sort \"x\"; there are y, z");
}

TEST(Suggestion, StandsInTheRefusalOfAValue) {
    EXPECT_EQ(refusal("jsn", "csv or json", {"csv", "json"}),
              "\"jsn\" is not accepted (did you mean json?); it takes csv or json");
    EXPECT_EQ(refusal("xml", "csv or json", {"csv", "json"}), "\"xml\" is not accepted; it takes csv or json");
}

TEST(Suggestion, QuotedWordsAreShortAndWithoutControlCharacters) {
    EXPECT_EQ(in_quotes("a\nb\x1B[31m\xFF"), "\"a\\x0Ab\\x1B[31m\\xFF\"");
    EXPECT_EQ(in_quotes(std::string(1000, 'x')).size(), 80 + 2 + std::string("…").size() - 1);
}

}  // namespace
}  // namespace prof::suggestion_test
