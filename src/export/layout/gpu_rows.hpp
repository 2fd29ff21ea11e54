// The GPU's side of a trace: for each stream its operations and the ranges projected on it, laid out on rows.
//
// Row 0 is the stream's own. Ranges that would overlap others in part stand on the range rows that follow, operations
// that ran beside others of the same stream on the operation rows after those.
// A pure function; linear in the operations and the ranges they count for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// One range instance on one stream (of a range that a graph was captured in: in one launch of the graph), from the
// start of the first to the end of the last of its operations there.
struct projected_range {
    std::uint32_t range = npos;
    std::uint32_t replayed = npos;  // index into attribution::replayed, if it stands for a range of a graph's capture
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
    std::uint64_t number = 0;    // by which it is known among its GPU's: the stream's, where no other context has that
    bool shares_device = false;  // with streams of other contexts
    std::size_t range_row_count = 0;      // rows 1 … range_row_count hold ranges only
    std::size_t op_row_count = 0;         // and this many after them operations only
    std::vector<std::uint32_t> ops;       // in order of start; indices into timeline::ops
    std::vector<std::size_t> op_row;      // of ops[i]
    std::vector<projected_range> ranges;  // by start, of equal starts the longer first
};

std::vector<gpu_stream_rows> lay_out_gpu(const timeline& data, const attribution& att);  // by device, context, stream

}  // namespace prof
