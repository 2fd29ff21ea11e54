// SPDX-License-Identifier: Apache-2.0
// The CUDA graphs of the process, over all its recordings and the time between them: each living node, and the ranges
// that were open when it was captured into its graph. Each new capture gets what it lacks of this, so that it explains
// replays of graphs that were captured before it began.
//
// The history is made of the threads' own records, reduced to those that matter: living nodes; the ranges, declared
// parents and beginnings of graph captures around them; and recent records. A sweep removes the others whenever the log
// has doubled. So observing a record costs a few ns, and memory follows the number of nodes. It is bounded: nodes
// beyond `most_nodes` are not kept, and counted as graph_memory_full.
//
// Used by one thread at a time: the one that drains.
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
        std::size_t most_nodes = 1U << 18;    // about 70 bytes each
        std::size_t most_records = 1U << 18;  // 48 bytes each
        std::size_t sweep_from = 8192;        // a log of fewer records is not swept
    };
    // Nodes that are not kept are counted in `where`.
    explicit graph_history(region& where) : graph_history(where, limits{}) {}
    graph_history(region& where, const limits& bounds) : region_(where), limits_(bounds) {}

    // Observes the thread's next records, in their order. `in_capture`: they are also written to the present capture.
    void observe(std::uint64_t uid, std::span<const record> records, bool in_capture);
    // Whether the thread's records, up to its next window record, are only observed: they belong to no window.
    bool observed_only(std::uint64_t uid) const;
    // The thread's name and tid, as far as they are known now.
    void describe(const format::thread_entry& entry) { threads_[entry.uid].facts = entry; }
    void end_thread(std::uint64_t uid, std::uint64_t ticks);
    // Call when all rings have been read: then every node that belongs to a range closed before has been observed.
    void end_round();

    // A new capture begins; it contains none of the history yet.
    void begin_capture() noexcept;
    bool has_unemitted() const noexcept { return has_unemitted_; }
    // More will be ready to emit after the next round. Emit both together, so that no range is written twice.
    bool expects_more() const noexcept;
    // Calls `sink` with what the present capture lacks: for each thread that has any, one section of records that
    // begins with a window record. Afterwards these records count as emitted.
    using section_sink = std::function<void(const format::thread_entry& thread, std::span<const record> section)>;
    void emit(const section_sink& sink);

    // Call before the names of ranges at positions below `end` are freed. Throws std::bad_alloc.
    void hold_names(std::uint64_t end);
    // The text of a name that has been freed.
    std::string_view held_name(std::uint32_t id) const noexcept { return held_.text(id); }

    // Whether records of the thread are kept. If not, none of them will be emitted any more.
    bool keeps_thread(std::uint64_t uid) const { return threads_.contains(uid); }
    std::size_t thread_count() const noexcept { return threads_.size(); }
    std::size_t node_count() const noexcept { return nodes_.size(); }
    std::size_t record_count() const noexcept { return records_; }

private:
    struct thread_log {
        format::thread_entry facts;
        std::vector<observed_record> records;
        std::size_t settled = 0;        // number of records before the latest round
        std::uint64_t ended_ticks = 0;  // 0: the thread lives
        bool is_over = false;           // the thread had ended before the latest round
        bool observed_only = false;     // the records that follow belong to no capture
    };
    // Key: the node's id as CUPTI gives it. The node was captured, created explicitly, or copied from another one.
    struct node {
        std::uint64_t serial = 0;  // of the captured node at the start of the chain of copies
        // Of a copy: the id that the captured node had when the first copy in the chain was made.
        std::uint64_t original_id = 0;
        std::uint64_t copied_ticks = 0;  // time of that first copy
        std::uint64_t ticks = 0;
        std::uint64_t thread = 0;  // uid
        std::uint32_t emitted_in = 0;
        bool is_copy = false;
    };
    // Rings are read one after the other, so the record of a copy may be read before that of its original. An event
    // waits until all events before it have been observed.
    struct event {
        record r;
        std::uint64_t serial = 0;  // of a node; 0 for other events
        std::uint64_t thread = 0;  // uid
        std::uint32_t emitted_in = 0;
    };

    void observe(thread_log& log, std::uint64_t uid, const record& r, bool in_capture);
    void observe_node(thread_log& log, std::uint64_t uid, const record& r, std::uint32_t emitted_in);
    void settle_events();
    void add_node(const event& made);
    void add_copy(const event& made);
    void forget_all();
    std::size_t sweep();
    wanted_records what_matters(bool only_unemitted) const;
    void add_holds(wanted_records& wanted) const;
    bool is_emitted(std::uint32_t emitted_in) const noexcept { return emitted_in == capture_ && capture_ != 0; }
    std::vector<record> section_of(thread_log& log, const wanted_records& wanted, std::span<const record> copies);
    std::map<std::uint64_t, std::vector<record>> emit_copies();

    region& region_;
    limits limits_;
    std::map<std::uint64_t, thread_log> threads_;  // key: thread uid
    std::unordered_map<std::uint64_t, node> nodes_;
    std::vector<event> events_;        // still waiting
    std::uint64_t latest_ticks_ = 0;   // of all observed events
    std::uint64_t settled_ticks_ = 0;  // latest_ticks_ before the latest round
    std::uint64_t next_serial_ = 1;
    std::uint64_t latest_place_ = 0;
    std::uint32_t capture_ = 0;
    bool has_unemitted_ = false;
    std::size_t records_ = 0;  // in all logs
    std::size_t sweep_at_ = 0;
    held_names held_;
};

}  // namespace prof
