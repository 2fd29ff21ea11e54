// SPDX-License-Identifier: Apache-2.0
#include "fakes/gpu/clock.hpp"

#include <ctime>

namespace fake {
namespace {

constexpr std::uint64_t ns_per_second = 1'000'000'000;

std::uint64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * ns_per_second + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void gpu_clock::reset(bool is_virtual) {
    virtual_now_ns_ = realtime_ns();
    is_virtual_ = is_virtual;
}

std::uint64_t gpu_clock::now_ns() const { return is_virtual_ ? virtual_now_ns_.load() : realtime_ns(); }

void gpu_clock::set_ns(std::uint64_t now_ns) { virtual_now_ns_ = now_ns; }

void gpu_clock::advance_ns(std::uint64_t ns) { virtual_now_ns_ += ns; }

void gpu_clock::wait_until(std::uint64_t end_ns) {
    if (is_virtual_) {
        std::uint64_t now = virtual_now_ns_;
        while (now < end_ns && !virtual_now_ns_.compare_exchange_weak(now, end_ns)) {
        }
        return;
    }
    const timespec end{.tv_sec = static_cast<time_t>(end_ns / ns_per_second),
                       .tv_nsec = static_cast<long>(end_ns % ns_per_second)};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, nullptr) != 0) {
    }
}

}  // namespace fake
