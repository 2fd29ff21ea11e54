// SPDX-License-Identifier: Apache-2.0
#include "session/settling_thread.hpp"

#include <string>

#include "session/deadline.hpp"
#include "session/patience.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds between_checks_whether_settled{10};

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
    while (!thread_.wait_until_idle(between_checks_whether_settled)) {
        if (drain == nullptr) continue;
        if (drain->disk().standstill_ns() > limit || drain->disk().spent_since(before) > limit) return false;
    }
    return true;
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
    for (const auto& drain : {settling, capture_.drain()}) {
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
