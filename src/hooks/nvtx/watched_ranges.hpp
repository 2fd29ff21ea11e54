// Ranges by which the program says something to the session: "a step begins", "record from here to there". They are
// heard while nothing is recorded, too, if the gate is on `watching_epoch` then.
//
// Where nothing is watched this costs nothing (plain_epoch, in ring/gate.hpp); where something is, a push costs a
// comparison of its text, and pushes and pops go the long way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hooks/nvtx/nvtx_types.hpp"
#include "record/range_name.hpp"
#include "ring/producer.hpp"

namespace prof {

enum class range_use : std::uint8_t { step, capture };

// A # in a name stands for a number, as in summaries: "step #" is "step 12", too. Numbers that PyTorch's observer
// appends to a name do not belong to it.
struct watched_range {
    range_use use = range_use::step;
    range_name range;
};

// Called on the thread that pushes or pops, before the push is recorded and after the pop is. A step is heard on the
// thread that pushed it first, and on no other. True for a push of a capture range with which a window opened: its pop,
// on the same thread, is reported with `begins` false.
using range_observer = bool (*)(range_use use, bool begins) noexcept;

// Replaces what was watched. By one thread at a time. What it replaces is kept, since a hook may be looking at it.
void watch_ranges(const std::vector<watched_range>& ranges, region& where, range_observer listener);

struct range_watch;
inline std::atomic<range_watch*> active_watch{nullptr};

// The push with which a window opened: whose it was, and where it stands on the stack of its domain.
struct window_opener {
    std::atomic<const producer*> thread{nullptr};
    std::atomic<std::uint32_t> domain{0};
    std::atomic<int> level{0};
};
inline window_opener window_opened_by;

bool observe_push(range_watch& watch, std::uint32_t domain, std::string_view text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const char* text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const wchar_t* text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const nvtxEventAttributes_t* event) noexcept;
inline bool observe_push(range_watch&, std::uint32_t, std::nullptr_t) noexcept { return false; }  // it has no name
void observe_last_pop() noexcept;

// Before a push is recorded; `text` as the program gave it. True if a window opened with it.
template <typename TText>
bool opens_window(std::uint32_t domain, TText text) noexcept {
    // acquire: what it points to is seen with it (a plain load on x86).
    range_watch* const watch = active_watch.load(std::memory_order_acquire);
    if (watch == nullptr) [[likely]]
        return false;
    return observe_push(*watch, domain, text);
}

// After that push. `thread` null: it could not be recorded, and so will its pop not be.
void remember_opener(const producer* thread, std::uint32_t domain, int level) noexcept;

// Whether the window that is open opened with a push of this thread's.
inline bool has_opened_window(const producer* thread) noexcept {
    // relaxed: where it is this thread, this thread set all three.
    return window_opened_by.thread.load(std::memory_order_relaxed) == thread;
}

// After a recorded pop.
inline void note_pop(const producer* thread, std::uint32_t domain, int level) noexcept {
    if (!has_opened_window(thread)) [[likely]]
        return;
    if (window_opened_by.domain.load(std::memory_order_relaxed) == domain &&
        window_opened_by.level.load(std::memory_order_relaxed) == level) {
        observe_last_pop();
    }
}

}  // namespace prof
