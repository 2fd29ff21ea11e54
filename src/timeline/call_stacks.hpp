// SPDX-License-Identifier: Apache-2.0
// The Python stacks of calls: from the records of their frames to timeline::call_stacks. Steps of build_timeline(). One
// thread. Linear in the records; memory is that of the distinct stacks, and 24 bytes for each that was recorded.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The stacks of all threads, as they are walked.
class stack_collector {
public:
    struct found {
        std::int64_t call_start_ns = 0;
        std::uint64_t correlation = 0;
        thread_id thread = npos;
        stack_id stack = npos;
        stack_role role = stack_role::call;
        std::uint16_t position = 0;
    };

    // The index of the stack with these frames in `out`, added if there was none.
    stack_id index_of(timeline& out, const std::vector<code_line>& frames, std::uint32_t depth);
    void add(const found& stack) { found_.push_back(stack); }
    // Of a thread_time record, which comes when its call does.
    void add_account(const record& r, thread_id thread, std::int64_t call_start_ns) {
        accounts_.push_back({call_start_ns, r, thread});
    }

    // Fills timeline::call_stacks and call_accounts. REQUIRES: the calls are in order. Those without their call are
    // left out.
    void link(timeline& out);

private:
    std::unordered_multimap<std::uint64_t, stack_id> by_hash_;
    std::vector<found> found_;
    struct found_account {
        std::int64_t call_start_ns = 0;
        record r{};
        thread_id thread = npos;
    };
    std::vector<found_account> accounts_;
};

// Puts the frames of one thread together.
class stack_walk {
public:
    explicit stack_walk(stack_collector& to) noexcept : to_(&to) {}

    // Whether the record is the next frame of the stack that was begun.
    bool is_next(const record& r) const noexcept;
    // REQUIRES: the record is a code_line, and the next frame or there are none.
    void add(const record& r, timeline& out);
    void add_account(const record& r, thread_id thread, std::int64_t call_start_ns) {
        to_->add_account(r, thread, call_start_ns);
    }
    bool has_frames() const noexcept { return !frames_.empty(); }
    // The frames that were added are a whole stack: its index in `out`. npos: there are none.
    stack_id take(timeline& out);
    // The same of a call's stack. `call_start_ns`: of the call whose it is, as far as is known.
    void finish(timeline& out, thread_id thread, std::int64_t call_start_ns);
    std::uint64_t correlation() const noexcept { return correlation_; }
    stack_role role() const noexcept { return role_; }

private:
    stack_collector* to_;
    std::vector<code_line> frames_;
    std::uint64_t correlation_ = 0;
    std::uint32_t depth_ = 0;
    std::uint16_t position_ = 0;  // of a sample
    stack_role role_ = stack_role::call;
};

}  // namespace prof
