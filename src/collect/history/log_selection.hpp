// Which of a thread's records matter to the nodes of graphs that live: what the graph memory keeps in a sweep, and what
// it gives a capture. Order alone pairs pushes and pops; what a range holds is decided by time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "record/record.hpp"

namespace prof {

struct observed_record {
    record r;
    std::uint64_t serial = 0;      // of a node
    std::uint32_t emitted_in = 0;  // the number of the latest capture that has it; 0: none
};

constexpr bool begins_graph_capture(const record& r) noexcept {
    return r.kind == record_kind::api_enter && r.flags == static_cast<std::uint8_t>(api_class::begins_graph_capture);
}

// All sorted.
struct wanted_records {
    std::vector<std::uint64_t> holds;    // ticks: what was open then is kept
    std::vector<std::uint64_t> serials;  // of nodes
    std::vector<std::uint64_t> places;   // that threads work for
    std::uint32_t emitted_capture = 0;   // what this one has is left out, and what holds nothing, too; 0: a sweep

    bool is_emitted(const observed_record& each) const noexcept {
        return emitted_capture != 0 && each.emitted_in == emitted_capture;
    }
    bool wants(const observed_record& each) const noexcept;  // a node or a place
    bool holds_any(std::uint64_t from_ticks, std::uint64_t to_ticks) const noexcept;
};

class log_selection {
public:
    // A sweep keeps records from `settled` on whatever they are. `ended_ticks`: when the thread ended; 0: it lives.
    // `is_over`: all that happened while it lived has been heard.
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
    bool is_held(std::size_t from, std::uint64_t until_ticks) const noexcept;
    bool is_settled(std::size_t i) const noexcept { return is_emitting() || i < settled_; }
    bool is_emitting() const noexcept { return wanted_.emitted_capture != 0; }

    struct opened {
        std::size_t at = 0;
        bool is_own = true;  // the thread's own, not what it does for another
    };

    // Closed before what was opened inside.
    struct outlived {
        std::size_t opening = 0;
        std::size_t closing = 0;
        std::vector<std::size_t> by;  // opening records
    };

    std::span<const observed_record> records_;
    const wanted_records& wanted_;
    std::size_t settled_;
    std::vector<std::uint8_t> kept_;
    std::vector<opened> open_;
    std::vector<outlived> outlived_;
    std::size_t capture_begin_;
    bool may_be_worked_for_;  // at a moment that matters, or that is to come
    bool any_own_ = false;
    std::pair<std::size_t, std::size_t> last_own_;
};

}  // namespace prof
