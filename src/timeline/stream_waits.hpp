// SPDX-License-Identifier: Apache-2.0
// From the records of events and waits to the operations that waited for each other: a step of build_timeline().
#pragma once

#include <cstdint>
#include <vector>

#include "record/record.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A stream_sync record, with its moment.
struct stream_sync {
    std::int64_t time_ns = 0;
    std::uint64_t event = 0;        // its handle
    std::uint64_t stream = 0;       // stream_key()
    std::uint64_t correlation = 0;  // of the call that waits, for the host's waits
    thread_id thread = npos;
    std::uint32_t calls_before = 0;  // of the thread: decides where times are equal
    sync_kind kind = sync_kind::event_record;
};

// Fills stream_waits and host_waits. An event stands for the latest operation that was launched into its stream before
// the event was recorded; a wait holds the next operation that is launched into the waiting stream. Within a stream
// operations are in order, so that these two say all. REQUIRES: operations and calls are linked (correlate()). Linear
// in the calls and operations, if there are any syncs; temporary memory: 8 bytes a stream and 32 an event.
void link_stream_waits(timeline& out, std::vector<stream_sync> syncs);

}  // namespace prof
