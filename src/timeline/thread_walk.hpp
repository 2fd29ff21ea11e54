// SPDX-License-Identifier: Apache-2.0
// Walks one thread's records in the order of writing, and adds its ranges, marks and API calls to a timeline under
// construction. What is open follows from that order alone: times are never compared.
//
// Linear in the records even for hostile input: at most `deepest_nesting` ranges are kept open, and fewer where pops of
// non-innermost ranges go on without end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/memory.hpp"
#include "record/record.hpp"
#include "timeline/call_stacks.hpp"
#include "timeline/captured_nodes.hpp"
#include "timeline/collectives.hpp"
#include "timeline/open_stack.hpp"
#include "timeline/start_end.hpp"
#include "timeline/stream_waits.hpp"
#include "timeline/tick_clock.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A program that forgets its pops nests without end, and each launch would count for every range that was left open. If
// ranges nest deeper than this, the outermost stay open; the ranges between them and the next one are *set aside* and
// counted. Such a range gets its end if its pop comes, but does not enclose anything that happens meanwhile.
inline constexpr std::size_t deepest_nesting = 1024;
inline constexpr std::size_t outermost_kept = 32;

// A pop of a non-innermost range copies the nodes above it (open_stack.hpp), which is normal now and then. If it goes
// on without end, as in a damaged capture, ranges nest at most this deep from then on.
inline constexpr std::size_t shallow_nesting = 32;

struct walk_counts {
    std::uint64_t pops_without_push = 0;
    std::uint64_t unknown_parents = 0;
    std::uint64_t nested_too_deep = 0;
    std::uint64_t ranges_cut = 0;  // ranges that were open where records are missing
};

// The value of each parent_here record of the capture → its index in timeline::work_parents.
using parent_places = std::unordered_map<std::uint64_t, work_parent_id>;

class thread_walk {
public:
    // Adds everything to `out`, `events`, `nodes`, `syncs`, `stacks` and `collectives`; `thread` is the thread's index
    // in out.threads. Fills the elements of out.work_parents that this thread's records define. REQUIRES:
    // out.work_parents has room for all of `parents`.
    thread_walk(timeline& out, start_end_events& events, graph_node_events& nodes, std::vector<stream_sync>& syncs,
                stack_collector& stacks, collective_collector& collectives, const parent_places& parents,
                const tick_clock& clock, thread_id thread);

    // The time of the thread's next record. Never decreases.
    std::int64_t time_of(const record& next) noexcept { return std::max(now_ns_, clock_->to_ns(next.ticks, at_)); }
    // `ns`: time_of() the record.
    void visit(const record& r, std::int64_t ns);
    void visit(const record& r) { visit(r, time_of(r)); }
    // Records are missing here, with unknown pushes and pops. So nothing counts as open any more, and pops of ranges
    // opened before are ignored. The nesting is right again once the thread's outermost range has closed.
    void skip_hole();
    // Ranges still open get open_at_end. Their end is set by build_timeline(), which has the end of the capture.
    void finish();

    const walk_counts& counts() const noexcept { return counts_; }
    // The present records are from a time in which nothing was recorded: they only describe graph nodes and the ranges
    // around them.
    bool outside_windows() const noexcept { return outside_windows_; }
    thread_id thread() const noexcept { return thread_; }

private:
    std::size_t nesting_limit() const noexcept;
    void open_range(const record& r);
    void close_range(const record& r);
    void end_by_pop(range_id index, const record& r);
    void set_aside(std::size_t kept);
    void leave_optimizer();
    bool is_phase(const timeline_range& range) const;
    bool was_phase(range_id index) const;
    bool is_work(const timeline_range& phase) const;
    void open_step(range_id index);
    void end_phase_at(range_id phase, std::int64_t ns);
    bool joins_first_step(std::size_t position);
    void hang(range_id index, range_id parent);
    range_id latest_set_aside(std::uint16_t domain) const;
    void start_range(const record& r);
    range_id add_range(const record& r, range_style style);
    // Whether the range is a PyTorch operator and not one of the program's own ranges.
    bool is_operator(const timeline_range& range, torch_scope scope) const;
    bool close_operator();
    bool is_of_modules(std::uint16_t domain) const;
    void open_module(range_id index);
    void close_module(const record& r);
    // Ends every open range; returns their number.
    template <typename TEnd>
    std::size_t end_open(TEnd&& end);
    void add_mark(const record& r);
    void enter_api(const record& r);
    void exit_api(const record& r);
    bool is_of_nccl(name_id symbol);
    void add_sync(const record& r);
    void finish_stack();
    void add_memory(const record& r);
    // Without totals.
    memory_event event_of(const record& r, const memory_change& change) const;
    void add_own_memory(const record& r);
    void add_graph_node(const record& r);
    void note_parent(const record& r);
    void begin_adoption(const record& r);
    void end_adoption() noexcept;
    void enter_window(const record& r);
    void forget_open() noexcept;
    work_parent_id works_for() const noexcept { return adoptions_.empty() ? npos : adoptions_.back().works_for; }

    struct adoption_frame {
        work_parent_id works_for = npos;
        bool has_floor = false;  // false for an unknown place, which changes nothing
    };

    timeline* out_;
    start_end_events* events_;
    graph_node_events* nodes_;
    std::vector<stream_sync>* syncs_;
    const parent_places* parents_;
    const tick_clock* clock_;
    thread_id thread_;
    tick_clock::cursor at_ = 0;
    std::int64_t now_ns_ = INT64_MIN;  // never decreases
    open_stack open_;                  // without PyTorch operators
    torch_stack torch_open_;           // from PyTorch's observer: operators, and ranges that are also in open_
    std::size_t operators_open_ = 0;
    std::vector<range_id> modules_open_;  // open calls of modules, the innermost last
    bool has_operators_ = false;
    bool outside_windows_ = false;
    std::vector<adoption_frame> adoptions_;
    std::unordered_map<std::uint16_t, std::vector<range_id>> set_aside_;  // domain → ranges, the latest last
    range_id last_started_ = npos;  // the range_start whose payload record may follow
    range_id latest_step_ = npos;   // the latest phase "step"
    range_id latest_work_ = npos;   // the latest phase that is part of a step's work
    range_id first_step_ = npos;    // the phase "step" below the ranges that were open when it began
    range_id before_first_ = npos;  // the phase that ended when it began
    range_id work_before_first_ = npos;
    graph_node_id latest_node_ = npos;  // index into graph_nodes
    std::uint64_t latest_node_id_ = 0;
    std::uint32_t calls_ = 0;    // number of calls
    std::uint64_t entered_ = 0;  // the correlation of the api_enter just visited; 0: another record
    collective_walk collectives_;
    std::unordered_map<name_id, bool> nccl_symbols_;  // by name: whether the kernel is NCCL's
    stack_walk stack_;
    std::vector<call_id> open_calls_;       // API calls that have not returned, the innermost last
    cuda_memory_id latest_own_ = npos;      // index into cuda_memory: the latest piece of CUDA's own memory
    memory_event_id latest_birth_ = npos;   // index into memory: the latest block or failed request
    std::uint64_t latest_birth_key_ = 0;    // its record's value
    memory_event_id latest_memory_ = npos;  // index into memory: the event of the record before, which totals follow
    walk_counts counts_;
};

}  // namespace prof
