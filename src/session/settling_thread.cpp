// SPDX-License-Identifier: Apache-2.0
#include "session/settling_thread.hpp"

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "session/deadline.hpp"
#include "session/patience.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds between_checks_whether_settled{10};
constexpr auto between_checks_ns =
    static_cast<std::uint64_t>(std::chrono::nanoseconds(between_checks_whether_settled).count());

}  // namespace

void settling_thread::note_drain(const std::shared_ptr<drain_thread>& drain) {
    const session_lock lock(mutex_);
    drain_ = drain;
}

bool settling_thread::await(std::chrono::nanoseconds patience) {
    const auto limit = static_cast<std::uint64_t>(patience.count());
    std::shared_ptr<drain_thread> drain;
    {
        const session_lock lock(mutex_);
        drain = drain_.lock();
    }
    const std::uint64_t before = drain == nullptr ? 0 : drain->disk().spent_ns();
    // While the machine or this process stands still, the disk seems to: what a check is late by is added to the limit.
    std::uint64_t late_ns = 0;
    for (;;) {
        const std::uint64_t check_ns = clock_ns(CLOCK_MONOTONIC);
        if (thread_.wait_until_idle(between_checks_whether_settled)) return true;
        const std::uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - check_ns;
        if (took_ns > between_checks_ns) late_ns += took_ns - between_checks_ns;
        if (drain == nullptr) continue;
        const disk_watch& disk = drain->disk();
        if (std::max(disk.standstill_ns(), disk.spent_since(before)) > limit + late_ns) return false;
    }
}

bool settling_thread::await_at_exit() {
    const deadline end(longest_standstill);
    while (!thread_.wait_until_idle(between_checks_whether_settled)) {
        if (disk_stands_still() || end.has_passed()) return false;
    }
    return true;
}

bool settling_thread::disk_stands_still() {
    std::shared_ptr<drain_thread> settling;
    {
        const session_lock lock(mutex_);
        settling = drain_.lock();
    }
    for (const auto& drain : {settling, capture_.drain_if_made()}) {
        if (drain != nullptr && std::chrono::nanoseconds(drain->disk().standstill_ns()) >= longest_standstill) {
            return true;
        }
    }
    return false;
}

void settling_thread::note_skipped_window() {
    ++skipped_windows_;
    warn_once("a window was passed over: the capture's disk did not answer while the one before was taken in");
}

void settling_thread::report_skipped_windows(drain_thread& drain) const {
    const std::uint64_t count = skipped_windows_.load();
    if (count == 0) return;
    drain.set_property("windows_notice", std::to_string(count) + (count == 1 ? " window was" : " windows were") +
                                             " passed over: the disk did not answer while the one before was taken in");
}

}  // namespace prof
