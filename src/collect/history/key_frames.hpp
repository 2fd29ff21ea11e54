// When a capture gets a key frame, and up to which it may be dropped: what `keep` says, in time or in bytes of the
// file. Decides only; reads no clock. Belongs to the drain thread.
#pragma once

#include <cstdint>
#include <deque>

#include "record/keep_limits.hpp"

namespace prof {

class key_frames {
public:
    // Frames are so many to a kept period: what is dropped at once is at most that part of it.
    static constexpr std::uint64_t in_a_period = 8;
    static constexpr std::uint64_t least_apart_ns = 1'000'000'000;

    key_frames(const keep_limits& limits, std::uint64_t now_ns) : limits_(limits), latest_ns_(now_ns) {}

    // `position`: where the file's next chunk goes.
    bool is_due(std::uint64_t now_ns, std::uint64_t position) const noexcept;
    // One was written there, which ends at `end`.
    void add(std::uint64_t now_ns, std::uint64_t position, std::uint64_t end);
    // The frame with which the capture may begin from now on; 0: it stays as it is.
    std::uint64_t begin(std::uint64_t now_ns, std::uint64_t position);

private:
    struct frame {
        std::uint64_t ns = 0;
        std::uint64_t position = 0;
    };

    const keep_limits limits_;
    std::deque<frame> frames_;
    std::uint64_t latest_ns_;
    std::uint64_t latest_end_ = 0;
    std::uint64_t begin_ = 0;  // of the capture now
};

}  // namespace prof
