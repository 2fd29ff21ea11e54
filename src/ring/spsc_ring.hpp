// A single-producer single-consumer ring in shared memory: a power-of-two array of slots and two counters that only
// grow (and wrap with their type; the tests run it on 8-bit counters, and with atomics that are a memory model's).
//
// The producer is one thread of the host, the consumer the drain thread. Both sides are wait-free; a write is one copy
// and one release store, plus one acquire load whenever the cached tail says "full".
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

// Head and tail on cache lines of their own: producer and consumer do not disturb each other.
template <typename TIndex, template <typename> typename TAtomic = std::atomic>
struct ring_counters {
    alignas(64) TAtomic<TIndex> head{0};
    std::atomic<TIndex> naming{0};  // the head will be this when what the producer looks for a name for is written
    alignas(64) TAtomic<TIndex> tail{0};
};

template <typename TSlot, typename TIndex = std::uint64_t, template <typename> typename TAtomic = std::atomic>
class ring_producer {
    using counters = ring_counters<TIndex, TAtomic>;

public:
    ring_producer() = default;
    // REQUIRES: capacity is a power of two and at most half of TIndex's range; no other producer on these counters.
    ring_producer(counters* where, TSlot* slots, std::size_t capacity) noexcept
        : counters_(where),
          slots_(slots),
          mask_(static_cast<TIndex>(capacity - 1)),
          // relaxed: the producer is the only writer of head, and takes over from a predecessor it synchronised with.
          head_(where->head.load(std::memory_order_relaxed)),
          // acquire: slots the consumer has released may be overwritten.
          tail_seen_(where->tail.load(std::memory_order_acquire)) {
        room_ = static_cast<TIndex>(static_cast<TIndex>(capacity) - static_cast<TIndex>(head_ - tail_seen_));
    }

    // Sets `count` free slots aside: for what is written next, and for what is to have a place later. False, and
    // nothing has changed, if there are fewer.
    bool take(TIndex count) noexcept {
        if (!make_room(count)) [[unlikely]]
            return false;
        take_some_of_room(count);
        return true;
    }
    // As take() finds it without looking at the consumer's side; with a look if need be; and the rest of it.
    bool has_room(TIndex count) const noexcept { return room_ >= count; }
    bool make_room(TIndex count) noexcept {
        if (room_ >= count) [[likely]]
            return true;
        // acquire: pairs with the consumer's release of tail; its reads of the slots are over.
        const TIndex tail = counters_->tail.load(std::memory_order_acquire);
        room_ = static_cast<TIndex>(room_ + static_cast<TIndex>(tail - tail_seen_));
        tail_seen_ = tail;
        return room_ >= count;
    }
    void take_some_of_room(TIndex count) noexcept { room_ = static_cast<TIndex>(room_ - count); }
    // What is written next gets a name now, and until it is written the consumer frees none (ring/name_recycling.hpp).
    void begin_naming() noexcept {
        // relaxed, both: only the producer stores them, and the consumer waits for the store to be seen.
        const auto next = static_cast<TIndex>(counters_->head.load(std::memory_order_relaxed) + 1);
        counters_->naming.store(next, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    // It is not written after all.
    void end_naming() noexcept { counters_->naming.store(0, std::memory_order_relaxed); }
    // So many of what take() gave have not been written yet.
    TIndex set_aside() const noexcept {
        return static_cast<TIndex>(static_cast<TIndex>(mask_ + 1) - static_cast<TIndex>(head_ - tail_seen_) - room_);
    }
    TIndex capacity() const noexcept { return static_cast<TIndex>(mask_ + 1); }
    void give_back(TIndex count) noexcept { room_ = static_cast<TIndex>(room_ + count); }

    // `fill` writes the next slot; then the consumer sees it. REQUIRES: its place was taken.
    template <typename TFill>
    void put(TFill&& fill) noexcept {
        TSlot& slot = slots_[static_cast<std::size_t>(head_ & mask_)];
        const auto next = static_cast<TIndex>(head_ + 1);
        counters* const where = counters_;  // all read before `fill` writes, of which the compiler knows too little
        head_ = next;
        fill(slot);
        prefetch_behind(slot);
        // release: publishes the slot with the counter.
        where->head.store(next, std::memory_order_release);
    }

    // All at once, and `kept` places more for later. False if it does not fit.
    bool write(const TSlot& slot, TIndex kept = 0) noexcept {
        if (!take(static_cast<TIndex>(1 + kept))) [[unlikely]]
            return false;
        put([&](TSlot& to) { to = slot; });
        return true;
    }

private:
    // The consumer's core read the next line a lap ago. Asked for now, it is ours again by the next write; else the
    // next atomic operation of whoever comes after that write waits for it. Behind the last slot this asks for what
    // lies there, once a lap: that harms nobody, and to find the first slot's address would cost each write more.
    static void prefetch_behind(TSlot& slot) noexcept {
        constexpr std::uintptr_t ahead = sizeof(TSlot) + (sizeof(TSlot) < 64 ? 64 : sizeof(TSlot));
        const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(&slot) + ahead;
#if defined(__x86_64__)
        // The builtin means a prefetch for reading unless the compiler is given an option for newer processors.
        __asm__ volatile("prefetchw %0" : : "m"(*reinterpret_cast<const char*>(at)));
#else
        __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
#endif
    }

    counters* counters_ = nullptr;
    TSlot* slots_ = nullptr;
    TIndex mask_ = 0;
    TIndex head_ = 0;
    TIndex room_ = 0;  // slots that were free when the tail was seen, and are not set aside
    TIndex tail_seen_ = 0;
};

// What the consumer sees: the filled slots as at most two spans (the ring may wrap inside).
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

    // REQUIRES: as for the producer; no other consumer on these counters.
    ring_consumer(counters* where, const TSlot* slots, std::size_t capacity) noexcept
        : counters_(where), slots_(slots), capacity_(capacity) {}

    view peek() const noexcept {
        // relaxed: only the consumer stores tail.
        const TIndex tail = counters_->tail.load(std::memory_order_relaxed);
        // acquire: pairs with the producer's release of head; the slots are seen.
        const TIndex head = counters_->head.load(std::memory_order_acquire);
        const auto count = static_cast<std::size_t>(static_cast<TIndex>(head - tail));
        // What no producer does: memory that somebody else has written to.
        if (count > capacity_) [[unlikely]]
            return {{}, {}, tail, tail};
        const std::size_t at = static_cast<std::size_t>(tail) & (capacity_ - 1);
        const std::size_t to_edge = capacity_ - at;
        const std::size_t first = count < to_edge ? count : to_edge;
        return {{slots_ + at, first}, {slots_, count - first}, tail, head};
    }

    // Gives the slots before `end` back to the producer.
    void release(TIndex end) noexcept {
        // release: our reads of the slots happen before the producer's next writes to them.
        counters_->tail.store(end, std::memory_order_release);
    }

private:
    counters* counters_;
    const TSlot* slots_;
    std::size_t capacity_;
};

}  // namespace prof
