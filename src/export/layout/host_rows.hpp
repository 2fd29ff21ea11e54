// The host's side of a trace: what each thread did, laid out on rows that nest.
//
// Row 0 is the thread's own. Ranges of two domains may interleave; one that would overlap another in part stands on a
// row of its own below, with the ranges opened inside it. Phases stand on rows of their own, after all these.
// A pure function; sorts each thread's ranges, marks and calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "analysis/steps/numbered_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class host_item_kind : std::uint8_t { step, range, call, mark };

struct host_item {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    host_item_kind kind = host_item_kind::range;
    std::uint32_t index = 0;  // into the steps, or timeline's ranges (push_pop only), api_calls or marks
    std::uint32_t row = 0;
};

// All that ran under one tid: the kernel gives the tid of a thread that ended to a new one.
struct host_thread_rows {
    std::uint32_t tid = 0;
    std::vector<std::uint32_t> threads;  // indices into timeline::threads
    std::size_t row_count = 1;           // without those of phases
    std::size_t phase_row_count = 0;     // rows row_count … row_count + phase_row_count - 1
    std::vector<host_item> items;        // by start, of equal starts the longer first
};

// In order of the threads' appearance; without the ranges and marks of hidden domains.
std::vector<host_thread_rows> lay_out_host(const timeline& data, const std::vector<numbered_step>& steps = {},
                                           const hidden_domains& hidden = {});

}  // namespace prof
