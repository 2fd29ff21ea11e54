// SPDX-License-Identifier: Apache-2.0
// Ranges projected on the GPU as Nsight Systems defines it: an operation counts for a range if the call that launched
// it was made inside, on the range's own thread. No adoption. Pure functions; linear in launches times open ranges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "report/table.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct range_projection {
    std::uint32_t range = npos;
    std::int64_t start_ns = 0;  // of the first operation
    std::int64_t end_ns = 0;    // of the last to end
    std::uint64_t ops = 0;
    std::uint32_t parent = npos;  // the innermost range around it on its thread; npos for start/end ranges
    std::uint32_t level = 0;      // how many are around it
    std::uint64_t children = 0;   // projected ranges of which it is the parent
};

struct range_projections {
    std::vector<range_projection> ranges;  // those that have GPU operations, in the timeline's order
    std::uint64_t left_out = 0;            // open_start_ends'
};

range_projections project_ranges(const timeline& data, const hidden_domains& hidden);

// One line, added to the notes of a report from which ranges were left out.
void note_left_out(table& out, std::uint64_t ranges);

// The start/end ranges that are open on a thread at each of its calls. Only ranges that begin and end on that thread.
class open_start_ends {
public:
    open_start_ends(const timeline& data, const hidden_domains& hidden) : data_(data), threads_(data.threads.size()) {
        for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
            const timeline_range& range = data.ranges[i];
            if (range.style == range_style::start_end && range.thread == range.end_thread && !hidden.contains(range)) {
                threads_[range.thread].waiting.push_back(i);
            }
        }
    }

    // The ranges around the call. REQUIRES: calls of one thread come in order of time. Valid until the next call.
    const std::vector<std::uint32_t>& around(const timeline_api_call& call) {
        thread& of = threads_[call.thread];
        const std::int64_t until_ns = std::max(call.start_ns, call.end_ns);
        const auto has_ended = [&](std::uint32_t range) { return data_.ranges[range].end_ns < until_ns; };
        std::erase_if(of.open, has_ended);
        for (; of.next < of.waiting.size() && data_.ranges[of.waiting[of.next]].start_ns <= call.start_ns; ++of.next) {
            if (has_ended(of.waiting[of.next])) continue;
            if (of.open.size() < most_open) {
                of.open.push_back(of.waiting[of.next]);
            } else {
                ++left_out_;
            }
        }
        return of.open;
    }

    // Ranges that were open beside as many as are followed at a time.
    std::uint64_t left_out() const noexcept { return left_out_; }

private:
    static constexpr std::size_t most_open = 1024;  // as for push/pop ranges: each call goes through all of them

    struct thread {
        std::vector<std::uint32_t> waiting;  // by start
        std::size_t next = 0;                // of waiting
        std::vector<std::uint32_t> open;
    };

    const timeline& data_;
    std::vector<thread> threads_;
    std::uint64_t left_out_ = 0;
};

// Calls visit(call, range) for each call that led to GPU work and each range around it on its thread. For push/pop
// ranges the order of records decides what is around, for start/end ranges the time. Returns how many start/end ranges
// were left out.
template <typename TVisit>
std::uint64_t for_each_range_around(const timeline& data, const hidden_domains& hidden, TVisit&& visit) {
    open_start_ends start_ends{data, hidden};
    for (const timeline_api_call& call : data.api_calls) {
        if (call.op_count == 0) continue;
        for (std::uint32_t node = call.open_on_thread; node != npos; node = data.open_nodes[node].below_on_thread()) {
            const std::uint32_t range = data.open_nodes[node].range;
            if (!hidden.contains(data.ranges[range])) visit(call, range);
        }
        for (const std::uint32_t range : start_ends.around(call)) visit(call, range);
    }
    return start_ends.left_out();
}

}  // namespace prof
