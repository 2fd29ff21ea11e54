// SPDX-License-Identifier: Apache-2.0
#include "collect/history/graph_history.hpp"

#include <algorithm>
#include <new>

#include "record/record_traits.hpp"

namespace prof {
namespace {

// A parent_here place that no thread has adopted yet is kept while it is among this many latest ones.
constexpr std::uint64_t recent_places = 4096;

// Marks ids of copies that only this history makes up. CUPTI gives no ids this high.
constexpr std::uint64_t own_id_bit = std::uint64_t{1} << 63;

record copy_record(std::uint64_t ticks, std::uint64_t id, std::uint64_t original_id) {
    record r;
    r.ticks = ticks;
    r.value = id;
    r.name = static_cast<std::uint32_t>(original_id);
    r.color = static_cast<std::uint32_t>(original_id >> 32);
    r.kind = record_kind::graph_clone;
    return r;
}

void sort_unique(std::vector<std::uint64_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

// --- observing ------------------------------------------------------------------------------------------------------

// Out of memory: everything is forgotten and counted, and the program goes on.
void graph_history::observe(std::uint64_t uid, std::span<const record> records, bool in_capture) try {
    thread_log& log = threads_[uid];
    log.facts.uid = uid;
    const std::size_t before = log.records.size();
    for (const record& r : records) observe(log, uid, r, in_capture);
    records_ += log.records.size() - before;  // wraps modulo 2^64 if the log has shrunk
    log.settled = std::min(log.settled, log.records.size());
} catch (const std::bad_alloc&) {
    forget_all();
}

void graph_history::observe(thread_log& log, std::uint64_t uid, const record& r, bool in_capture) {
    observed_record kept{.r = r, .emitted_in = in_capture ? capture_ : 0};
    switch (traits_of(r.kind).role) {
        case record_role::graph_node:
        case record_role::graph_change:
            return observe_node(log, uid, r, kept.emitted_in);
        case record_role::enters_call:
            if (!begins_graph_capture(r)) return;
            kept.r.value = 0;  // its launches need not be found
            break;
        case record_role::window:
            log.observed_only = is_observed_only(r.value);
            kept.r.value = observed_epoch_bit | r.value;
            break;
        case record_role::place:
            latest_place_ = std::max(latest_place_, r.value);
            break;
        case record_role::opens:
        case record_role::closes:
            break;
        case record_role::none:
        case record_role::starts:
        case record_role::ends:
        case record_role::mark:
        case record_role::payload:
        case record_role::leaves_call:
        case record_role::sync:
        case record_role::code:
        case record_role::collective:
        case record_role::memory:
            return;
    }
    log.records.push_back(kept);
}

void graph_history::observe_node(thread_log& log, std::uint64_t uid, const record& r, std::uint32_t emitted_in) {
    event seen{r, 0, uid, emitted_in};
    if (r.kind == record_kind::graph_node) {
        seen.serial = next_serial_++;
        log.records.push_back({r, seen.serial, emitted_in});
    } else if (r.kind == record_kind::graph_clone && r.flags != replaces_what_it_was && !log.records.empty()) {
        // CUPTI reported the copy as a plain node just before.
        const record& latest = log.records.back().r;
        if (latest.kind == record_kind::graph_node && latest.value == r.value) log.records.pop_back();
    }
    events_.push_back(seen);
    latest_ticks_ = std::max(latest_ticks_, r.ticks);
}

// All that happened before an event from an earlier round has been observed by now, so such an event can be settled.
void graph_history::settle_events() {
    std::stable_sort(events_.begin(), events_.end(),
                     [](const event& a, const event& b) { return a.r.ticks < b.r.ticks; });
    auto next = events_.begin();
    for (; next != events_.end() && next->r.ticks <= settled_ticks_; ++next) {
        if (next->r.kind == record_kind::graph_node) add_node(*next);
        if (next->r.kind == record_kind::graph_clone) add_copy(*next);
        if (next->r.kind == record_kind::graph_node_gone) nodes_.erase(next->r.value);
    }
    events_.erase(events_.begin(), next);
    settled_ticks_ = latest_ticks_;
}

void graph_history::add_node(const event& made) {
    if (nodes_.size() >= limits_.most_nodes && !nodes_.contains(made.r.value)) {
        region_.count_drop(drop_cause::graph_memory_full);
        return;
    }
    nodes_[made.r.value] = {
        .serial = made.serial, .ticks = made.r.ticks, .thread = made.thread, .emitted_in = made.emitted_in};
    has_unemitted_ = has_unemitted_ || !is_emitted(made.emitted_in);
}

void graph_history::add_copy(const event& made) {
    auto itself = nodes_.find(made.r.value);
    // The node that is replaced is not known.
    if (itself == nodes_.end() && made.r.flags == replaces_what_it_was) {
        if (!nodes_.contains(original_node(made.r))) return;
        add_node(made);
        itself = nodes_.find(made.r.value);
    }
    if (itself == nodes_.end()) return;  // most_nodes was reached when it was made
    const auto original = nodes_.find(original_node(made.r));
    if (original == nodes_.end()) {
        nodes_.erase(itself);
        return;
    }
    const node& original_node = original->second;
    itself->second = {.serial = original_node.serial,
                      .original_id = original_node.is_copy ? original_node.original_id : original->first,
                      .copied_ticks = original_node.is_copy ? original_node.copied_ticks : made.r.ticks,
                      .ticks = made.r.ticks,
                      .thread = made.thread,
                      .emitted_in = made.emitted_in,
                      .is_copy = true};
    has_unemitted_ = has_unemitted_ || !is_emitted(made.emitted_in);
}

void graph_history::hold_names(std::uint64_t end) {
    held_.hold(region_, end, [this](auto&& use) {
        for (const auto& [uid, log] : threads_) {
            for (const observed_record& observed : log.records) use(observed.r.name);
        }
    });
}

void graph_history::end_thread(std::uint64_t uid, std::uint64_t ticks) {
    const auto found = threads_.find(uid);
    if (found != threads_.end()) found->second.ended_ticks = ticks;
}

void graph_history::end_round() try {
    settle_events();
    if (records_ >= std::max(sweep_at_, limits_.sweep_from)) {
        if (sweep() > limits_.most_records) forget_all();
        sweep_at_ = 2 * records_;
    }
    for (auto& [uid, log] : threads_) {
        log.settled = log.records.size();
        log.is_over = log.ended_ticks != 0;
    }
} catch (const std::bad_alloc&) {
    forget_all();
}

// --- selecting ------------------------------------------------------------------------------------------------------

void graph_history::forget_all() {
    const auto waiting =
        std::count_if(events_.begin(), events_.end(), [](const event& candidate) { return candidate.serial != 0; });
    region_.count_drop(drop_cause::graph_memory_full, nodes_.size() + static_cast<std::uint64_t>(waiting));
    nodes_.clear();
    events_.clear();
    for (auto& [uid, log] : threads_) {
        std::vector<observed_record>().swap(log.records);
        log.settled = 0;
    }
    records_ = 0;
}

bool graph_history::observed_only(std::uint64_t uid) const {
    const auto found = threads_.find(uid);
    return found != threads_.end() && found->second.observed_only;
}

wanted_records graph_history::what_matters(bool only_unemitted) const {
    wanted_records wanted;
    if (only_unemitted) wanted.emitted_capture = capture_;
    for (const auto& [id, n] : nodes_) {
        if (!only_unemitted || !is_emitted(n.emitted_in)) wanted.serials.push_back(n.serial);
    }
    for (const event& held : events_) {
        if (!only_unemitted && held.serial != 0) wanted.serials.push_back(held.serial);
    }
    sort_unique(wanted.serials);
    // Places that threads have adopted, and recent places that threads may still adopt.
    for (const auto& [uid, log] : threads_) {
        for (const observed_record& observed : log.records) {
            const bool is_recent = observed.r.kind == record_kind::parent_here &&
                                   observed.r.value + recent_places > latest_place_ && !only_unemitted;
            if (observed.r.kind == record_kind::adopt_push || is_recent) wanted.places.push_back(observed.r.value);
        }
    }
    sort_unique(wanted.places);
    add_holds(wanted);
    return wanted;
}

// Collects the moments whose open ranges must be kept.
void graph_history::add_holds(wanted_records& wanted) const {
    for (const auto& [uid, log] : threads_) {
        for (const observed_record& observed : log.records) {
            const bool may_hold =
                observed.r.kind == record_kind::graph_node || observed.r.kind == record_kind::parent_here;
            if (may_hold && wanted.wants(observed)) wanted.holds.push_back(observed.r.ticks);
        }
    }
    sort_unique(wanted.holds);
}

// Returns how many records were kept because they matter. Records of the latest round are kept in addition.
std::size_t graph_history::sweep() {
    const wanted_records wanted = what_matters(false);
    records_ = 0;
    std::size_t mattering = 0;
    for (auto thread = threads_.begin(); thread != threads_.end();) {
        thread_log& log = thread->second;
        const log_selection selected(log.records, wanted, log.settled, log.ended_ticks, log.is_over);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < log.records.size(); ++i) {
            if (!selected.keeps(i)) continue;
            log.records[kept++] = log.records[i];
            mattering += i < log.settled ? 1 : 0;
        }
        log.records.resize(kept);
        records_ += kept;
        thread = kept == 0 && log.is_over ? threads_.erase(thread) : std::next(thread);
    }
    return mattering;
}

// --- emitting -------------------------------------------------------------------------------------------------------

void graph_history::begin_capture() noexcept {
    ++capture_;
    has_unemitted_ = !nodes_.empty();
}

bool graph_history::expects_more() const noexcept {
    return std::any_of(events_.begin(), events_.end(), [&](const event& held) {
        return held.r.kind != record_kind::graph_node_gone && !is_emitted(held.emitted_in);
    });
}

// By thread uid; each thread's copies are in order of time.
std::map<std::uint64_t, std::vector<record>> graph_history::emit_copies() {
    std::map<std::uint64_t, std::vector<record>> copies;
    for (auto& [id, n] : nodes_) {
        if (is_emitted(n.emitted_in)) continue;
        n.emitted_in = capture_;
        if (!n.is_copy) continue;
        std::vector<record>& of_thread = copies[n.thread];
        if (n.copied_ticks == n.ticks) {
            of_thread.push_back(copy_record(n.ticks, id, n.original_id));
        } else {
            // The original's id may belong to another node by now. So the copy gets an intermediate id at the time of
            // the first copy.
            const std::uint64_t between = own_id_bit | n.serial;
            of_thread.push_back(copy_record(n.copied_ticks, between, n.original_id));
            of_thread.push_back(copy_record(n.ticks, id, between));
        }
    }
    for (auto& [uid, records] : copies) {
        std::sort(records.begin(), records.end(), [](const record& a, const record& b) { return a.ticks < b.ticks; });
    }
    return copies;
}

std::vector<record> graph_history::section_of(thread_log& log, const wanted_records& wanted,
                                              std::span<const record> copies) {
    const log_selection selected(log.records, wanted, log.records.size(), log.ended_ticks, log.is_over);
    std::vector<record> section(1);
    // In order of time: if several nodes had an id one after the other, a copy refers to the node that had it at that
    // time.
    auto copy = copies.begin();
    for (std::size_t i = 0; i < log.records.size(); ++i) {
        if (!selected.keeps(i)) continue;
        const record& r = log.records[i].r;
        for (; copy != copies.end() && copy->ticks < r.ticks; ++copy) section.push_back(*copy);
        section.push_back(r);
        log.records[i].emitted_in = capture_;
    }
    section.insert(section.end(), copy, copies.end());
    section.front().kind = record_kind::window;
    section.front().value = observed_epoch_bit;
    if (section.size() > 1) section.front().ticks = section[1].ticks;
    return section;
}

void graph_history::emit(const section_sink& sink) try {
    has_unemitted_ = false;
    const wanted_records wanted = what_matters(true);
    const auto copies = emit_copies();
    for (auto& [uid, log] : threads_) {
        const auto own = copies.find(uid);
        const std::vector<record> section = section_of(
            log, wanted, own == copies.end() ? std::span<const record>{} : std::span<const record>{own->second});
        if (section.size() > 1) sink(log.facts, section);
    }
} catch (const std::bad_alloc&) {
    forget_all();
}

}  // namespace prof
