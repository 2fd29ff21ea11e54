// What is known of the CUDA graphs of the process, over all its recordings and the time between them: each node that
// lives, and the ranges that were open when it was captured. A capture that begins gets what it does not have, so
// that it explains the replays of graphs that were captured before it.
//
// Kept are the threads' own records, but only those that matter: nodes that live, the ranges, declared parents and
// beginnings of captures around them, and what is recent. A sweep takes the rest out whenever the log has doubled, so
// that hearing a record costs a few ns and memory follows the number of nodes. It is bounded: beyond `most_nodes` nodes
// are not kept, and counted (graph_memory_full).
//
// For one thread at a time: the one that drains.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/format.hpp"
#include "collect/history/held_names.hpp"
#include "collect/history/log_selection.hpp"
#include "record/record.hpp"
#include "ring/region.hpp"

namespace prof {

class graph_history {
public:
    struct limits {
        std::size_t most_nodes = 1U << 18;    // some 70 bytes each
        std::size_t most_records = 1U << 18;  // 48 bytes each
        std::size_t sweep_from = 8192;        // a log of fewer records is left as it is
    };
    // What is not kept is counted in `where`.
    explicit graph_history(region& where) : graph_history(where, limits{}) {}
    graph_history(region& where, const limits& bounds) : region_(where), limits_(bounds) {}

    // The thread's next records, in their order. `in_capture`: the present capture has them.
    void hear(std::uint64_t uid, std::span<const record> records, bool in_capture);
    // What the thread writes now, until its next window record, is heard only: it belongs to no window.
    bool observed_only(std::uint64_t uid) const;
    // The thread's name and tid, as far as they are known now.
    void describe(const format::thread_entry& entry) { threads_[entry.uid].facts = entry; }
    void end_thread(std::uint64_t uid, std::uint64_t ticks);
    // All rings were looked at: a range that had closed before has met all nodes that could be its own.
    void end_round();

    // The next capture has nothing yet.
    void begin_capture() noexcept;
    bool has_news() const noexcept { return has_news_; }
    // There will be more after the next round: to be written together, so that no range is written twice.
    bool expects_news() const noexcept;
    // What the present capture does not have: for each thread that has something to tell, a section of records that
    // begins with a window record. Afterwards the capture has it.
    using listener = std::function<void(const format::thread_entry& thread, std::span<const record> section)>;
    void tell(const listener& to);

    // Before the names of ranges at positions below `end` are freed. Throws std::bad_alloc.
    void hold_names(std::uint64_t end);
    // Of one that is freed.
    std::string_view held_name(std::uint32_t id) const noexcept { return held_.text(id); }

    // Of threads of which nothing is kept any more nothing will be written.
    bool knows(std::uint64_t uid) const { return threads_.contains(uid); }
    std::size_t thread_count() const noexcept { return threads_.size(); }
    std::size_t node_count() const noexcept { return nodes_.size(); }
    std::size_t record_count() const noexcept { return records_; }

private:
    struct thread_log {
        format::thread_entry facts;
        std::vector<observed_record> records;
        std::size_t settled = 0;        // so many were there before the latest round
        std::uint64_t ended_ticks = 0;  // 0: it lives
        bool is_over = false;           // it had ended before the latest round
        bool observed_only = false;     // what comes next is no capture's
    };
    // By the id that CUPTI gives: a node that was captured (or made), or a copy of one.
    struct node {
        std::uint64_t serial = 0;        // of the node that was captured
        std::uint64_t original_id = 0;   // that had at the first of the copies that led here; of a copy
        std::uint64_t copied_ticks = 0;  // when that was
        std::uint64_t ticks = 0;
        std::uint64_t thread = 0;  // uid
        std::uint32_t emitted_in = 0;
        bool is_copy = false;
    };
    // Rings are read one after the other, so that a copy may be heard of before what it is the copy of. Each event
    // waits until whatever came before it has been heard.
    struct event {
        record r;
        std::uint64_t serial = 0;  // of a node
        std::uint64_t thread = 0;  // uid
        std::uint32_t emitted_in = 0;
    };

    void hear(thread_log& log, std::uint64_t uid, const record& r, bool in_capture);
    void observe_node(thread_log& log, std::uint64_t uid, const record& r, std::uint32_t emitted_in);
    void settle_events();
    void add_node(const event& made);
    void add_copy(const event& made);
    void forget_all();
    std::size_t sweep();
    wanted_records what_matters(bool only_news) const;
    void add_holds(wanted_records& wanted) const;
    bool is_emitted(std::uint32_t emitted_in) const noexcept { return emitted_in == capture_ && capture_ != 0; }
    std::vector<record> section_of(thread_log& log, const wanted_records& wanted, std::span<const record> copies);
    std::map<std::uint64_t, std::vector<record>> emit_copies();

    region& region_;
    limits limits_;
    std::map<std::uint64_t, thread_log> threads_;  // by uid
    std::unordered_map<std::uint64_t, node> nodes_;
    std::vector<event> events_;        // that wait
    std::uint64_t latest_ticks_ = 0;   // of all events heard
    std::uint64_t settled_ticks_ = 0;  // the same, before the latest round
    std::uint64_t next_serial_ = 1;
    std::uint64_t latest_place_ = 0;
    std::uint32_t capture_ = 0;
    bool has_news_ = false;
    std::size_t records_ = 0;  // in all logs
    std::size_t sweep_at_ = 0;
    held_names held_;
};

}  // namespace prof
