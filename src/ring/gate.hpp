// SPDX-License-Identifier: Apache-2.0
// The gate: one word that every hook reads to decide whether to record. 0 means that nothing is recorded. Otherwise it
// is the epoch of the open window (1, 2, …), an epoch in which ranges and graph nodes are only observed
// (observed_epoch_bit), or one of the special values below. A thread whose producer belongs to an older epoch attaches
// again.
//
// Hooks read it on any thread, at the cost of a load. The session writes it. A range's hook reads plain_epoch first, a
// word that follows the gate.
//
// The gate has a memory page of its own. The kernel zeroes that page in every child process that has its own memory,
// even in a child that bypassed the handlers of pthread_atfork (clone(2), _Fork(3)). All zeros is a gate that is shut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace prof {

#if defined(__x86_64__)
inline constexpr std::size_t gate_bytes = 4096;
#else
inline constexpr std::size_t gate_bytes = 65536;  // the largest page size of any supported system
#endif

struct alignas(gate_bytes) gate_words {
    std::atomic<std::uint32_t> recording_epoch{0};
    std::atomic<std::uint32_t> symbol_generation{0};
    std::atomic<std::uint32_t> plain_epoch{0};
    std::atomic<bool> ranges_are_watched{false};
    std::atomic<bool> is_guarded{false};  // guard_gate() was called in this process
};
static_assert(sizeof(gate_words) == gate_bytes);
inline gate_words all_gate_words;  // the words that hooks read each time, in one cache line
inline constexpr std::atomic<std::uint32_t>& recording_epoch = all_gate_words.recording_epoch;
// The generation of the kernels' symbols. It changes after a module was unloaded; 0 if CUPTI does not report unloading.
inline constexpr std::atomic<std::uint32_t>& symbol_generation = all_gate_words.symbol_generation;
// Nothing is recorded, but the hooks of ranges check each range: one that is watched may open a window.
inline constexpr std::uint32_t watching_epoch = 0xFFFFFFFF;
// In a child that was forked during a recording: its first record begins a recording of its own.
inline constexpr std::uint32_t orphan_epoch = 0xFFFFFFFE;
// libprof's threads rest since a fork (session/threads_at_fork.hpp): the first record makes them again.
inline constexpr std::uint32_t resting_epoch = 0xFFFFFFFA;
// The session is being prepared. A thread with a record waits until that is done; otherwise the first ranges would be
// lost.
inline constexpr std::uint32_t preparing_epoch = 0xFFFFFFFB;

// Equals the gate while no range is watched; otherwise it is no_plain_epoch, which is never a thread's epoch. So a
// range's hook needs one comparison to find that it has only to record.
inline constexpr std::atomic<std::uint32_t>& plain_epoch = all_gate_words.plain_epoch;
inline constexpr std::uint32_t no_plain_epoch = 0;

// Values of thread_words::direct_epoch for a thread that cannot take the short path. The gate never has either of them.
inline constexpr std::uint32_t no_direct_epoch = 0xFFFFFFFD;
inline constexpr std::uint32_t writing_epoch = 0xFFFFFFFC;  // the thread is in the middle of a record

inline std::atomic<bool> a_gate_is_guarded{false};  // in memory that a child inherits unchanged

// Makes the kernel zero the gate's page in children from now on. A process calls it before it records, and so does a
// child that makes a recording of its own.
void guard_gate() noexcept;
// Whether the kernel has zeroed the gate: then this is the child of a process that recorded, and no fork handler of
// libprof ran in it.
inline bool gate_was_wiped() noexcept {
    // relaxed: a child has one thread.
    return a_gate_is_guarded.load(std::memory_order_relaxed) &&
           !all_gate_words.is_guarded.load(std::memory_order_relaxed);
}

// Templates, so that the tests can run the same code with the atomics of a memory model.
template <typename TGate>
bool is_shut(const TGate& gate) noexcept {
    // relaxed: a caller that finds the gate open reads it again with acquire, in epoch_of(), before it touches
    // anything.
    return gate.load(std::memory_order_relaxed) == 0;
}
template <typename TGate>
std::uint32_t epoch_of(const TGate& gate) noexcept {
    // acquire: a thread that sees the gate open sees the region that was installed before (a plain load on x86).
    return gate.load(std::memory_order_acquire);
}
// Called with each value that the gate gets, by the thread that sets it, after the hooks see it. Null: nobody wants to
// know. It must not block: a forked child's handler of pthread_atfork sets the gate, too.
inline std::atomic<void (*)(std::uint32_t epoch) noexcept> gate_follower{nullptr};

template <typename TGate>
void set_gate(TGate& gate, std::uint32_t epoch) noexcept {
    gate.store(epoch);  // seq_cst: rare. Only release is needed, for the region
}

// Derives `plain_word` from `gate` and `watched`; call it after a change of either. Checks again after its store, so
// that of two concurrent callers the last one leaves the right value.
template <typename TGate, typename TFlag>
void follow_gate(const TGate& gate, const TFlag& watched, TGate& plain_word) noexcept {
    const auto wanted = [&] {
        const std::uint32_t epoch = gate.load();
        return epoch == 0 || watched.load() ? no_plain_epoch : epoch;
    };
    std::uint32_t plain = 0;
    do {
        plain = wanted();
        plain_word.store(plain);
    } while (plain != wanted());
}
// These work on the words of this process.
inline void follow_gate() noexcept { follow_gate(recording_epoch, all_gate_words.ranges_are_watched, plain_epoch); }
inline void set_gate(std::atomic<std::uint32_t>& gate, std::uint32_t epoch) noexcept {
    set_gate<std::atomic<std::uint32_t>>(gate, epoch);
    follow_gate();
    if (auto* const follower = gate_follower.load()) follower(epoch);
}
// Sets whether any range is watched. While one is, every range takes the slow path.
inline void watch_all_ranges(bool watched) noexcept {
    all_gate_words.ranges_are_watched.store(watched);
    follow_gate();
}

inline bool gate_is_shut() noexcept { return is_shut(recording_epoch); }

}  // namespace prof
