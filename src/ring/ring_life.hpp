// SPDX-License-Identifier: Apache-2.0
// The states of a ring: free, claimed by a thread, retired when that thread ends, and free again once it is drained.
//
// Threads claim and retire rings; the consumer glances at them and frees them. Templates, so that the tests can run the
// same code with the atomics of a memory model (tests/ring/ring_model_test.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "ring/spsc_ring.hpp"

namespace prof {

enum class ring_state : std::uint32_t {
    free = 0,
    claimed = 1,  // a live thread writes into it
    retired = 2,  // its thread has ended; it becomes free once it is drained
};

// Tries to claim the ring for the calling thread, and returns whether it did. Any thread.
template <typename THeader>
bool claim(THeader& ring) noexcept {
    auto expected = static_cast<std::uint32_t>(ring_state::free);
    // relaxed: a cheap check; the exchange decides.
    if (ring.state.load(std::memory_order_relaxed) != expected) return false;
    // acquire: pairs with the release in set_free(); the last owner and the consumer have finished with the ring.
    return ring.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(ring_state::claimed),
                                              std::memory_order_acquire, std::memory_order_relaxed);
}

// Called by the thread that claimed the ring, once its tid and name are stored.
template <typename THeader>
void set_owner(THeader& ring, std::uint64_t uid) noexcept {
    // release: publishes tid and name to a reader that acquires the uid.
    ring.thread_uid.store(uid, std::memory_order_release);
}

// Called by the thread that claimed the ring, when the thread ends.
template <typename THeader>
void retire(THeader& ring) noexcept {
    // release: a reader that sees the state sees the thread's last records.
    ring.state.store(static_cast<std::uint32_t>(ring_state::retired), std::memory_order_release);
}

// Called by the thread that claimed the ring and cannot use it, or by the consumer once the ring is drained.
template <typename THeader>
void set_free(THeader& ring) noexcept {
    ring.thread_uid.store(0, std::memory_order_relaxed);  // relaxed: ordered by the release below
    ring.state.store(static_cast<std::uint32_t>(ring_state::free), std::memory_order_release);
}

// What the consumer finds in a ring. Once `view` is read, give it back by `consumer`. If the ring was retired it may be
// freed then, since no record follows those in `view`.
template <typename TConsumer>
struct ring_glance {
    TConsumer consumer;
    ring_state state = ring_state::free;
    typename TConsumer::view view;
};

template <typename TSlot, typename TIndex = std::uint64_t, template <typename> typename TAtomic = std::atomic,
          typename THeader>
ring_glance<ring_consumer<TSlot, TIndex, TAtomic>> glance(THeader& ring, const TSlot* slots) noexcept {
    const ring_consumer<TSlot, TIndex, TAtomic> consumer{&ring.counters, slots, ring.capacity};
    // acquire: if the thread has ended, its last records are visible below. The state is read first: if the thread ends
    // between the two reads, the next glance finds that.
    const auto state = static_cast<ring_state>(ring.state.load(std::memory_order_acquire));
    if (state == ring_state::free) return {consumer, state, {}};
    return {consumer, state, consumer.peek()};
}

}  // namespace prof
