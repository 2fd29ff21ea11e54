// SPDX-License-Identifier: Apache-2.0
// A single-producer single-consumer ring in shared memory: a power-of-two array of slots and two counters that only
// grow. The counters wrap with their type. The tests run the ring with 8-bit counters, and with the atomics of a memory
// model.
//
// The producer is one thread of the host process, the consumer is the drain thread. Both sides are wait-free. A write
// is one copy and one release store, plus one acquire load whenever the cached tail leaves no room.
//
// Invariants
//  1. head − tail ≤ capacity, in the counters' modular arithmetic; capacity ≤ half the counters' range.
//  2. Slots in [tail, head) belong to the consumer, the others to the producer.
//  3. Only the producer stores head, only the consumer stores tail.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace prof {

// Head and tail are on separate cache lines, so that producer and consumer do not disturb each other.
template <typename TIndex, template <typename> typename TAtomic = std::atomic>
struct ring_counters {
    alignas(64) TAtomic<TIndex> head{0};
    std::atomic<TIndex> naming{0};  // the head after the record for which the producer needs a name now
    alignas(64) TAtomic<TIndex> tail{0};
};

template <typename TSlot, typename TIndex = std::uint64_t, template <typename> typename TAtomic = std::atomic>
class ring_producer {
    using counters = ring_counters<TIndex, TAtomic>;

public:
    ring_producer() = default;
    // REQUIRES: capacity is a power of two and at most half of TIndex's range; no other producer uses these counters.
    ring_producer(counters* where, TSlot* slots, std::size_t capacity) noexcept
        : counters_(where),
          slots_(slots),
          mask_(static_cast<TIndex>(capacity - 1)),
          // relaxed: only the producer writes head, and it has synchronised with its predecessor.
          head_(where->head.load(std::memory_order_relaxed)),
          // acquire: slots that the consumer has released may be overwritten.
          tail_seen_(where->tail.load(std::memory_order_acquire)) {
        room_ = static_cast<TIndex>(static_cast<TIndex>(capacity) - static_cast<TIndex>(head_ - tail_seen_));
    }

    // Reserves `count` free slots, for the next records or for later ones. Returns false, with nothing changed, if
    // fewer are free.
    bool take(TIndex count) noexcept {
        if (!make_room(count)) [[unlikely]]
            return false;
        take_some_of_room(count);
        return true;
    }
    // The parts of take(): a check that does not read the consumer's counter, one that does if needed, and the
    // reservation.
    bool has_room(TIndex count) const noexcept { return room_ >= count; }
    bool make_room(TIndex count) noexcept {
        if (room_ >= count) [[likely]]
            return true;
        // acquire: pairs with the consumer's release of tail; the consumer has finished reading those slots.
        const TIndex tail = counters_->tail.load(std::memory_order_acquire);
        room_ = static_cast<TIndex>(room_ + static_cast<TIndex>(tail - tail_seen_));
        tail_seen_ = tail;
        return room_ >= count;
    }
    void take_some_of_room(TIndex count) noexcept { room_ = static_cast<TIndex>(room_ - count); }
    // Announces that the next record gets a name now. Until it is written the consumer frees no name
    // (ring/name_recycling.hpp).
    void begin_naming() noexcept {
        // relaxed, both: only the producer stores them, and the consumer waits until the store is visible.
        const auto next = static_cast<TIndex>(counters_->head.load(std::memory_order_relaxed) + 1);
        counters_->naming.store(next, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    // The announced record will not be written.
    void end_naming() noexcept { counters_->naming.store(0, std::memory_order_relaxed); }
    // The number of reserved slots that are not written yet.
    TIndex set_aside() const noexcept {
        return static_cast<TIndex>(static_cast<TIndex>(mask_ + 1) - static_cast<TIndex>(head_ - tail_seen_) - room_);
    }
    TIndex capacity() const noexcept { return static_cast<TIndex>(mask_ + 1); }
    // Undoes the reservation of slots that are not written. REQUIRES: so many are reserved.
    void give_back(TIndex count) noexcept { room_ = static_cast<TIndex>(room_ + count); }

    // `fill` writes the next slot, which the consumer can then see. REQUIRES: a slot was reserved for it.
    template <typename TFill>
    void put(TFill&& fill) noexcept {
        TSlot& slot = slots_[static_cast<std::size_t>(head_ & mask_)];
        const auto next = static_cast<TIndex>(head_ + 1);
        counters* const where = counters_;  // read before `fill`, which the compiler must assume to change members
        head_ = next;
        fill(slot);
        prefetch_behind(slot);
        // release: publishes the slot with the counter.
        where->head.store(next, std::memory_order_release);
    }

    // Reserves a slot, writes it, and reserves `kept` more slots for later. Returns false if they do not fit.
    bool write(const TSlot& slot, TIndex kept = 0) noexcept {
        if (!take(static_cast<TIndex>(1 + kept))) [[unlikely]]
            return false;
        put([&](TSlot& place) { place = slot; });
        return true;
    }

private:
    // The consumer's core read the next cache line one lap ago. Prefetched now, the line belongs to this core again by
    // the next write. Otherwise the next atomic operation after that write would wait for it. Behind the last slot this
    // prefetches whatever lies there, once a lap. That is harmless, and finding the first slot's address would make
    // each write slower.
    static void prefetch_behind(TSlot& slot) noexcept {
        constexpr std::uintptr_t ahead = sizeof(TSlot) + (sizeof(TSlot) < 64 ? 64 : sizeof(TSlot));
        const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(&slot) + ahead;
#if defined(__x86_64__)
        // The builtin prefetches for reading only, unless the compiler has an option for newer processors.
        __asm__ volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(address)));
#else
        __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
    }

