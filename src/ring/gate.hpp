// The gate: the one word that every hook reads first. 0 means that nothing is recorded; any other value is the number
// of the recording (1, 2, …), and a thread whose producer belongs to an older one attaches anew. `watching_epoch` is
// between the two: nothing is recorded, but hooks look at what passes.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

inline std::atomic<std::uint32_t> recording_epoch{0};
inline constexpr std::uint32_t watching_epoch = 0xFFFFFFFF;

// relaxed: whoever finds it open looks again, with acquire, before touching anything (recording_producer()).
inline bool gate_is_shut() noexcept { return recording_epoch.load(std::memory_order_relaxed) == 0; }

}  // namespace prof
