// SPDX-License-Identifier: Apache-2.0
// How much longer a GPU's work takes because collectives run beside it: they take multiprocessors and memory bandwidth.
// The same work alone is known from other instances: the same kernel with the same grid, or a copy of the same size,
// between the same two neighbours in its stream, with no collective beside it. Pure; n log n in the operations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/projection/op_class.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct running_collective {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

// For each of the collectives, which are of the device and in order of begin_ns: by so much the computing and copying
// beside it took longer; below 0 by chance, so that sums are right. 0 where nothing ran beside it, and where nothing
// like it was recorded alone three times, with lengths that agree. Operations that begin before `from_ns` or from
// `to_ns` on do not count.
std::vector<std::int64_t> slowing_ns(const timeline& data, const op_classifier& class_of, std::uint32_t device,
                                     std::span<const running_collective> collectives, std::int64_t from_ns,
                                     std::int64_t to_ns);

}  // namespace prof
