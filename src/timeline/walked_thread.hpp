// SPDX-License-Identifier: Apache-2.0
// One thread's records in the order of writing, fed to its thread_walk one after the other. Threads are walked beside
// each other in order of time, so that what they add to the timeline is in order from the beginning.
//
// Records that were left in the file are read when their turn comes, one chunk at a time. One thread of execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "timeline/contents.hpp"
#include "timeline/one_id_a_name.hpp"
#include "timeline/thread_walk.hpp"
#include "timeline/windows.hpp"

namespace prof {

// Thrown where stored records are no longer in the file as they were: the program that records has trimmed it, or the
// disk fails.
struct capture_has_changed {};

class walked_thread {
public:
    // The runs [first, last) are those of one thread, in order of their numbers. They are emptied. REQUIRES: `contents`
    // outlives this, and has the reader of stored runs.
    walked_thread(thread_walk walk, capture_contents& contents, const name_doubles& doubles,
                  std::vector<record_run>::iterator first, std::vector<record_run>::iterator last);

    // Visits what was open where the kept part of the capture begins.
    void visit_open(timeline& out);

    bool has_next() const noexcept { return at_ != records_.size(); }
    // The time of the next record.
    std::int64_t next_ns() const noexcept { return next_ns_; }
    // Visits the next record and those after it, while `goes_on` holds for the time of the next. REQUIRES: has_next().
    template <typename TGoesOn>
    void visit_while(timeline& out, TGoesOn&& goes_on) {
        do {
            walk_.visit(records_[at_], next_ns_);
            if (!walk_.outside_windows()) include(out, next_ns_);
            if (++at_ == records_.size()) find_next();
            if (!has_next()) return;
            next_ns_ = walk_.time_of(records_[at_]);
        } while (goes_on(next_ns_));
    }

    // Ends what is still open, and adds what was lost to the quality. REQUIRES: there is no next record.
    void finish(timeline& out);

private:
    void find_next();
    void begin_run(record_run& run);
    bool may_leave_out(const record_run& next) const;
    std::span<const record> records_of(const record_run& run);

    thread_walk walk_;
    capture_contents* contents_;
    const name_doubles* doubles_;
    std::vector<record_run>::iterator run_;  // the next one
    std::vector<record_run>::iterator last_;
    record_run* held_ = nullptr;         // the present one
    std::span<const record> records_;    // of the present run
    std::size_t at_ = 0;                 // the next record's place there
    std::vector<std::uint64_t> buffer_;  // the payload of a stored run, in words, so that it is aligned
    std::int64_t next_ns_ = 0;
    std::uint64_t next_number_ = 0;  // of the record after those seen
    std::uint64_t missing_ = 0;
    std::uint64_t recovered_ = 0;
};

// Visits all records of the threads, in order of time; at the same time in the order of the threads. Then finishes
// each. Throws capture_has_changed.
void walk_in_order_of_time(timeline& out, std::vector<walked_thread>& threads);

}  // namespace prof
