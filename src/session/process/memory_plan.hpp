// SPDX-License-Identifier: Apache-2.0
// Divides the option `memory` among the buffers that libprof has in the process while it records. Of 64 parts:
//
//   24  rings: 8 in the large, 8 in the medium, 8 in the small class
//    5  names: 2 for the texts that are kept, 2 for those of ranges, 1 for the tables that find them and the rings'
//    headers
//   20  CUPTI's activity buffers
//    4  the records of one of them, as the drain thread reads them
//    7  the state of each thread that has a ring (sizeof(producer))
//    4  the rest: the capture's write buffer, labels, the drain thread's stack, libprof's own data
//
// Whatever the load, none of them grows beyond its part: records without room are dropped and counted. The history of
// CUDA graphs comes on top, in programs that have any; it has a bound of its own (collect/history/graph_history.hpp).
//
// Pure arithmetic, before the rings are made; one thread. Allocates nothing.
#pragma once

#include <cstdint>

#include "hooks/cupti/tracer.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"

namespace prof {

// Sets the sizes in both structs, and no other member. REQUIRES: `bytes` is a power of two from least_memory_bytes to
// most_memory_bytes (options/values.hpp).
void divide_memory(std::uint64_t bytes, region_options& rings, tracer_options& cupti) noexcept;

// At most `bytes`, and so little that a program whose address space has a limit (RLIMIT_AS) is left all but a 512th of
// it. A power of two, 4 MB at least: the mapping is 3 MB then. `address_space`: the limit; UINT64_MAX: none.
std::uint64_t fitting_memory(std::uint64_t bytes, std::uint64_t address_space) noexcept;

// Sets the sizes of a forked child's region: 3 MB, plus the size of its parent's names. There may be many children, and
// one with a single thread uses 0.7 MB of that. The region has no buffers of CUPTI's.
void divide_childs_memory(region& parent, region_options& rings) noexcept;

}  // namespace prof
