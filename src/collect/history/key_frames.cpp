// SPDX-License-Identifier: Apache-2.0
#include "collect/history/key_frames.hpp"

#include <algorithm>

namespace prof {

bool key_frames::is_due(std::uint64_t now_ns, std::uint64_t position) const noexcept {
    if (limits_.bytes != 0 && position - latest_end_ >= limits_.bytes / in_a_period) return true;
    return limits_.time_ns != 0 && now_ns - latest_ns_ >= std::max(limits_.time_ns / in_a_period, least_apart_ns);
}

void key_frames::add(std::uint64_t now_ns, std::uint64_t position, std::uint64_t end) {
    frames_.push_back({now_ns, position});
    latest_ns_ = now_ns;
    latest_end_ = end;
}

// Chooses the latest frame behind which enough of the capture stays. By time that is the whole period. By bytes it is
// what leaves room for the data up to the next frame but one. The first frame behind which there is room would not do:
// a frame that follows a burst has nothing behind it.
std::uint64_t key_frames::begin(std::uint64_t now_ns, std::uint64_t position) {
    const std::uint64_t enough = limits_.bytes - 2 * (limits_.bytes / in_a_period);
    const auto has_enough_behind = [&](const frame& candidate) {
        return (limits_.bytes != 0 && position - candidate.position > enough) ||
               (limits_.time_ns != 0 && now_ns - candidate.ns >= limits_.time_ns);
    };
    const auto next = std::partition_point(frames_.begin(), frames_.end(), has_enough_behind);
    if (next == frames_.begin()) return 0;
    frames_.erase(frames_.begin(), next - 1);
    if (frames_.front().position == begin_) return 0;
    return begin_ = frames_.front().position;
}

}  // namespace prof
