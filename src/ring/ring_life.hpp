// The life of a ring: free, claimed by a thread, retired when that ends, and free again once it is drained.
//
// Claiming and retiring are the threads', glancing and freeing the consumer's. Templates, so that the tests run the
// same code with atomics that are a memory model's (tests/ring/ring_model_test.cpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "ring/spsc_ring.hpp"

namespace prof {

enum class ring_state : std::uint32_t {
    free = 0,
    claimed = 1,  // a live thread writes into it
    retired = 2,  // its thread has ended; free again once drained
};

// Whether the calling thread has the ring now. Any thread.
template <typename THeader>
bool claim(THeader& ring) noexcept {
    auto expected = static_cast<std::uint32_t>(ring_state::free);
    // relaxed: a first look; the exchange decides.
    if (ring.state.load(std::memory_order_relaxed) != expected) return false;
    // acquire: pairs with the release in set_free; the last owner and the consumer are done with it.
    return ring.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(ring_state::claimed),
                                              std::memory_order_acquire, std::memory_order_relaxed);
}

// By the thread that has claimed it, once tid and name are there.
template <typename THeader>
void set_owner(THeader& ring, std::uint64_t uid) noexcept {
    // release: publishes tid and name to whoever acquires the uid.
    ring.thread_uid.store(uid, std::memory_order_release);
}

// By the thread that has claimed it, when it ends.
template <typename THeader>
void retire(THeader& ring) noexcept {
    // release: the thread's last records are seen by whoever sees the state.
    ring.state.store(static_cast<std::uint32_t>(ring_state::retired), std::memory_order_release);
}

// By the thread that has claimed it and cannot use it, or by the consumer once it is drained.
template <typename THeader>
void set_free(THeader& ring) noexcept {
    ring.thread_uid.store(0, std::memory_order_relaxed);  // relaxed: ordered by the release below
    ring.state.store(static_cast<std::uint32_t>(ring_state::free), std::memory_order_release);
}

// What the consumer finds in a ring. Once `view` is read, `consumer` gives it back; then, if it was retired, the ring
// may be freed: nothing comes after what is in `view`.
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
    // acquire: if the thread has ended, its last records are seen below. The state is looked at first: a thread that
    // ends between the two looks is found to have ended the next time.
    const auto state = static_cast<ring_state>(ring.state.load(std::memory_order_acquire));
    if (state == ring_state::free) return {consumer, state, {}};
    return {consumer, state, consumer.peek()};
}

}  // namespace prof