    counters* counters_ = nullptr;
    TSlot* slots_ = nullptr;
    TIndex mask_ = 0;
    TIndex head_ = 0;
    TIndex room_ = 0;  // slots that were free when the tail was last read and are not reserved
    TIndex tail_seen_ = 0;
};

// What the consumer reads: the filled slots, as at most two spans since the ring may wrap.
template <typename TSlot, typename TIndex = std::uint64_t>
struct ring_view {
    std::span<const TSlot> first;
    std::span<const TSlot> second;
    TIndex begin = 0;  // number of the first slot
    TIndex end = 0;    // one past the last

    std::size_t size() const noexcept { return first.size() + second.size(); }
};

template <typename TSlot, typename TIndex = std::uint64_t, template <typename> typename TAtomic = std::atomic>
class ring_consumer {
    using counters = ring_counters<TIndex, TAtomic>;

public:
    using view = ring_view<TSlot, TIndex>;

    // REQUIRES: as for the producer; no other consumer uses these counters.
    ring_consumer(counters* where, const TSlot* slots, std::size_t capacity) noexcept
        : counters_(where), slots_(slots), capacity_(capacity) {}

    // What the producer has published and release() has not given back.
    view peek() const noexcept {
        // relaxed: only the consumer stores tail.
        const TIndex tail = counters_->tail.load(std::memory_order_relaxed);
        // acquire: pairs with the producer's release of head; the slots are visible.
        const TIndex head = counters_->head.load(std::memory_order_acquire);
        const auto count = static_cast<std::size_t>(static_cast<TIndex>(head - tail));
        // No producer does this: other code has overwritten the memory.
        if (count > capacity_) [[unlikely]]
            return {{}, {}, tail, tail};
        const std::size_t index = static_cast<std::size_t>(tail) & (capacity_ - 1);
        const std::size_t to_edge = capacity_ - index;
        const std::size_t first = count < to_edge ? count : to_edge;
        return {{slots_ + index, first}, {slots_, count - first}, tail, head};
    }

    // Gives the slots before `end` back to the producer. REQUIRES: `end` is from `begin` to `end` of the latest peek().
    void release(TIndex end) noexcept {
        // release: this thread's reads of the slots happen before the producer's next writes to them.
        counters_->tail.store(end, std::memory_order_release);
    }

private:
    counters* counters_;
    const TSlot* slots_;
    std::size_t capacity_;
};

}  // namespace prof
