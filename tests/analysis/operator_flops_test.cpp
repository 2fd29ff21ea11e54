// SPDX-License-Identifier: Apache-2.0
// The operations of each operator, worked by hand. tests/python/flop_counter_test.py compares whole models with
// PyTorch.
#include "analysis/mfu/operator_flops.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace prof::operator_flops_test {
namespace {

using dims = std::vector<std::int64_t>;

operator_argument tensor(dims of, std::string type = "float") {
    return {.type = std::move(type), .dims = std::move(of)};
}
operator_argument value(std::string text) { return {.type = "Scalar", .value = std::move(text)}; }

std::optional<double> flops(const char* name, std::vector<operator_argument> list) {
    const auto op = matrix_operator_of(name);
    EXPECT_TRUE(op) << name;
    return op ? flops_of({*op, std::move(list)}) : std::nullopt;
}

TEST(OperatorFlops, OfProducts) {
    EXPECT_EQ(flops("aten::mm", {tensor({2, 3}), tensor({3, 5})}), 60);  // 2·5 sums of 3 products
    EXPECT_EQ(flops("aten::addmm", {tensor({5}), tensor({2, 3}), tensor({3, 5})}), 60);
    EXPECT_EQ(flops("aten::bmm", {tensor({7, 2, 3}), tensor({7, 3, 5})}), 420);
    EXPECT_EQ(flops("aten::baddbmm", {tensor({7, 2, 5}), tensor({7, 2, 3}), tensor({7, 3, 5})}), 420);
    EXPECT_EQ(flops("aten::mv", {tensor({2, 3}), tensor({3})}), 12);
    EXPECT_EQ(flops("aten::addmv", {tensor({2}), tensor({2, 3}), tensor({3})}), 12);
    EXPECT_EQ(flops("aten::_scaled_mm", {tensor({2, 3}), tensor({3, 5}), tensor({}), tensor({})}), 60);
    EXPECT_EQ(flops("aten::mm", {tensor({0, 3}), tensor({3, 5})}), 0);
    EXPECT_EQ(flops("aten::mm", {tensor({1 << 20, 1 << 20}), tensor({1 << 20, 1 << 20})}), 0x1p61);
}

// An input of 5 × 7 and a filter of 3 × 3 with the padding 1 and the stride 2: floor((5 + 2 − 2 − 1) / 2) + 1 = 3 rows
// and floor((7 + 2 − 2 − 1) / 2) + 1 = 4 columns, in each 3·3 products for each pair of 2 inputs and 4 outputs.
TEST(OperatorFlops, OfConvolutions) {
    const double forward = 2.0 * 6 * (3 * 4) * (3 * 3) * (2 * 4);
    const std::vector<operator_argument> plain = {tensor({6, 2, 5, 7}), tensor({4, 2, 3, 3}), tensor({4}),
                                                  value("[2, 2]"),      value("[1, 1]"),      value("[1, 1]"),
                                                  value("False"),       value("[0, 0]"),      value("1")};
    EXPECT_EQ(flops("aten::convolution", plain), forward);
    std::vector<operator_argument> short_lists = plain;
    short_lists[3] = value("[2]");
    EXPECT_EQ(flops("aten::_convolution", short_lists), forward);
    std::vector<operator_argument> dilated = plain;
    dilated[5] = value("[1, 3]");  // the filter spans 7 columns, so floor((7 + 2 − 6 − 1) / 2) + 1 = 2 are left
    EXPECT_EQ(flops("aten::convolution", dilated), forward / 2);
    std::vector<operator_argument> grouped = plain;
    grouped[1] = tensor({4, 1, 3, 3});
    EXPECT_EQ(flops("aten::convolution", grouped), forward / 2);
    // From 3 × 4 places, each to 3 × 3.
    std::vector<operator_argument> transposed = plain;
    transposed[0] = tensor({6, 4, 3, 4});
    transposed[6] = value("True");
    EXPECT_EQ(flops("aten::convolution", transposed), forward);

    const auto backward = [](std::vector<operator_argument> of, dims gradient, const char* mask) {
        of.insert(of.begin(), tensor(std::move(gradient)));
        of.push_back(value(mask));
        return flops("aten::convolution_backward", std::move(of));
    };
    EXPECT_EQ(backward(plain, {6, 4, 3, 4}, "[True, True, True]"), 2 * forward);
    EXPECT_EQ(backward(plain, {6, 4, 3, 4}, "[False, True, False]"), forward);
    EXPECT_EQ(backward(plain, {6, 4, 3, 4}, "[False, False, True]"), 0);
    EXPECT_EQ(backward(grouped, {6, 4, 3, 4}, "[True, True, False]"), forward);
    EXPECT_EQ(backward(transposed, {6, 2, 5, 7}, "[True, True, False]"), 2 * forward);
    EXPECT_EQ(backward(plain, {6, 4, 3, 4}, ""), std::nullopt);
}

// 2 · 3 heads; 5 places look at 7; 4 features of queries and keys, 6 of values.
TEST(OperatorFlops, OfAttention) {
    const operator_argument query = tensor({2, 3, 5, 4});
    const operator_argument key = tensor({2, 3, 7, 4});
    const operator_argument values = tensor({2, 3, 7, 6});
    const double scores = 2 * 3 * 5 * 7;
    EXPECT_EQ(flops("aten::_scaled_dot_product_flash_attention", {query, key, values}), 2 * scores * (4 + 6));
    // Scores, their gradient (6), values' (6), queries' and keys'.
    EXPECT_EQ(flops("aten::_scaled_dot_product_cudnn_attention_backward", {tensor({2, 3, 5, 6}), query, key, values}),
              2 * scores * (4 + 6 + 6 + 4 + 4));
    const std::vector<operator_argument> by_place = {tensor({2, 5, 3, 4}), tensor({2, 7, 3, 4}), tensor({2, 7, 3, 6})};
    EXPECT_EQ(flops("aten::_flash_attention_forward", by_place), 2 * scores * (4 + 6));
    // A head of keys and values for several of the queries'.
    EXPECT_EQ(flops("aten::_scaled_dot_product_efficient_attention",
                    {tensor({2, 6, 5, 4}), tensor({2, 3, 7, 4}), tensor({2, 3, 7, 6})}),
              2 * 2 * scores * (4 + 6));
    std::vector<operator_argument> several_lengths = by_place;
    several_lengths.push_back(tensor({3}, "int"));
    EXPECT_EQ(flops("aten::_flash_attention_forward", several_lengths), std::nullopt);
}

TEST(OperatorFlops, NoneRatherThanWrongOnes) {
    EXPECT_EQ(flops("aten::mm", {}), std::nullopt);
    EXPECT_EQ(flops("aten::mm", {tensor({2, 3})}), std::nullopt);
    EXPECT_EQ(flops("aten::mm", {tensor({2, 3}), tensor({4, 5})}), std::nullopt);
    EXPECT_EQ(flops("aten::mm", {tensor({-1}), tensor({3, 5})}), std::nullopt);
    EXPECT_EQ(flops("aten::mm", {tensor({2, 3}, "c10::complex<float>"), tensor({3, 5}, "c10::complex<float>")}),
              std::nullopt);
    EXPECT_EQ(flops("aten::bmm", {tensor({7, 2, 3}), tensor({6, 3, 5})}), std::nullopt);
    // Without the other arguments, as in traces before PyTorch 2.1.
    EXPECT_EQ(flops("aten::convolution", {tensor({6, 2, 5, 7}), tensor({4, 2, 3, 3})}), std::nullopt);
    const auto odd = [](const char* stride, const char* padding, dims weight) {
        return flops("aten::convolution", {tensor({6, 2, 5, 7}), tensor(std::move(weight)), tensor({4}), value(stride),
                                           value(padding), value("[1, 1]"), value("False")});
    };
    EXPECT_EQ(odd("[0, 1]", "[0, 0]", {4, 2, 3, 3}), std::nullopt);
    EXPECT_EQ(odd("[1, 1]", "[0, 9223372036854775807]", {4, 2, 3, 3}), std::nullopt);
    EXPECT_EQ(odd("[1, 1]", "[-4, 0]", {4, 2, 3, 3}), std::nullopt);
    EXPECT_EQ(odd("[1, 1]", "[0, 0]", {4, 2, 3}), std::nullopt);
    EXPECT_EQ(odd("[x, 1]", "[0, 0]", {4, 2, 3, 3}), std::nullopt);
    EXPECT_EQ(odd("1", "[0, 0]", {4, 2, 3, 3}), std::nullopt);
    for (const char* const other :
         {"aten::linear", "aten::matmul", "aten::scaled_dot_product_attention", "mm", "aten::"}) {
        EXPECT_EQ(matrix_operator_of(other), std::nullopt) << other;
    }
}

TEST(OperatorFlops, TypeIsThatOfWhatIsMultiplied) {
    const auto type = [](const char* name, std::vector<std::string> types) {
        operator_arguments of{.op = matrix_operator_of(name).value_or(matrix_operator::mm)};
        for (std::string& one : types) of.list.push_back(tensor({2, 2}, std::move(one)));
        return type_of_operands(of);
    };
    EXPECT_EQ(type("aten::mm", {"c10::BFloat16", "c10::BFloat16"}), matrix_type::bf16);
    EXPECT_EQ(type("aten::addmm", {"float", "c10::Half", "c10::Half"}), matrix_type::fp16);
    EXPECT_EQ(type("aten::convolution_backward", {"float", "double", "double"}), matrix_type::fp64);
    EXPECT_EQ(type("aten::_scaled_mm", {"c10::Float8_e4m3fn", "c10::Float8_e5m2"}), matrix_type::fp8);
    EXPECT_EQ(type("aten::_int_mm", {"signed char", "signed char"}), matrix_type::int8);
    EXPECT_EQ(type("aten::mm", {"float", "c10::Half"}), matrix_type::unknown);
    EXPECT_EQ(type("aten::mm", {"long int", "long int"}), matrix_type::unknown);
    EXPECT_EQ(type("aten::mm", {"float"}), matrix_type::unknown);
}

}  // namespace
}  // namespace prof::operator_flops_test
