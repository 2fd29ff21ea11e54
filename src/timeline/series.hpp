// SPDX-License-Identifier: Apache-2.0
// Values over time, in the order of their times: the program's counters, and what is sampled while a program runs. Part
// of a timeline (timeline.hpp). Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

enum class series_source : std::uint8_t {
    counter,  // PROF_COUNTER, prof_counter, or a counter of torch.profiler's trace
    memory,   // bytes that PyTorch's allocator has given out, or holds
};

struct series_sample {
    std::int64_t time_ns = 0;
    double value = 0;  // may be NaN or infinite, if the program says so
};

struct timeline_series {
    std::string name{};  // byte for byte, as the process gave it
    series_source source = series_source::counter;
    std::uint32_t device = UINT32_MAX;  // the GPU that the values are of; UINT32_MAX: they are of the process
    std::vector<series_sample> samples{};
};

}  // namespace prof
