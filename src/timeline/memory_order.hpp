// SPDX-License-Identifier: Apache-2.0
// The order of memory events of several threads. A step of build_timeline(). One thread; linear, but for a sort.
#pragma once

#include "timeline/timeline.hpp"

namespace prof {

// Sorts timeline::memory by time. The allocator reports under a lock, but two threads that follow each other within the
// clock's uncertainty may have the wrong order: of two such neighbours the totals say which came first.
void order_memory(timeline& out);

}  // namespace prof
