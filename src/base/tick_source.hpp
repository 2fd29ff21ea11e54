// SPDX-License-Identifier: Apache-2.0
// Whether the time stamp counters of all processors can serve as one clock. Called once, when the library is loaded.
#pragma once

namespace prof {

// The file in which the kernel lists its usable clocks. The kernel removes "tsc" for good once it finds that the
// counters disagree or run unevenly, whatever the processor claims.
inline constexpr const char* kernels_clock_sources =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";

// Whether the kernel lists "tsc". Also true if there is no such list; then the processor's claim decides. Reads the
// file on the calling thread. `list`: another file, for tests.
bool kernel_trusts_counter(const char* list = kernels_clock_sources) noexcept;

}  // namespace prof
