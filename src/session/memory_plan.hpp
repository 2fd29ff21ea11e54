// How the option `memory` is divided among what libprof keeps in the process while it records. Of 64 parts:
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
#pragma once

#include <cstdint>

#include "hooks/cupti/tracer.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"

namespace prof {

// REQUIRES: `bytes` is a power of two between these. Sets the sizes and leaves the rest as it is.
void divide_memory(std::uint64_t bytes, region_options& rings, tracer_options& cupti) noexcept;

// Sets the sizes of a forked child's region, of which there may be many: 3 MB, plus the size of its parent's names. A
// child with one thread uses 0.7 MB of that. CUPTI's buffers are elsewhere.
void divide_childs_memory(region& parent, region_options& rings) noexcept;

}  // namespace prof
