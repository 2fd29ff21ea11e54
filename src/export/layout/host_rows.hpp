// SPDX-License-Identifier: Apache-2.0
// Lays out the host side of a trace: the activity of each thread, on rows whose slices nest.
//
// Row 0 is the thread's own. Ranges of two domains may interleave. A range that would partly overlap another goes to a
// separate row below, together with the ranges opened inside it. Phases have separate rows after all these. A pure
// function; sorts each thread's ranges, marks and calls.
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
    std::uint32_t index = 0;  // into the steps, or into the timeline's ranges (push_pop only), api_calls or marks
    std::uint32_t row = 0;
};

// Everything that ran under one tid. The kernel may reuse the tid of a thread that has ended.
struct host_thread_rows {
    std::uint32_t tid = 0;
    std::vector<std::uint32_t> threads;  // indices into timeline::threads
    std::size_t row_count = 1;           // without the rows of phases
    std::size_t phase_row_count = 0;     // rows row_count … row_count + phase_row_count - 1
    std::vector<host_item> items;        // by start; of equal starts the longer first
};

// By first appearance of the threads; without the ranges and marks of hidden domains.
std::vector<host_thread_rows> lay_out_host(const timeline& data, const std::vector<numbered_step>& steps = {},
                                           const hidden_domains& hidden = {});

}  // namespace prof
