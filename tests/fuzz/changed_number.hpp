// SPDX-License-Identifier: Apache-2.0
// A mutator for what is mostly zero: the words that are not are its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace prof::test {

// One of the numbers becomes a little larger or smaller, or another's.
inline void change_number(std::uint8_t* data, std::size_t size, std::minstd_rand& random) {
    std::vector<std::size_t> numbers;
    std::uint32_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= size; at += sizeof word) {
        std::memcpy(&word, data + at, sizeof word);
        if (word != 0) numbers.push_back(at);
    }
    if (numbers.empty()) return;
    const std::size_t at = numbers[random() % numbers.size()];
    const bool takes_others = random() % 4 == 0;
    std::memcpy(&word, data + (takes_others ? numbers[random() % numbers.size()] : at), sizeof word);
    if (!takes_others) word += static_cast<std::uint32_t>(random() % 33) - 16;
    std::memcpy(data + at, &word, sizeof word);
}

}  // namespace prof::test
