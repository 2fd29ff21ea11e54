// SPDX-License-Identifier: Apache-2.0
#include "ring/name_recycling.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace prof {
namespace {

constexpr std::chrono::microseconds moment{50};

// Whether the ring's thread is at a name, and for which record.
bool is_at_name(const ring_header& ring, std::uint64_t& number) noexcept {
    // acquire, both: once a thread has left the name, its record is visible.
    number = ring.counters.naming.load(std::memory_order_acquire);
    const std::uint64_t head = ring.counters.head.load(std::memory_order_acquire);
    return number == head + 1 &&
           ring.state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ring_state::claimed);
}

}  // namespace

void name_recycling::note_threads() {
    noted_.clear();
    for (const ring_header& ring : region_.rings()) {
        std::uint64_t number = 0;
        if (is_at_name(ring, number)) noted_.push_back({&ring, ring.thread_uid.load(), number});
    }
    waits_for_others_ = region_.is_at_name_without_ring();
    has_noted_ = true;
}

bool name_recycling::is_at_it(const thread_at_name& noted) noexcept {
    std::uint64_t number = 0;
    return is_at_name(*noted.ring, number) && number == noted.number &&
           noted.ring->thread_uid.load() == noted.thread_uid;
}

bool name_recycling::all_have_left() {
    std::erase_if(noted_, [](const thread_at_name& noted) { return !is_at_it(noted); });
    waits_for_others_ = waits_for_others_ && region_.is_at_name_without_ring();
    return noted_.empty() && !waits_for_others_;
}

bool name_recycling::prepare() {
    passing_names& names = region_.passing();
    const bool retires = from() == to() && names.retire();
    if (from() == to()) return false;
    if (retires || !has_noted_) {
        std::this_thread::sleep_for(moment);
        note_threads();
    }
    if (all_have_left()) return true;
    std::this_thread::sleep_for(moment);
    return all_have_left();
}

std::uint64_t name_recycling::from() const noexcept { return region_.passing().freed(); }

std::uint64_t name_recycling::to() const noexcept { return region_.passing().begin(); }

void name_recycling::finish() noexcept {
    region_.passing().free();
    has_noted_ = false;
}

}  // namespace prof
