// For how long a thread of ours has been in a call to the storage, so that others need not wait for a disk that does
// not answer. What calls the storage says so by a disk_call; on a thread that nobody watches that costs a look.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "base/clock.hpp"

namespace prof {

class disk_watch {
public:
    // From now on the calling thread's calls are those that are watched, until it ends. The object has to stay.
    void watch_this_thread() noexcept { mine = this; }

    // For how long the call that is under way is; 0 if none is. Any thread, as the next.
    std::uint64_t standstill_ns() const noexcept {
        const std::uint64_t since = since_ns_.load();
        return since == 0 ? 0 : since_until_now(since);
    }
    // In all of them together, the one that is under way included.
    std::uint64_t spent_ns() const noexcept {
        // The other way round a call that ends meanwhile would count twice.
        const std::uint64_t under_way = standstill_ns();
        return spent_ns_.load() + under_way;
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

// A call to the storage, for as long as it lives. One within another begins anew, so that the outer one may be many
// calls.
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
