// SPDX-License-Identifier: Apache-2.0
// Decides when a capture gets a key frame, and up to which key frame the capture may be trimmed. The limits are those
// of the option `keep`: in time, or in bytes of the file. Reads no clock and does no I/O. Used by the drain thread
// only.
#pragma once

#include <cstdint>
#include <deque>

#include "record/keep_limits.hpp"

namespace prof {

class key_frames {
public:
    // Key frames in one kept period. So one trim removes at most this fraction of the period.
    static constexpr std::uint64_t in_a_period = 8;
    static constexpr std::uint64_t least_apart_ns = 1'000'000'000;

    key_frames(const keep_limits& limits, std::uint64_t now_ns) : limits_(limits), latest_ns_(now_ns) {}

    // `position`: where the next chunk of the file goes.
    bool is_due(std::uint64_t now_ns, std::uint64_t position) const noexcept;
    // A key frame was written at `position`; it ends at `end`.
    void add(std::uint64_t now_ns, std::uint64_t position, std::uint64_t end);
    // The position of the key frame with which the capture may begin from now on; 0: no change.
    std::uint64_t begin(std::uint64_t now_ns, std::uint64_t position);
    // The position of the key frame after that one, or of that one itself if it is the latest. REQUIRES: begin() has
    // returned one.
    std::uint64_t after_begin() const noexcept { return frames_[frames_.size() > 1 ? 1 : 0].position; }

private:
    struct frame {
        std::uint64_t ns = 0;
        std::uint64_t position = 0;
    };

    const keep_limits limits_;
    std::deque<frame> frames_;
    std::uint64_t latest_ns_;
    std::uint64_t latest_end_ = 0;
    std::uint64_t begin_ = 0;  // position where the capture begins now
};

}  // namespace prof
