// SPDX-License-Identifier: Apache-2.0
#include "session/parts/settling_thread.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "session/process/deadline.hpp"
#include "session/process/patience.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds between_checks_whether_settled{10};
constexpr auto between_checks_ns =
    static_cast<std::uint64_t>(std::chrono::nanoseconds(between_checks_whether_settled).count());

// While the machine or this process stands still, the disk seems to. So what a check is late by is added to the limit.
class process_pause {
public:
    template <typename TCheck>
    bool after(TCheck check) {
        const std::uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
        const bool holds = check();
        const std::uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
        if (took_ns > between_checks_ns) late_ns_ += took_ns - between_checks_ns;
        return holds;
    }
    // Of a call that began this long ago, only the time since then can have been a pause.
    void forget_before(std::uint64_t age_ns) noexcept { late_ns_ = std::min(late_ns_, age_ns); }
    std::uint64_t late_ns() const noexcept { return late_ns_; }

private:
    std::uint64_t late_ns_ = 0;
};

}  // namespace

void settling_thread::note_drain(const std::shared_ptr<drain_thread>& drain) {
    const session_lock lock(mutex_);
    drain_ = drain;
}

void settling_thread::post(std::function<void()> task) {
    thread_.post([this, work = std::move(task)] {
        disk_.watch_this_thread();
        work();
    });
}

std::shared_ptr<drain_thread> settling_thread::noted_drain() {
    const session_lock lock(mutex_);
    return drain_.lock();
}

bool settling_thread::await(std::chrono::nanoseconds patience) {
    const auto limit = static_cast<std::uint64_t>(patience.count());
    const std::shared_ptr<drain_thread> drain = noted_drain();
    const std::uint64_t before = drain == nullptr ? 0 : drain->disk().spent_ns();
    const std::uint64_t own_before = disk_.spent_ns();
    process_pause pause;
    for (;;) {
        if (pause.after([&] { return thread_.wait_until_idle(between_checks_whether_settled); })) return true;
        std::uint64_t taken_ns = std::max(disk_.standstill_ns(), disk_.spent_since(own_before));
        if (drain != nullptr) {
            taken_ns = std::max({taken_ns, drain->disk().standstill_ns(), drain->disk().spent_since(before)});
        }
        if (taken_ns > limit + pause.late_ns()) return false;
    }
}

bool settling_thread::await_while_disk_answers(std::chrono::nanoseconds patience) {
    const auto limit = static_cast<std::uint64_t>(patience.count());
    process_pause pause;
    for (;;) {
        if (pause.after([&] { return thread_.wait_until_idle(between_checks_whether_settled); })) return true;
        const std::shared_ptr<drain_thread> drain = noted_drain();  // a task may note another
        const std::uint64_t standstill_ns =
            std::max(disk_.standstill_ns(), drain == nullptr ? 0 : drain->disk().standstill_ns());
        if (standstill_ns < limit) pause.forget_before(standstill_ns);
        if (standstill_ns > limit + pause.late_ns()) return false;
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
    const auto stands_still = [](const disk_watch& disk) {
        return std::chrono::nanoseconds(disk.standstill_ns()) >= longest_standstill;
    };
    if (stands_still(disk_)) return true;
    for (const auto& drain : {noted_drain(), capture_.drain_if_made()}) {
        if (drain != nullptr && stands_still(drain->disk())) return true;
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
