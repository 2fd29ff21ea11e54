// SPDX-License-Identifier: Apache-2.0
// Measures how long a libprof thread has been in a call to the storage, so that other threads need not wait for a disk
// that does not answer. Code that calls the storage holds a disk_call meanwhile. On a thread without a watch that costs
// one check.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/clock.hpp"

namespace prof {

class disk_watch {
public:
    // Watches the calls of the calling thread from now on, until it ends. This object must outlive the thread.
    void watch_this_thread() noexcept { mine = this; }

    // How long the current call has lasted; 0 if there is none. Any thread, like spent_ns().
    std::uint64_t standstill_ns() const noexcept {
        const std::uint64_t since = since_ns_.load();
        return since == 0 ? 0 : since_until_now(since);
    }
    // The time in all calls together, the current one included. A call that ends just now may be missing, or count
    // twice: a later value may be less.
    std::uint64_t spent_ns() const noexcept {
        const std::uint64_t under_way = standstill_ns();
        return spent_ns_.load() + under_way;
    }
    // The time in calls since spent_ns() was `before`; 0 where the value is less now.
    std::uint64_t spent_since(std::uint64_t before) const noexcept {
        const std::uint64_t now = spent_ns();
        return now > before ? now - before : 0;
    }

private:
    friend class disk_call;
    static std::uint64_t since_until_now(std::uint64_t since) noexcept {
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        return now > since ? now - since : 0;
    }

    static inline thread_local constinit disk_watch* mine = nullptr;
    std::atomic<std::uint64_t> since_ns_{0};
    std::atomic<std::uint64_t> spent_ns_{0};
};

// Marks a call to the storage, for as long as this object lives. An inner disk_call restarts the measurement, so the
// outer one may enclose many calls.
class disk_call {
public:
    disk_call() noexcept : watch_(disk_watch::mine) {
        if (watch_ == nullptr) return;
        is_outer_ = watch_->since_ns_.load() == 0;
        begin();
    }
    ~disk_call() {
        if (watch_ == nullptr) return;
        const std::uint64_t since = watch_->since_ns_.exchange(0);
        watch_->spent_ns_.fetch_add(disk_watch::since_until_now(since));
        if (!is_outer_) begin();
    }
    disk_call(const disk_call&) = delete;
    disk_call& operator=(const disk_call&) = delete;

private:
    void begin() noexcept { watch_->since_ns_.store(clock_ns(CLOCK_MONOTONIC)); }

    disk_watch* const watch_;
    bool is_outer_ = true;
};

}  // namespace prof
