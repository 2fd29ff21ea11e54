// SPDX-License-Identifier: Apache-2.0
// What one thread did according to a trace, made into the records that libprof would have written: a trace has spans
// of time in any order, a capture has beginnings and ends in theirs. Pure functions; O(n log n).
#pragma once

#include <cstdint>
#include <vector>

#include "record/record.hpp"
#include "timeline/kineto/trace_stacks.hpp"
#include "timeline/row_ids.hpp"

namespace prof {

enum class trace_item_kind : std::uint8_t {
    range,     // a range of the program
    torch_op,  // an operator or a backward node of PyTorch
    module,    // a call of a module
    call,      // to CUDA
    mark,
    range_start,  // of a process-wide range
    range_end,
    left_out,
};

struct trace_item {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;     // ≥ start_ns
    std::uint64_t value = 0;     // payload; correlation key of a call; id of a process-wide range
    std::int64_t sequence = -1;  // autograd's sequence number; of a module's call: of the next node when it ended
    name_id name{};              // of a call: the kernel
    std::uint32_t cbid = 0;      // of a call
    std::uint16_t domain = 0;    // of a call: api_domain
    trace_item_kind kind = trace_item_kind::range;
    std::uint8_t flags = 0;  // payload_type; api_class of a call
    bool has_ended = true;
    bool launches_kernel = false;  // of a call
    bool is_recorded = true;       // a call that libprof records (trace_calls.hpp)
    bool ends_capture = false;     // a call that ends the capture of a graph
    bool is_captured = false;      // a call that put its work into a graph
    bool is_backward = false;      // an operator with the number of the node that it executes
};

struct item_counts {
    // Ranges that neither contain another one of their thread nor are outside it: they count as process-wide.
    std::uint64_t overlapping_ranges = 0;
    std::uint64_t overlapping_ops = 0;      // likewise; left out
    std::uint64_t overlapping_modules = 0;  // likewise; left out
    std::uint64_t inner_calls = 0;          // a driver's call inside the runtime's of the same id; left out
};

// Sorts items that are in the order of the trace by their beginnings, and nests the ranges.
void put_in_order(std::vector<trace_item>& items, item_counts& counts);
// REQUIRES: they are in order. `next_range_id`: for process-wide ranges. Calls that libprof records with their stack
// (prof::stack_role in docs/reference/capture-format.md) have that of `stacks`, and three of the code before them.
std::vector<record> records_of(const std::vector<trace_item>& items, const trace_stacks& stacks,
                               std::uint64_t& next_range_id, item_counts& counts);

}  // namespace prof
