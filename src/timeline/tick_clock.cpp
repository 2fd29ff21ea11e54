// SPDX-License-Identifier: Apache-2.0
#include "timeline/tick_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

namespace prof {
namespace {

// The error of reading two snapshots (about 50 ns each) grows when their rate is extrapolated. With snapshots 100 ms
// apart it is below one part in a million.
constexpr std::int64_t rate_baseline_ns = 100'000'000;

// With at least this many narrow snapshots, wide ones are judged by them.
constexpr std::size_t least_narrow = 2;

// Assumed for a time stamp counter whose rate cannot be derived from the capture.
constexpr double assumed_tsc_ns_per_tick = 1 / 2.5;

bool has_cupti(const clock_snapshot& s) noexcept { return s.cupti_ns != 0; }

// Reading the clocks takes less than a microsecond. A wider snapshot was interrupted in every attempt.
constexpr std::uint64_t wide_ticks = 50'000;

bool is_narrow(const clock_snapshot& s) noexcept { return s.spread_ticks <= wide_ticks; }

// CLOCK_REALTIME may be set while the process runs, CLOCK_MONOTONIC cannot. If their distance changes between two
// snapshots by more than the reading error, CLOCK_REALTIME was set. From there on its times are replaced by those
// before plus the monotonic distance. Returns by how much it was set in total.
std::int64_t undo_settings(std::vector<clock_snapshot>& by_ticks) {
    constexpr std::int64_t least_step_ns = 1'000'000;
    const bool has_both_clocks = std::all_of(by_ticks.begin(), by_ticks.end(), [](const clock_snapshot& s) {
        return s.monotonic_ns != 0 && s.realtime_ns != 0;
    });
    if (!has_both_clocks || by_ticks.empty()) return 0;
    // These may wrap: modulo 2^64 they are still distances.
    std::uint64_t set = 0;
    std::uint64_t apart = by_ticks.front().realtime_ns - by_ticks.front().monotonic_ns;
    for (clock_snapshot& s : by_ticks) {
        const std::uint64_t now_apart = s.realtime_ns - s.monotonic_ns;
        const auto step = static_cast<std::int64_t>(now_apart - std::exchange(apart, now_apart));
        if (step >= least_step_ns || step <= -least_step_ns) set += static_cast<std::uint64_t>(step);
        s.realtime_ns -= set;
    }
    return static_cast<std::int64_t>(set);
}

}  // namespace

// A snapshot taken while CUPTI was absent or busy has only CLOCK_REALTIME. It is moved by the distance of the two
// clocks: that of the nearest snapshots with both, or interpolated between them.
std::vector<std::int64_t> tick_clock::target_times(const std::vector<clock_snapshot>& by_ticks) {
    std::vector<clock_snapshot> both;
    std::copy_if(by_ticks.begin(), by_ticks.end(), std::back_inserter(both), has_cupti);
    // A snapshot that was interrupted between the two clocks has a less accurate distance.
    if (std::any_of(both.begin(), both.end(), is_narrow)) std::erase_if(both, std::not_fn(is_narrow));
    // May wrap: modulo 2^64 it is still the distance.
    const auto shift = [](const clock_snapshot& s) { return s.cupti_ns - s.realtime_ns; };
    const auto shift_at = [&](std::uint64_t ticks) -> std::uint64_t {
        if (both.empty()) return 0;
        const auto next = std::lower_bound(both.begin(), both.end(), ticks,
                                           [](const clock_snapshot& s, std::uint64_t t) { return s.ticks < t; });
        if (next == both.begin()) return shift(*next);
        const clock_snapshot& before = next[-1];
        if (next == both.end()) return shift(before);
        const double part = static_cast<double>(ticks - before.ticks) / static_cast<double>(next->ticks - before.ticks);
        const auto growth = static_cast<double>(static_cast<std::int64_t>(shift(*next) - shift(before)));
        return shift(before) + static_cast<std::uint64_t>(round_ns(part * growth));
    };
    std::vector<std::int64_t> times;
    for (const clock_snapshot& s : by_ticks) {
        const std::uint64_t ns = has_cupti(s) ? s.cupti_ns : s.realtime_ns + shift_at(s.ticks);
        times.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(ns, time_limit_ns)));
    }
    return times;
}

