// SPDX-License-Identifier: Apache-2.0
// The numbers of the first screen: all times in one unit, with one number of decimals, so that what is printed adds up.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

// A unit of time and its last decimal, the quantum. Times are counted in quanta.
struct screen_unit {
    std::string_view name;
    double quantum_ns = 1;
    int decimals = 0;

    // Microseconds below 1 ms, milliseconds below 10 s, seconds above; decimals so that the step has four digits.
    static screen_unit for_step(double step_ns) noexcept;
    // Seconds with two decimals; of less than a second as many as it takes to have three digits.
    static screen_unit for_run(double run_ns) noexcept;

    std::int64_t quanta(double ns) const noexcept;
    std::string text(std::int64_t quanta) const;  // "1,234.56"
    std::string with_unit(std::int64_t quanta) const;
};

}  // namespace prof
