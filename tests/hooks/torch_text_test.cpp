// SPDX-License-Identifier: Apache-2.0
// Removing PyTorch's suffixes from names, compared with a regular expression, on misleading names.
#include "hooks/nvtx/torch_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <regex>
#include <string>

namespace prof::torch_text_test {
namespace {

// The number if it is written as PyTorch writes it and no larger than `most` (both without leading zeros).
bool fits(const std::string& digits, const std::string& most) {
    return digits.size() != most.size() ? digits.size() < most.size() : digits <= most;
}

struct expected_split {
    std::string name;
    std::string op_id;     // "": none
    std::string sequence;  // "": none
};

expected_split by_expression(const std::string& text) {
    static const std::regex with_op_id("([\\s\\S]*), op_id = ([1-9][0-9]*)");
    static const std::regex with_sequence("([\\s\\S]*), seq = (0|[1-9][0-9]*)");
    std::smatch found;
    if (!std::regex_match(text, found, with_op_id) || !fits(found[2], "18446744073709551615")) return {text, "", ""};
    expected_split out{found[1], found[2], ""};
    const std::string named = out.name;
    if (std::regex_match(named, found, with_sequence) && fits(found[2], "9223372036854775807")) {
        out.name = found[1];
        out.sequence = found[2];
    }
    return out;
}

std::string joined(const torch_text& split) {
    std::string text(split.name);
    if (split.sequence >= 0) text += ", seq = " + std::to_string(split.sequence);
    if (split.op_id != 0) text += ", op_id = " + std::to_string(split.op_id);
    return text;
}

void expect_as_by_expression(const std::string& text) {
    const torch_text split = split_torch_text(text);
    const expected_split expected = by_expression(text);
    EXPECT_EQ(split.name, expected.name) << text;
    EXPECT_EQ(split.op_id == 0 ? "" : std::to_string(split.op_id), expected.op_id) << text;
    EXPECT_EQ(split.sequence < 0 ? "" : std::to_string(split.sequence), expected.sequence) << text;
    EXPECT_EQ(joined(split), text);
}

TEST(TorchText, SplitsTextsOfTorch211) {
    const torch_text range = split_torch_text("Optimizer.step#AdamW.step, op_id = 128");
    EXPECT_EQ(range.name, "Optimizer.step#AdamW.step");
    EXPECT_EQ(range.op_id, 128U);
    EXPECT_EQ(range.sequence, -1);
    const torch_text node = split_torch_text("AddmmBackward0, seq = 4, op_id = 57");
    EXPECT_EQ(node.name, "AddmmBackward0");
    EXPECT_EQ(node.op_id, 57U);
    EXPECT_EQ(node.sequence, 4);
    const torch_text engine = split_torch_text("autograd::engine::evaluate_function: SumBackward0, op_id = 52");
    EXPECT_EQ(engine.name, "autograd::engine::evaluate_function: SumBackward0");
}

TEST(TorchText, LeavesOtherTextsAlone) {
    for (const char* text : {"", "forward", "forward 17", "17", "x, op_id = ", "x, op_id = 0", "x, op_id = 07",
                             "x, op_id = 18446744073709551616", "x, op_id = 5 ", "x, op_id =5", "x,op_id = 5",
                             "x, op_id = -5", "x, seq = 5", "op_id = 5", " op_id = 5"}) {
        const torch_text split = split_torch_text(text);
        EXPECT_EQ(split.name, text);
        EXPECT_EQ(split.op_id, 0U) << text;
        EXPECT_EQ(split.sequence, -1) << text;
    }
    EXPECT_EQ(split_torch_text("x, seq = 05, op_id = 5").name, "x, seq = 05");
    EXPECT_EQ(split_torch_text("x, seq = 9223372036854775808, op_id = 5").name, "x, seq = 9223372036854775808");
    EXPECT_EQ(split_torch_text("x, seq = 9223372036854775807, op_id = 18446744073709551615").name, "x");
    EXPECT_EQ(split_torch_text("x, op_id = 3, op_id = 5").name, "x, op_id = 3");
    EXPECT_EQ(split_torch_text(", op_id = 5").name, "");
}

TEST(TorchText, KeepsHostileNames) {
    constexpr std::array<std::string_view, 16> pieces = {
        ", op_id = ", ", seq = ", ", ",   "= ",       "0", "1", "18446744073709551615", "9223372036854775807", "9",
        "00",         "\n",       "\xFF", "aten::mm", " ", "-", ", sizes = [[2, 3]]"};
    std::mt19937 random{20260101};
    for (int round = 0; round < 4000; ++round) {
        std::string base;
        for (auto left = random() % 6; left != 0; --left) base += pieces[random() % pieces.size()];
        if (random() % 8 == 0) base.push_back('\0');
        expect_as_by_expression(base);
        const std::string op_id = std::to_string(1 + random() % 3 * 6148914691236517204ULL);
        expect_as_by_expression(base + ", op_id = " + op_id);

        const std::int64_t sequence = static_cast<std::int64_t>(random() % 3) * 4611686018427387903;
        const std::string text = base + ", seq = " + std::to_string(sequence) + ", op_id = " + op_id;
        const torch_text split = split_torch_text(text);
        EXPECT_EQ(split.name, base);
        EXPECT_EQ(split.sequence, sequence);
        EXPECT_EQ(std::to_string(split.op_id), op_id);
    }
}

}  // namespace
}  // namespace prof::torch_text_test