tick_clock::tick_clock(std::vector<clock_snapshot> snapshots, tick_source source, std::uint64_t first_ticks,
                       std::uint64_t created_realtime_ns) {
    std::sort(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
        return a.ticks != b.ticks ? a.ticks < b.ticks : a.spread_ticks < b.spread_ticks;
    });
    const auto last = std::unique(snapshots.begin(), snapshots.end(),
                                  [](const auto& a, const auto& b) { return a.ticks == b.ticks; });
    snapshots.erase(last, snapshots.end());

    // A smaller change may come from reading two clocks one after the other.
    constexpr std::int64_t least_setting_ns = 100'000'000;
    const std::int64_t set_ns = undo_settings(snapshots);
    if (set_ns >= least_setting_ns || set_ns <= -least_setting_ns) {
        const auto seconds = static_cast<double>(set_ns) * 1e-9;
        notes_.push_back(
            fmt::format("the system's clock was set {} by {:.1f} s during the run: times go on as if it had not been",
                        seconds < 0 ? "back" : "forward", std::abs(seconds)));
    }
    const std::vector<std::int64_t> times = target_times(snapshots);
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
        pieces_.push_back({.ticks = snapshots[i].ticks, .ns = times[i]});
    }
    if (pieces_.empty()) {
        snapshots.push_back({.ticks = first_ticks});
        pieces_.push_back(
            {.ticks = first_ticks,
             .ns = static_cast<std::int64_t>(std::min<std::uint64_t>(created_realtime_ns, time_limit_ns))});
        notes_.emplace_back(
            "no clock snapshot was kept: host times start at the capture's creation and do not "
            "line up with GPU times");
    }
    straighten(snapshots);
    if (keep_from_going_back()) {
        notes_.emplace_back("the system clock was set back during the run: host times stand still there");
    }
    set_rates(source);
    const auto narrow = static_cast<std::size_t>(std::count_if(snapshots.begin(), snapshots.end(), is_narrow));
    if (narrow < std::min<std::size_t>(snapshots.size(), least_narrow)) {
        const auto widest = std::max_element(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
            return a.spread_ticks < b.spread_ticks;
        });
        notes_.push_back(
            fmt::format("the clocks could not be read without interruption: host times may be off by {:.0f} µs",
                        static_cast<double>(widest->spread_ticks) / 2 * pieces_.front().ns_per_tick / 1e3));
    }
}

// The moment of a wide snapshot is only known to lie somewhere in its width. It is put on the line between the narrow
// snapshots, or as near to that as its width allows.
void tick_clock::straighten(const std::vector<clock_snapshot>& snapshots) {
    std::vector<piece> all = pieces_;
    pieces_.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (is_narrow(snapshots[i])) pieces_.push_back(all[i]);
    }
    if (pieces_.size() >= least_narrow && pieces_.size() != all.size()) {
        (void)keep_from_going_back();
        set_rates(tick_source::tsc);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (is_narrow(snapshots[i])) continue;
            // A tick is at most a nanosecond.
            const auto half =
                static_cast<std::int64_t>(std::min<std::uint64_t>(snapshots[i].spread_ticks, time_limit_ns) / 2);
            all[i].ns = std::clamp(to_ns(all[i].ticks), all[i].ns - half, all[i].ns + half);
        }
    }
    pieces_ = std::move(all);
}

// Returns whether a piece had to be changed.
bool tick_clock::keep_from_going_back() {
    bool stepped_back = false;
    for (std::size_t i = 1; i < pieces_.size(); ++i) {
        if (pieces_[i].ns < pieces_[i - 1].ns) {
            stepped_back = true;
            pieces_[i].ns = pieces_[i - 1].ns;
        }
    }
    return stepped_back;
}

void tick_clock::set_rates(tick_source source) {
    if (pieces_.size() == 1) {
        const bool known = source == tick_source::monotonic_ns;
        rate_before_ = pieces_.front().ns_per_tick = known ? 1.0 : assumed_tsc_ns_per_tick;
        if (!known) {
            notes_.emplace_back(
                "fewer than two clock snapshots were kept: host times assume a time stamp counter "
                "of 2.5 GHz");
        }
        return;
    }
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) {
        pieces_[i].ns_per_tick = static_cast<double>(pieces_[i + 1].ns - pieces_[i].ns) /
                                 static_cast<double>(pieces_[i + 1].ticks - pieces_[i].ticks);
    }
    rate_before_ = rate_from(0, true);
    pieces_.back().ns_per_tick = rate_from(pieces_.size() - 1, false);
}

// The rate between a snapshot at the edge and the nearest one that is far enough away, else the farthest.
double tick_clock::rate_from(std::size_t anchor, bool forward) const noexcept {
    std::size_t other = anchor;
    do {
        other = forward ? other + 1 : other - 1;
        if (std::abs(pieces_[other].ns - pieces_[anchor].ns) >= rate_baseline_ns) break;
    } while (other != 0 && other + 1 != pieces_.size());
    const auto ns = pieces_[other].ns - pieces_[anchor].ns;
    const auto ticks = static_cast<std::int64_t>(pieces_[other].ticks - pieces_[anchor].ticks);
    return static_cast<double>(ns) / static_cast<double>(ticks);
}

std::int64_t tick_clock::to_ns_elsewhere(std::uint64_t ticks, cursor& at) const noexcept {
    if (ticks < pieces_.front().ticks) {
        const auto before = static_cast<double>(pieces_.front().ticks - ticks);
        return std::max<std::int64_t>(0, pieces_.front().ns - round_ns(before * rate_before_));
    }
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), ticks,
                                        [](std::uint64_t t, const piece& p) { return t < p.ticks; });
    at = static_cast<std::size_t>(after - pieces_.begin()) - 1;
    return ns_in(pieces_[at], ticks);
}

}  // namespace prof
