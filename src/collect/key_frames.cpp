#include "collect/key_frames.hpp"

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

// By time: the latest frame behind which the whole period is. By bytes: the first one behind which there is room for
// what comes until the next frame.
std::uint64_t key_frames::begin(std::uint64_t now_ns, std::uint64_t position) {
    const std::uint64_t room = limits_.bytes - limits_.bytes / in_a_period;
    std::size_t first = 0;
    if (limits_.bytes != 0 && position - begin_ > room) {
        while (first + 1 < frames_.size() && position - frames_[first].position > room) ++first;
    } else if (limits_.time_ns == 0 || frames_.empty() || now_ns - frames_.front().ns < limits_.time_ns) {
        return 0;
    }
    while (limits_.time_ns != 0 && first + 1 < frames_.size() && now_ns - frames_[first + 1].ns >= limits_.time_ns) {
        ++first;
    }
    frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(first));
    if (frames_.empty() || frames_.front().position == begin_) return 0;
    return begin_ = frames_.front().position;
}

}  // namespace prof
