// SPDX-License-Identifier: Apache-2.0
// Where in a Python program an event happened, and whether the program has gone round a loop between two events: found
// from the frames of the thread and the jumps in their code. Nothing of the program is executed or changed for it.
#pragma once

#include <array>
#include <cstdint>

#include "hooks/python/python_runtime.hpp"

namespace prof {

// A thread's frames, the outermost first. Only identities: the frames may be gone.
struct python_place {
    static constexpr std::uint32_t most = 96;
    struct level {
        const void* frame = nullptr;
        const void* code = nullptr;
        std::int32_t offset = -1;
    };
    std::array<level, most> levels{};
    std::uint32_t depth = 0;  // 0: unknown
};

struct python_loop {
    std::uint32_t level = 0;  // of the frame that runs the loop
    const void* code = nullptr;
    std::int32_t head = -1, end = -1;

    bool is_known() const noexcept { return code != nullptr; }
    bool operator==(const python_loop&) const noexcept = default;
    bool contains(const python_loop& other) const noexcept;   // as a part of itself, not the same
    bool contains(const python_place& place) const noexcept;  // as far as its code shows
};

struct python_way {
    enum class kind : std::uint8_t {
        unknown,
        within,  // the same turn of `loop`
        around,  // another turn of `loop`, which is the innermost
    };
    kind turn = kind::unknown;
    python_loop loop;
    bool is_at_head = false;  // the second event is a call by the loop's `for`
};

class python_places {
public:
    python_places(const python_functions& python, const python_instructions& instructions) noexcept
        : python_(python), instructions_(instructions) {}

    // Of this thread, now.
    void locate(python_place& out) noexcept;
    python_way way(const python_place& before_place, const python_place& now_place) noexcept;
    // Whether a method `step` is called outside `inner` in a loop around it, in any of the frames.
    bool has_step_around(const python_place& place, const python_loop& inner) noexcept;

private:
    struct code_loops;
    const code_loops* loops_of(const void* code) noexcept;
    python_loop innermost(const python_place& place, std::uint32_t level, std::int32_t other) noexcept;

    const python_functions& python_;
    const python_instructions& instructions_;
};

}  // namespace prof
