// SPDX-License-Identifier: Apache-2.0
// The end of a wait that must not last for ever. It uses the steady clock: if the system's clock were set back, "five
// seconds at most" would become hours.
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
