// SPDX-License-Identifier: Apache-2.0
// Selects the records of one thread that matter to living graph nodes. The graph history uses it in a sweep and to fill
// a new capture. Pushes and pops are paired by their order alone; whether a range encloses a node is decided by time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "record/record.hpp"

namespace prof {

struct observed_record {
    record r;
    std::uint64_t serial = 0;      // of a node; 0 otherwise
    std::uint32_t emitted_in = 0;  // number of the latest capture that contains it; 0: none
};

constexpr bool begins_graph_capture(const record& r) noexcept {
    return r.kind == record_kind::api_enter && r.flags == static_cast<std::uint8_t>(api_class::begins_graph_capture);
}

// All vectors are sorted.
struct wanted_records {
    std::vector<std::uint64_t> holds;    // ticks; a range that was open at one of them is kept
    std::vector<std::uint64_t> serials;  // of nodes
    std::vector<std::uint64_t> places;   // values of parent_here that other threads adopt
    // 0: a sweep. Else the number of a capture: records that it contains, and ranges that enclose nothing new, are left
    // out.
    std::uint32_t emitted_capture = 0;

    bool is_emitted(const observed_record& observed) const noexcept {
        return emitted_capture != 0 && observed.emitted_in == emitted_capture;
    }
    bool wants(const observed_record& observed) const noexcept;  // for graph_node and parent_here records
    bool holds_any(std::uint64_t from_ticks, std::uint64_t to_ticks) const noexcept;
};

class log_selection {
public:
    // A sweep keeps all records from index `settled` on. `ended_ticks`: when the thread ended; 0: it lives. `is_over`:
    // everything that happened while the thread lived has been observed.
    log_selection(std::span<const observed_record> records, const wanted_records& wanted, std::size_t settled,
                  std::uint64_t ended_ticks, bool is_over);

    bool keeps(std::size_t record) const noexcept { return kept_[record] != 0; }

private:
    void visit(std::size_t i);
    void open(std::size_t i);
    void close(std::size_t i);
    void end_open(std::uint64_t ticks, bool keep_all);
    void end_capture_begin(std::uint64_t ticks);
    void keep_ends();
    void keep_outlived();
    void drop_idle_windows();
    bool is_held(std::size_t first, std::uint64_t until_ticks) const noexcept;
    bool is_settled(std::size_t i) const noexcept { return is_emitting() || i < settled_; }
    bool is_emitting() const noexcept { return wanted_.emitted_capture != 0; }

    struct opened {
        std::size_t index = 0;
        bool is_own = true;  // false: opened while the thread worked for another one
    };

    // A range that was closed before ranges that were opened inside it.
    struct outlived {
        std::size_t opening = 0;
        std::size_t closing = 0;
        std::vector<std::size_t> inner;  // indexes of the opening records of those inner ranges
    };

    std::span<const observed_record> records_;
    const wanted_records& wanted_;
    std::size_t settled_;
    std::vector<std::uint8_t> kept_;
    std::vector<opened> open_;
    std::vector<outlived> outlived_;
    std::size_t capture_begin_;
    // Another thread may work for this one at a moment that matters, or later.
    bool may_be_worked_for_;
    bool any_own_ = false;
    std::pair<std::size_t, std::size_t> last_own_;
};

}  // namespace prof
