// SPDX-License-Identifier: Apache-2.0
// Finds slow steps: those that take `dump_on_slow_step` times as long as the median of the steps before. One thread at
// a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prof {

class slow_steps {
public:
    static constexpr std::size_t compared = 64;        // number of latest steps whose median is used
    static constexpr std::size_t least_compared = 16;  // with fewer steps known, none is slow
    static constexpr double least_factor = 1.1;
    static constexpr double most_factor = 1000;

    explicit slow_steps(double factor) noexcept : factor_(factor) {}

    // Call when a step begins, which ends the one before. If that was slow, returns one line that states how slow.
    // `number`: of the step that has ended; if numbers are missing, nothing is compared. `now_ns`: CLOCK_MONOTONIC.
    // Takes about a microsecond.
    std::optional<std::string> begin_step(std::uint64_t number, std::uint64_t now_ns);
    // The time until the next step is not a step: a window began, or nothing was recorded.
    void forget_begin() noexcept { begun_ns_ = 0; }

private:
    double median() const noexcept;

    const double factor_;
    std::array<std::uint64_t, compared> lengths_{};
    std::size_t seen_ = 0;
    std::uint64_t begun_ns_ = 0;  // begin of the present step; 0: there is none
    std::uint64_t number_ = 0;    // number of the step that ended last
};

// Parses the value of the option dump_on_slow_step. False if it is invalid.
bool parse_slow_factor(std::string_view text, double& out);

}  // namespace prof
