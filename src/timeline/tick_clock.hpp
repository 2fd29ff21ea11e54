// SPDX-License-Identifier: Apache-2.0
// Converts host ticks to nanoseconds in CUPTI's clock, piecewise linear between the capture's clock snapshots.
//
// Immutable; to_ns() never decreases as ticks grow. Cost: one multiplication, plus a binary search when the ticks leave
// the piece of the cursor.
#pragma once

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

    std::int64_t to_ns(std::uint64_t ticks, cursor& at) const noexcept;
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

    void straighten(const std::vector<clock_snapshot>& snapshots);
    bool keep_from_going_back();
    void set_rates(tick_source source);
    double rate_from(std::size_t anchor, bool forward) const noexcept;

    std::vector<piece> pieces_;  // by ticks; never empty
    double rate_before_ = 1;     // for ticks before the first piece
    std::vector<std::string> notes_;
};

}  // namespace prof
