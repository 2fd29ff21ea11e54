// The gate: the word by which every hook knows whether to record. 0 means that nothing is recorded; any other value is
// the number of the recording (1, 2, …), and a thread whose producer belongs to an older one attaches anew.
// `watching_epoch` is between the two: nothing is recorded, but hooks look at what passes. A range's hook reads
// plain_epoch first, which follows the gate.
//
// The gate has a page of its own, which the kernel wipes in every child that has memory of its own, also in one that
// was made past the handlers of pthread_atfork (clone(2), _Fork(3)). All zeros is a gate that is shut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace prof {

#if defined(__x86_64__)
inline constexpr std::size_t gate_bytes = 4096;
#else
inline constexpr std::size_t gate_bytes = 65536;  // the largest page that there is
#endif

struct alignas(gate_bytes) gate_words {
    std::atomic<std::uint32_t> recording_epoch{0};
    std::atomic<std::uint32_t> symbol_generation{0};
    std::atomic<std::uint32_t> plain_epoch{0};
    std::atomic<bool> ranges_are_watched{false};
    std::atomic<bool> is_guarded{false};  // guard_gate() was called in this process
};
static_assert(sizeof(gate_words) == gate_bytes);
inline gate_words all_gate_words;  // what hooks read each time, in one cache line
inline constexpr std::atomic<std::uint32_t>& recording_epoch = all_gate_words.recording_epoch;
// That of kernels' symbols: another number after a module was unloaded, 0 where that is not reported.
inline constexpr std::atomic<std::uint32_t>& symbol_generation = all_gate_words.symbol_generation;
inline constexpr std::uint32_t watching_epoch = 0xFFFFFFFF;
// In a child that was forked during a recording: its first record begins one of its own.
inline constexpr std::uint32_t orphan_epoch = 0xFFFFFFFE;
// The session is being prepared: who comes with a record waits for that, or the first ranges would be lost.
inline constexpr std::uint32_t preparing_epoch = 0xFFFFFFFB;

// The recording's number again, while it is a plain one: no range is watched. Else a number that is no thread's
// (no_plain_epoch). So with one comparison a range's hook knows that nothing is to be done but to record.
inline constexpr std::atomic<std::uint32_t>& plain_epoch = all_gate_words.plain_epoch;
inline constexpr std::uint32_t no_plain_epoch = 0;

// What a thread compares with it (thread_words::direct_epoch) where it has no plain recording's number: neither is ever
// the gate's.
inline constexpr std::uint32_t no_direct_epoch = 0xFFFFFFFD;
inline constexpr std::uint32_t writing_epoch = 0xFFFFFFFC;  // it is in the middle of a record

inline std::atomic<bool> a_gate_is_guarded{false};  // in memory that a child has as it was

// Has the gate's page wiped in children from now on. By the process that is about to record; again in a child that
// records for itself.
void guard_gate() noexcept;
// The gate was wiped: this is the child of a process that recorded, and nobody else has seen it begin.
inline bool gate_was_wiped() noexcept {
    // relaxed: a child has one thread.
    return a_gate_is_guarded.load(std::memory_order_relaxed) &&
           !all_gate_words.is_guarded.load(std::memory_order_relaxed);
}

// Templates, so that the tests run the same code with atomics that are a memory model's.
template <typename TGate>
bool is_shut(const TGate& gate) noexcept {
    // relaxed: whoever finds it open looks again, with acquire, before touching anything (epoch_of()).
    return gate.load(std::memory_order_relaxed) == 0;
}
template <typename TGate>
std::uint32_t epoch_of(const TGate& gate) noexcept {
    // acquire: a thread that sees the gate open sees the region that was installed before (a plain load on x86).
    return gate.load(std::memory_order_acquire);
}
template <typename TGate>
void set_gate(TGate& gate, std::uint32_t epoch) noexcept {
    gate.store(epoch);  // seq_cst: rare; what is needed is that it releases the region
}

// After a change of one of the words that `plain` follows from. Of two threads that are here at once the last to store
// looks again.
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
// Those of the process.
inline void follow_gate() noexcept { follow_gate(recording_epoch, all_gate_words.ranges_are_watched, plain_epoch); }
inline void set_gate(std::atomic<std::uint32_t>& gate, std::uint32_t epoch) noexcept {
    set_gate<std::atomic<std::uint32_t>>(gate, epoch);
    follow_gate();
}
inline void watch_all_ranges(bool watched) noexcept {
    all_gate_words.ranges_are_watched.store(watched);
    follow_gate();
}

inline bool gate_is_shut() noexcept { return is_shut(recording_epoch); }

}  // namespace prof
