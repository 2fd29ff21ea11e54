// SPDX-License-Identifier: Apache-2.0
// What each thread of the host did at each moment, as far as it was recorded: in which call of CUDA it was, and which
// range was the innermost. Linear in the ranges and calls; memory 4 bytes a call and 32 a range.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class host_activity {
public:
    // Ranges that take no part in attribution, or that it hides, are left out. The arguments must outlive it.
    host_activity(const timeline& data, const attribution& att);

    const timeline& data() const noexcept { return *data_; }

    // A stretch of time in which a thread is in one call, or in none.
    struct stretch {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        call_id call = npos;        // index into api_calls
        std::int64_t whole_ns = 0;  // if it is in none: from the call before to the call after, cut off nowhere
    };
    // Calls visit(stretch) for [from_ns, to_ns) of the thread, in order of time.
    template <typename TVisit>
    void for_each_call(thread_id thread, std::int64_t from_ns, std::int64_t to_ns, TVisit&& visit) const {
        const std::vector<call_id>& calls = calls_[thread];
        std::size_t next = first_call_after(thread, from_ns);
        std::int64_t before_ns = next == 0 ? INT64_MIN : end_of(calls, next - 1);
        while (from_ns < to_ns) {
            const std::int64_t begins_ns = next == calls.size() ? INT64_MAX : data_->api_calls[calls[next]].start_ns;
            if (begins_ns > from_ns) {
                const bool is_bounded = before_ns != INT64_MIN && begins_ns != INT64_MAX;
                visit(
                    stretch{from_ns, std::min(begins_ns, to_ns), npos, is_bounded ? begins_ns - before_ns : INT64_MAX});
                from_ns = begins_ns;
                continue;
            }
            const std::int64_t ends_ns = end_of(calls, next);
            if (ends_ns > from_ns) visit(stretch{from_ns, std::min(ends_ns, to_ns), calls[next], 0});
            from_ns = std::max(from_ns, ends_ns);
            before_ns = ends_ns;
            ++next;
        }
    }

    // Calls visit(start_ns, end_ns, index of the innermost range, or npos) for [from_ns, to_ns), in order of time.
    template <typename TVisit>
    void for_each_range(thread_id thread, std::int64_t from_ns, std::int64_t to_ns, TVisit&& visit) const {
        const std::vector<state>& states = states_[thread];
        for (std::size_t next = first_state_after(thread, from_ns); from_ns < to_ns; ++next) {
            const std::int64_t ends_ns = next == states.size() ? to_ns : std::min(to_ns, states[next].since_ns);
            if (ends_ns > from_ns) visit(from_ns, ends_ns, next == 0 ? range_id() : states[next - 1].range);
            from_ns = std::max(from_ns, ends_ns);
        }
    }

    // The same, but where the thread is in no range, with those of `home`, for which it works; itself if for none.
    template <typename TVisit>
    void for_each_range(thread_id thread, thread_id home, std::int64_t from_ns, std::int64_t to_ns,
                        TVisit&& visit) const {
        for_each_range(thread, from_ns, to_ns, [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
            if (range != npos || home == thread) {
                visit(start_ns, end_ns, range);
            } else {
                for_each_range(home, start_ns, end_ns, visit);
            }
        });
    }

    // The innermost range; npos: none.
    range_id range_at(thread_id thread, std::int64_t ns) const;
    // Where the thread is in none, that of `home`, as above.
    range_id range_at(thread_id thread, thread_id home, std::int64_t ns) const {
        const range_id own = range_at(thread, ns);
        return own != npos || home == thread ? own : range_at(home, ns);
    }
    // When the innermost range changes first after `from_ns`, but at `to_ns` at the latest; and when it changed last up
    // to `to_ns`, but at `from_ns` at the earliest.
    std::int64_t first_change(thread_id thread, std::int64_t from_ns, std::int64_t to_ns) const;
    std::int64_t last_change(thread_id thread, std::int64_t from_ns, std::int64_t to_ns) const;
    // The call in which the thread is; npos: in none.
    call_id call_at(thread_id thread, std::int64_t ns) const;

private:
    struct state {
        std::int64_t since_ns = 0;
        range_id range = npos;
    };
    void add_calls();
    void add_states(const attribution& att);
    // The index of the first of the thread's calls that ends after `ns`.
    std::size_t first_call_after(thread_id thread, std::int64_t ns) const;
    std::size_t first_state_after(thread_id thread, std::int64_t ns) const;
    // Of a call that was not seen to return: the beginning of the thread's next one.
    std::int64_t end_of(const std::vector<call_id>& calls, std::size_t index) const {
        const std::int64_t end_ns = data_->api_calls[calls[index]].end_ns;
        if (end_ns != 0) return end_ns;
        return index + 1 == calls.size() ? INT64_MAX : data_->api_calls[calls[index + 1]].start_ns;
    }

    const timeline* data_;
    // By thread: where the latest search ended. Gaps come in order of time.
    mutable row_values<thread_id, std::size_t> latest_call_;
    mutable row_values<thread_id, std::size_t> latest_state_;
    row_values<thread_id, std::vector<call_id>> calls_;  // by thread, in order of time, without overlap
    row_values<thread_id, std::vector<state>> states_;   // by thread, in order of time
};

}  // namespace prof
