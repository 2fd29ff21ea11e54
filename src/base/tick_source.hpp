// Whether the time stamp counters of all processors can be taken for one clock.
#pragma once

namespace prof {

// Where the kernel lists the clocks that it would use. It takes "tsc" out of the list for good once it has found that
// the counters do not agree, or do not run evenly, whatever the processor says of itself.
inline constexpr const char* kernels_clock_sources =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";

// True as well where there is no such list: then the processor's word holds.
bool kernel_trusts_counter(const char* list = kernels_clock_sources) noexcept;

}  // namespace prof
