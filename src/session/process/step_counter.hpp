// SPDX-License-Identifier: Apache-2.0
// The steps of a recording. prof_step begins one, or a range that the option step_range names. Atomics: any thread, no
// lock, and a step that only counts costs an addition.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

// What a step does besides being counted.
enum class step_use : std::uint8_t {
    counted,        // nothing
    compared,       // it is compared with others, and dumped if it was slow
    opens_windows,  // it is an event of the plan
};

class step_counter {
public:
    // A recording begins. `by_ranges`: a range begins a step, not prof_step. `until_program_counts`: until the program
    // calls that.
    void begin(bool by_ranges, bool until_program_counts) noexcept {
        begun_ = 0;
        by_ranges_ = by_ranges;
        until_program_counts_ = until_program_counts;
        program_counts_steps = false;
    }
    void set_use(step_use use) noexcept { use_ = use; }
    step_use use() const noexcept { return use_.load(); }
    bool by_ranges() const noexcept { return by_ranges_.load(); }

    // The next step begins. Returns how many have.
    std::uint64_t count() noexcept { return begun_.fetch_add(1) + 1; }
    // Begun in this recording, or in the latest.
    std::uint64_t begun() const noexcept { return begun_.load(); }
    // The number of the step that is under way.
    std::uint64_t current() const noexcept { return number_of(begun()); }
    // Likewise, after so many have begun. A first range begins step 0; a first call of prof_step ends it.
    std::uint64_t number_of(std::uint64_t begun) const noexcept {
        return by_ranges() && begun != 0 ? begun - 1 : begun;
    }

    // The program has called prof_step in this recording.
    static bool program_counts() noexcept { return program_counts_steps.load(); }
    void note_program_counts() noexcept {
        program_counts_steps = true;
        // The step under way keeps its number, and ends with this call.
        if (until_program_counts_.exchange(false) && by_ranges_.exchange(false) && begun_ != 0) --begun_;
    }
    bool may_count_by_program() const noexcept { return !by_ranges() || until_program_counts_.load(); }

private:
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<step_use> use_{step_use::counted};
    std::atomic<bool> by_ranges_{false};
    std::atomic<bool> until_program_counts_{false};
    static inline std::atomic<bool> program_counts_steps{false};
};

}  // namespace prof
