// SPDX-License-Identifier: Apache-2.0
// A number for what identifies a thing on all ranks of a job, the same in every process. Not for secrets. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace prof {

class join_key {
public:
    join_key& add(std::uint64_t value) noexcept {
        // The finalizer of MurmurHash3 spreads every bit of the input over all of the output.
        value_ = (value_ ^ value) * 0xFF51AFD7ED558CCDULL;
        value_ ^= value_ >> 33;
        value_ *= 0xC4CEB9FE1A85EC53ULL;
        value_ ^= value_ >> 33;
        return *this;
    }
    join_key& add(std::string_view text) noexcept {
        add(text.size());
        for (const char each : text) add(static_cast<unsigned char>(each));
        return *this;
    }
    std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace prof
