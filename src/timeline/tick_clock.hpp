// SPDX-License-Identifier: Apache-2.0
// Converts host ticks to nanoseconds in CUPTI's clock, piecewise linear between the capture's clock snapshots.
//
// Immutable; to_ns() never decreases as ticks grow. Cost: one multiplication, plus a binary search when the ticks leave
// the piece of the cursor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace prof {

class tick_clock {
public:
    // The piece of the previous conversion in a walk through increasing ticks; one cursor for each walk.
    using cursor = std::size_t;

    // `first_ticks` and `created_realtime_ns` are used for a capture without snapshots: its first record is put at the
    // time of the file's creation.
    tick_clock(std::vector<clock_snapshot> snapshots, tick_source source, std::uint64_t first_ticks,
               std::uint64_t created_realtime_ns);

    std::int64_t to_ns(std::uint64_t ticks, cursor& at) const noexcept {
        const bool at_cursor = at < pieces_.size() && pieces_[at].ticks <= ticks &&
                               (at + 1 == pieces_.size() || ticks < pieces_[at + 1].ticks);
        return at_cursor ? ns_in(pieces_[at], ticks) : to_ns_elsewhere(ticks, at);
    }
    std::int64_t to_ns(std::uint64_t ticks) const noexcept {
        cursor at = 0;
        return to_ns(ticks, at);
    }

    // The times of the first and the last snapshot; without snapshots, that of the first record.
    std::int64_t first_snapshot_ns() const noexcept { return pieces_.front().ns; }
    std::int64_t last_snapshot_ns() const noexcept { return pieces_.back().ns; }

    // Assumptions that were made for lack of snapshots, one line each.
    const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
    // Valid from its ticks to those of the next piece. The first and the last piece extend to infinity.
    struct piece {
        std::uint64_t ticks = 0;
        std::int64_t ns = 0;
        double ns_per_tick = 1;
    };

    // Far from any real time, and small enough that sums and differences of two times fit 64 bits. Only damaged records
    // reach it.
    static constexpr std::int64_t time_limit_ns = 4'000'000'000'000'000'000;

    // As std::llround, without a call, and within the limit.
    static std::int64_t round_ns(double ns) noexcept {
        constexpr auto limit = static_cast<double>(time_limit_ns);
        const double within = std::clamp(ns, -limit, limit);
        const auto whole = static_cast<std::int64_t>(within);  // beyond 2^52 doubles are whole
        const double rest = within - static_cast<double>(whole);
        return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
    }
    static std::int64_t ns_in(const piece& p, std::uint64_t ticks) noexcept {
        return std::min(time_limit_ns, p.ns + round_ns(static_cast<double>(ticks - p.ticks) * p.ns_per_tick));
    }
    std::int64_t to_ns_elsewhere(std::uint64_t ticks, cursor& at) const noexcept;
    static std::vector<std::int64_t> target_times(const std::vector<clock_snapshot>& by_ticks);
    void straighten(const std::vector<clock_snapshot>& snapshots);
    bool keep_from_going_back();
    void set_rates(tick_source source);
    double rate_from(std::size_t anchor, bool forward) const noexcept;

    std::vector<piece> pieces_;  // by ticks; never empty
    double rate_before_ = 1;     // for ticks before the first piece
    std::vector<std::string> notes_;
};

}  // namespace prof
