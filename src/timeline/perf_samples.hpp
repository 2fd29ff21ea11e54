// SPDX-License-Identifier: Apache-2.0
// Samples of threads that `perf record -k CLOCK_MONOTONIC` has taken, from the text of `perf script`
// (docs/guide/perf.md). Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

struct perf_sample {
    std::uint32_t tid = 0;
    std::int64_t monotonic_ns = 0;
    std::uint32_t function = 0;  // index into perf_samples::functions
};

struct perf_function {
    std::string name{};  // "[unknown]": perf found none
    std::string file{};  // the program, library or kernel module; "": not known
};

struct perf_samples {
    std::vector<perf_function> functions{};
    std::vector<perf_sample> samples{};  // in the order of the text
    std::size_t not_read = 0;            // lines that are no sample, frame, comment or empty line
};

// Of a sample with a call chain the innermost frame counts. Linear.
perf_samples read_perf_script(std::string_view text);

}  // namespace prof
