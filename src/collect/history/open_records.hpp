// SPDX-License-Identifier: Apache-2.0
// What is open on each thread after the records written so far, expressed as records. A reader that begins at a key
// frame visits these first, and then finds the partner of each later closing record (format::chunk_type::open).
//
// Includes push/pop ranges and what may stand between them (adoptions, parent_here places), start/end ranges, and a
// call that waits for the GPU. Used by the drain thread only. Memory is bounded even if the program never closes
// ranges: what exceeds the limits is left out, and its end then counts as one without a beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/history/held_names.hpp"
#include "record/record.hpp"

namespace prof {

struct open_on_thread {
    std::uint64_t next_number = 0;
    std::vector<record> records;
};
using open_by_thread = std::map<std::uint64_t, open_on_thread>;

class open_records {
public:
    static constexpr std::size_t most_on_a_thread = 1024;
    static constexpr std::size_t most_places = 256;  // on one thread; the latest are kept
    static constexpr std::size_t most_started = 65'536;

    // Follows the thread's next records, of which the first has the number `first_number`.
    void follow(std::uint64_t thread, std::uint64_t first_number, std::span<const record> records);
    // The thread has ended. Of what it left open, only start/end ranges can still be closed, by other threads.
    void end_thread(std::uint64_t thread);

    // A window of the recording began or ended at `ticks`. A start/end range that was started before counts as ended by
    // then, and an end that comes later has no effect.
    void cut(std::uint64_t ticks);

    // All rings have been read. If the start of an end is still missing after the second round, the start was dropped.
    void end_round() noexcept;

    // The latest correlation_key() of all calls; 0: none.
    std::uint64_t latest_call() const noexcept { return latest_call_; }

    // Call before the names of ranges at positions below `end` are freed. Throws std::bad_alloc.
    void hold_names(region& where, std::uint64_t end);
    // The text of a name that has been freed.
    std::string_view held_name(std::uint32_t id) const noexcept { return held_.text(id); }

    // Threads with nothing open are omitted.
    open_by_thread all() const;

private:
    struct thread_state {
        std::uint64_t next_number = 0;
        std::vector<record> open;        // in their order
        record wait;                     // an api_enter, or none
        record observed_window;          // its window record while the thread is observed only, or none
        std::uint64_t last_started = 0;  // range id; the next payload record belongs to it
        std::unordered_map<std::uint16_t, std::uint64_t> left_out;  // number of open pushes not kept; by domain
    };
    struct started_range {
        std::uint64_t thread = 0;
        record start;
        record payload;  // or none
    };
    struct early_end {
        std::uint64_t thread = 0;
        record end;
        std::uint64_t round = 0;
    };

    void visit(std::uint64_t thread, thread_state& state, const record& r);
    static void open(thread_state& state, const record& r);
    static void note_place(thread_state& state, const record& r);
    static void close_range(thread_state& state, const record& r);
    static void enter_window(thread_state& state, const record& r);
    void start(std::uint64_t thread, thread_state& state, const record& r);
    void end(std::uint64_t thread, const record& r);
    void enter_call(thread_state& state, const record& r);

    std::unordered_map<std::uint64_t, thread_state> threads_;
    // Key: range id. Ids ascend, so beyond the limit the oldest range is removed.
    std::map<std::uint64_t, started_range> started_;
    // Key: range id. Ends whose start, on another thread, has not been drained yet.
    std::unordered_map<std::uint64_t, early_end> ended_early_;
    std::uint64_t round_ = 0;
    std::uint64_t latest_call_ = 0;
    std::uint64_t cut_ticks_ = 0;  // of the latest cut()
    held_names held_;
};

}  // namespace prof
