// SPDX-License-Identifier: Apache-2.0
// Lays out the GPU side of a trace: the operations of each stream, and the ranges projected on it.
//
// Row 0 of a stream holds operations, and ranges that fit beside them. The range rows that follow hold ranges that
// would partly overlap others. The operation rows after those hold operations that ran at the same time as others of
// the stream. A pure function; linear in the operations and the ranges for which they count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// One range instance on one stream (for a range of a graph's capture: in one launch of the graph). It lasts from the
// start of its first operation there to the end of its last one.
struct projected_range {
    range_id range = npos;
    replayed_id replayed = npos;  // index into attribution::replayed, for a range of a graph's capture
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t ops = 0;
    std::int64_t gpu_sum_ns = 0;
    std::size_t row = 0;
};

struct gpu_stream_rows {
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    // Identifies it among its GPU's streams: the stream's id, unless another context uses the same id.
    std::uint64_t number = 0;
    bool shares_device = false;           // true: with streams of other contexts
    std::size_t range_row_count = 0;      // rows 1 … range_row_count hold only ranges
    std::size_t op_row_count = 0;         // the rows after them hold only operations
    std::vector<op_id> ops;               // by start; indices into timeline::ops
    std::vector<std::size_t> op_row;      // by index into ops
    std::vector<projected_range> ranges;  // by start; of equal starts the longer first
};

std::vector<gpu_stream_rows> lay_out_gpu(const timeline& data, const attribution& att);  // by device, context, stream

}  // namespace prof
