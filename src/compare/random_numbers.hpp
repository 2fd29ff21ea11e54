// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and in every run, so that a comparison of the same captures always
// prints the same. (The distributions of the standard library differ between implementations.)
#pragma once

#include <cstdint>

namespace prof {

// SplitMix64 (Steele, Lea and Flood 2014).
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t out = state_;
        out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9;
        out = (out ^ (out >> 27)) * 0x94d049bb133111eb;
        return out ^ (out >> 31);
    }
    // Below `limit`, which is far below 2^64: the bias is below limit / 2^64. REQUIRES: limit > 0.
    std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

private:
    std::uint64_t state_;
};

}  // namespace prof
