// SPDX-License-Identifier: Apache-2.0
// How many stacks a thread may record: so many in a time, and some at once after a time without. What has taken as long
// as it takes to earn a stack is always recorded, since there cannot be too many of these. Where the thread makes more
// of the others than it earns, chance decides which ones are recorded: a program that repeats itself would otherwise
// have the same ones recorded again and again.
//
// Used by its own thread only. A few nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace prof {

class stack_budget {
public:
    // Whether the stack at this moment, of what has taken `length`, is recorded. `price`: the time in which the thread
    // earns one. All in ticks.
    bool earns(std::uint64_t ticks, std::uint64_t length, std::uint64_t price) noexcept {
        before_ = spent_until_;
        if (length >= price) return true;
        price = std::min(price, most_price);
        const std::uint64_t most = most_at_once * price;
        if (ticks - spent_until_ > most) spent_until_ = ticks - most;
        const std::uint64_t earned = ticks - spent_until_;
        if (earned < price || (earned < most / 4 && !is_drawn())) {
            leave_out();
            return false;
        }
        spent_until_ += price;
        return true;
    }
    // The same of what matters less than others: half of what the thread may record at once stays for these.
    bool earns_spare(std::uint64_t ticks, std::uint64_t price) noexcept {
        price = std::min(price, most_price);
        if (ticks - spent_until_ < most_at_once / 2 * price || !is_drawn()) return false;
        return earns(ticks, 0, price);
    }
    // The stack that was just earned is not recorded, because the thread has none.
    void give_back() noexcept { spent_until_ = before_; }
    void leave_out() noexcept {
        if (left_out_ != UINT16_MAX) ++left_out_;
    }
    // The number of stacks left out since the last call of this.
    std::uint16_t take_left_out() noexcept {
        const std::uint16_t out = left_out_;
        left_out_ = 0;
        return out;
    }

private:
    static constexpr std::uint64_t most_at_once = 64;
    static constexpr std::uint64_t most_price = UINT64_MAX / 256;

    // One time in four.
    bool is_drawn() noexcept {
        random_ = random_ * 1'664'525U + 1'013'904'223U;
        return random_ >> 30 == 0;
    }

    std::uint64_t spent_until_ = 0;
    std::uint64_t before_ = 0;
    std::uint32_t random_ = 1;
    std::uint16_t left_out_ = 0;
};

}  // namespace prof
