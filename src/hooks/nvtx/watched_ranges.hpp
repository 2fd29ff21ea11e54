// SPDX-License-Identifier: Apache-2.0
// Ranges by which the program controls the session: "a step begins", "record from here to there". They are also
// observed while nothing is recorded, if the gate has the value `watching_epoch`.
//
// If nothing is watched this costs nothing (plain_epoch in ring/gate.hpp). Otherwise each push costs a comparison of
// its text, and pushes and pops take the slow path.
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

// A # in a name stands for a number, as in summaries: "step #" also matches "step 12". Numbers that PyTorch's observer
// appends are not part of a name.
struct watched_range {
    range_use use = range_use::step;
    range_name range;
};

// Called on the thread that pushes or pops: before the push is recorded, and after the pop is. Only the thread that
// pushed a step first reports steps, and once that has ended the one that pushes one next. Returns true for a push of a
// capture range that opened a window. Its pop, on the same thread, is then reported with `begins` false.
using range_observer = bool (*)(range_use use, bool begins) noexcept;

// Replaces the watched ranges. One thread at a time. The replaced ones are never freed, since a hook may be reading
// them.
void watch_ranges(const std::vector<watched_range>& ranges, region& where, range_observer observer);

struct range_watch;
inline std::atomic<range_watch*> active_watch{nullptr};

// The push that opened a window: its thread, and its place on the stack of its domain.
struct window_opener {
    std::atomic<const producer*> thread{nullptr};
    std::atomic<std::uint64_t> number{0};  // of the thread (number_of_this_thread())
    std::atomic<std::uint32_t> domain{0};
    std::atomic<int> level{0};
};
inline window_opener window_opened_by;

bool observe_push(range_watch& watch, std::uint32_t domain, std::string_view text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const char* text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const wchar_t* text) noexcept;
bool observe_push(range_watch& watch, std::uint32_t domain, const nvtxEventAttributes_t* event) noexcept;
inline bool observe_push(range_watch&, std::uint32_t, std::nullptr_t) noexcept {
    return false;
}  // the range has no name
void observe_last_pop() noexcept;

// Call it before a push is recorded, with the program's text. Returns whether the push opened a window.
template <typename TText>
bool opens_window(std::uint32_t domain, TText text) noexcept {
    // acquire: what the pointer refers to is visible (a plain load on x86).
    range_watch* const watch = active_watch.load(std::memory_order_acquire);
    if (watch == nullptr) [[likely]]
        return false;
    return observe_push(*watch, domain, text);
}

// Call it after that push. `thread` is null if the push could not be recorded; then its pop will not be, either.
void remember_opener(const producer* thread, std::uint32_t domain, int level) noexcept;

// Whether the open window was opened by a push of this thread.
inline bool has_opened_window(const producer* thread) noexcept {
    // relaxed: if it was this thread, then this thread stored all three.
    return window_opened_by.thread.load(std::memory_order_relaxed) == thread;
}

// Call it after a recorded pop.
inline void note_pop(const producer* thread, std::uint32_t domain, int level) noexcept {
    if (!has_opened_window(thread)) [[likely]]
        return;
    if (window_opened_by.domain.load(std::memory_order_relaxed) == domain &&
        window_opened_by.level.load(std::memory_order_relaxed) == level) {
        observe_last_pop();
    }
}

}  // namespace prof
