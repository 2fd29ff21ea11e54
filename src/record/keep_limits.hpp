// How much of a recording the flight recorder keeps: the option `keep`.
#pragma once

#include <cstdint>

namespace prof {

// What is kept at least of the time, and at most of the file but for bursts; 0: not bounded by it. If both are given,
// the one that keeps less holds.
struct keep_limits {
    std::uint64_t time_ns = 0;
    std::uint64_t bytes = 0;

    bool any() const noexcept { return time_ns != 0 || bytes != 0; }
};

}  // namespace prof
