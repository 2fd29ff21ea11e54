// SPDX-License-Identifier: Apache-2.0
// Splits the texts of PyTorch's NVTX observer. The observer appends numbers to each name, which makes every text
// unique:
//
//     forward, op_id = 17
//     aten::addmm, seq = 4, op_id = 37
//
// op_id numbers the ranges of a process from 1. seq is the number that autograd gives to the node that the operator
// will make; it is absent if there is no such node. Names with these suffixes would fill the name table, so the suffix
// is cut off and stored as numbers. A number is accepted only in its printed form (no sign, no leading zero, in range),
// so that the original text can be restored byte for byte.
//
// Called for each range while a recording is running. Scans back from the end of the text, and allocates nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace prof {

struct torch_text {
    std::string_view name;
    std::uint64_t op_id = 0;     // 0: not a text of the observer; `name` is the whole text
    std::int64_t sequence = -1;  // -1: none
};

// Removes `label` and a number from the end of `text`. Returns false, and removes nothing, if the text does not end
// like that.
inline bool take_number(std::string_view& text, std::string_view label, std::uint64_t most,
                        std::uint64_t& number) noexcept {
    std::size_t first = text.size();
    while (first != 0 && text[first - 1] >= '0' && text[first - 1] <= '9') --first;
    const std::string_view digits = text.substr(first);
    if (digits.empty() || (digits.front() == '0' && digits.size() != 1)) return false;
    const std::string_view before = text.substr(0, first);
    if (before.size() < label.size() || before.substr(before.size() - label.size()) != label) return false;
    std::uint64_t value = 0;
    for (const char c : digits) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    number = value;
    text = before.substr(0, before.size() - label.size());
    return true;
}

inline torch_text split_torch_text(std::string_view text) noexcept {
    torch_text split{text};
    std::uint64_t number = 0;
    if (!take_number(split.name, ", op_id = ", std::numeric_limits<std::uint64_t>::max(), number) || number == 0) {
        return {text};
    }
    split.op_id = number;
    if (take_number(split.name, ", seq = ", std::numeric_limits<std::int64_t>::max(), number)) {
        split.sequence = static_cast<std::int64_t>(number);
    }
    return split;
}

}  // namespace prof
