// The end of a wait that must not last for ever. By a clock that nobody sets: set back, the system's clock would make
// "five seconds at most" hours.
#pragma once

#include <chrono>

namespace prof {

class deadline {
public:
    explicit deadline(std::chrono::nanoseconds longest) : end_(std::chrono::steady_clock::now() + longest) {}
    bool has_passed() const { return std::chrono::steady_clock::now() >= end_; }

private:
    std::chrono::steady_clock::time_point end_;
};

}  // namespace prof
