// What is open on each thread after the records that were written so far, as records: who begins to read here visits
// them first, and knows what the thread's next records close (format::chunk_type::open).
//
// Ranges with all that may stand between them (adoptions, places to work for), start/end ranges, and a call that waits.
// Belongs to the drain thread. Memory is bounded whatever the program forgets to close: what is beyond the limits is
// left out, and its end then counts as one without a beginning.
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
    static constexpr std::size_t most_places = 256;  // of a thread: the latest
    static constexpr std::size_t most_started = 65'536;

    void follow(std::uint64_t thread, std::uint64_t first_number, std::span<const record> records);
    // It has ended: of what it left open only start/end ranges may yet be closed, by others.
    void end_thread(std::uint64_t thread);

    // A window of the recording began or ended then: start/end ranges that were started before ended at the latest with
    // it, and what ends them later ends nothing.
    void cut(std::uint64_t ticks);

    // All rings were looked at. An end whose start has not come by the second time has none: that was dropped.
    void end_round() noexcept;

    // The latest correlation_key() of all calls; 0: none.
    std::uint64_t latest_call() const noexcept { return latest_call_; }

    // Before the names of ranges at positions below `end` are freed. Throws std::bad_alloc.
    void hold_names(region& where, std::uint64_t end);
    // Of one that is freed.
    std::string_view held_name(std::uint32_t id) const noexcept { return held_.text(id); }

    // Threads with nothing open are left out.
    open_by_thread all() const;

private:
    struct thread_state {
        std::uint64_t next_number = 0;
        std::vector<record> open;                                   // in the order in which they came
        record wait;                                                // api_enter, or none
        record heard;                                               // window, while the thread is heard only; or none
        std::uint64_t last_started = 0;                             // id of the range that a payload belongs to
        std::unordered_map<std::uint16_t, std::uint64_t> left_out;  // pushes, by domain
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

    void visit(std::uint64_t thread, thread_state& at, const record& r);
    static void open(thread_state& at, const record& r);
    static void note_place(thread_state& at, const record& r);
    static void close_range(thread_state& at, const record& r);
    static void enter_window(thread_state& at, const record& r);
    void start(std::uint64_t thread, thread_state& at, const record& r);
    void end(std::uint64_t thread, const record& r);
    void enter_call(thread_state& at, const record& r);

    std::unordered_map<std::uint64_t, thread_state> threads_;
    std::map<std::uint64_t, started_range>
        started_;  // by id, which are given in turn: beyond the limit the oldest goes
    // Ends whose start, on another thread, has not been drained yet.
    std::unordered_map<std::uint64_t, early_end> ended_early_;
    std::uint64_t round_ = 0;
    std::uint64_t latest_call_ = 0;
    std::uint64_t cut_ticks_ = 0;  // the latest cut()
    held_names held_;
};

}  // namespace prof
