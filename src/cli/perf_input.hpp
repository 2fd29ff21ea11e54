// SPDX-License-Identifier: Apache-2.0
// The samples of --perf: a perf.data, which `perf script` reads, or its text. One thread.
#pragma once

#include <string>

#include "timeline/perf_samples.hpp"

namespace prof {

// Throws prof::error if the file cannot be read, or has no samples.
perf_samples read_perf_file(const std::string& path);

}  // namespace prof
