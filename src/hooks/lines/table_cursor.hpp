// SPDX-License-Identifier: Apache-2.0
// Reads the numbers of a table of DWARF one after the other. After the end, and after what cannot be read, all numbers
// are 0 and is_good() is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prof {

class table_cursor {
public:
    table_cursor(const std::uint8_t* begin, const std::uint8_t* end) noexcept : next_(begin), end_(end) {}

    const std::uint8_t* at() const noexcept { return next_; }
    bool is_good() const noexcept { return is_good_; }
    bool has_more() const noexcept { return is_good_ && next_ < end_; }
    void fail() noexcept {
        is_good_ = false;
        next_ = end_;
    }

    template <typename TNumber>
    TNumber fixed() noexcept {
        TNumber out{};
        if (static_cast<std::size_t>(end_ - next_) < sizeof out) {
            fail();
            return out;
        }
        std::memcpy(&out, next_, sizeof out);
        next_ += sizeof out;
        return out;
    }
    std::uint64_t number() noexcept {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = fixed<std::uint8_t>();
            out |= std::uint64_t{byte & 0x7FU} << shift;
            if ((byte & 0x80U) == 0) return out;
        }
        fail();
        return 0;
    }
    std::int64_t signed_number() noexcept {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64;) {
            const auto byte = fixed<std::uint8_t>();
            out |= std::uint64_t{byte & 0x7FU} << shift;
            shift += 7;
            if ((byte & 0x80U) != 0) continue;
            if ((byte & 0x40U) != 0 && shift < 64) out |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(out);
        }
        fail();
        return 0;
    }
    void skip(std::uint64_t bytes) noexcept {
        if (bytes > static_cast<std::uint64_t>(end_ - next_)) return fail();
        next_ += bytes;
    }

private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
    bool is_good_ = true;
};

}  // namespace prof
