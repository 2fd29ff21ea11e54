// SPDX-License-Identifier: Apache-2.0
#include "collect/history/open_records.hpp"

#include <algorithm>
#include <new>

namespace prof {
namespace {

bool is_later(std::uint64_t call, std::uint64_t than) noexcept {
    const std::uint64_t epoch = call >> 32;
    const std::uint64_t other = than >> 32;
    if (epoch != other) return epoch > other;
    // Ids ascend and wrap after 2^32.
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(call) - static_cast<std::uint32_t>(than)) > 0;
}

template <typename TIs>
void erase_last(std::vector<record>& records, TIs&& is) {
    const auto found = std::find_if(records.rbegin(), records.rend(), is);
    if (found != records.rend()) records.erase(std::next(found).base());
}

}  // namespace

// Out of memory: from then on nothing counts as open.
void open_records::follow(std::uint64_t thread, std::uint64_t first_number, std::span<const record> records) try {
    thread_state& state = threads_[thread];
    state.next_number = first_number + records.size();
    for (const record& r : records) visit(thread, state, r);
} catch (const std::bad_alloc&) {
    threads_.clear();
    started_.clear();
    ended_early_.clear();
}

void open_records::end_thread(std::uint64_t thread) { threads_.erase(thread); }

void open_records::cut(std::uint64_t ticks) {
    cut_ticks_ = std::max(cut_ticks_, ticks);
    std::erase_if(started_, [&](const auto& started) { return started.second.start.ticks < cut_ticks_; });
    std::erase_if(ended_early_, [&](const auto& early) { return early.second.end.ticks < cut_ticks_; });
}

void open_records::end_round() noexcept {
    ++round_;
    std::erase_if(ended_early_, [this](const auto& early) { return early.second.round + 2 <= round_; });
}

void open_records::hold_names(region& where, std::uint64_t end) {
    held_.hold(where, end, [this](auto&& use) {
        for (const auto& [thread, state] : threads_) {
            for (const record& r : state.open) use(r.name);
        }
        for (const auto& [id, range] : started_) use(range.start.name);
    });
}

void open_records::visit(std::uint64_t thread, thread_state& state, const record& r) {
    switch (r.kind) {
        case record_kind::range_push:
        case record_kind::adopt_push:
            open(state, r);
            break;
        case record_kind::range_pop:
            close_range(state, r);
            break;
        case record_kind::adopt_pop:
            erase_last(state.open, [](const record& o) { return o.kind == record_kind::adopt_push; });
            break;
        case record_kind::parent_here:
            note_place(state, r);
            break;
        case record_kind::range_start:
            start(thread, state, r);
            break;
        case record_kind::payload:
            if (const auto found = started_.find(state.last_started); found != started_.end())
                found->second.payload = r;
            break;
        case record_kind::range_end:
            end(thread, r);
            break;
        case record_kind::api_enter:
            enter_call(state, r);
            break;
        case record_kind::api_exit:
            if (state.wait.value == r.value) state.wait = {};
            break;
        case record_kind::window:
            enter_window(state, r);
            break;
        case record_kind::mark:
        case record_kind::graph_node:
        case record_kind::graph_clone:
        case record_kind::graph_node_gone:
        case record_kind::stream_sync:
        case record_kind::code_line:
        case record_kind::thread_time:
        case record_kind::collective_call:
        case record_kind::collective_launch:
        case record_kind::collective_work:
        case record_kind::memory_block:
        case record_kind::memory_totals:
        case record_kind::out_of_memory:
        case record_kind::gpu_memory:
        case record_kind::none:
            break;
    }
    if (r.kind != record_kind::range_start) state.last_started = 0;
}

void open_records::open(thread_state& state, const record& r) {
    if (state.open.size() < most_on_a_thread + most_places) {
        state.open.push_back(r);
    } else if (r.kind == record_kind::range_push) {
        ++state.left_out[r.domain];
    }
}

void open_records::note_place(thread_state& state, const record& r) {
    const auto is_place = [](const record& o) { return o.kind == record_kind::parent_here; };
    if (static_cast<std::size_t>(std::count_if(state.open.begin(), state.open.end(), is_place)) >= most_places) {
        state.open.erase(std::find_if(state.open.begin(), state.open.end(), is_place));
    }
    state.open.push_back(r);
}

void open_records::close_range(thread_state& state, const record& r) {
    if (const auto found = state.left_out.find(r.domain); found != state.left_out.end()) {
        if (--found->second == 0) state.left_out.erase(found);
        return;
    }
    erase_last(state.open, [&](const record& o) { return o.kind == record_kind::range_push && o.domain == r.domain; });
}

// In a new window the thread's earlier ranges no longer count as open. Places stay, with nothing open at them.
void open_records::enter_window(thread_state& state, const record& r) {
    std::erase_if(state.open, [](const record& o) { return o.kind != record_kind::parent_here; });
    state.left_out.clear();
    state.wait = {};
    state.observed_window = is_observed_only(r.value) ? r : record{};
}

void open_records::start(std::uint64_t thread, thread_state& state, const record& r) {
    if (ended_early_.erase(r.value) != 0 || r.ticks < cut_ticks_ || state.observed_window.kind != record_kind::none)
        return;
    if (started_.size() >= most_started) started_.erase(started_.begin());
    started_[r.value] = {thread, r, {}};
    state.last_started = r.value;
}

void open_records::end(std::uint64_t thread, const record& r) {
    if (started_.erase(r.value) != 0 || r.ticks < cut_ticks_ || ended_early_.size() >= most_started) return;
    ended_early_[r.value] = {thread, r, round_};
}

void open_records::enter_call(thread_state& state, const record& r) {
    if (latest_call_ == 0 || is_later(r.value, latest_call_)) latest_call_ = r.value;
    const bool waits_only = r.name == 0 && waits(static_cast<api_class>(r.flags));
    state.wait = waits_only ? r : record{};
}

open_by_thread open_records::all() const {
    open_by_thread out;
    const auto add = [&](std::uint64_t thread, const record& r) {
        if (r.kind != record_kind::none) out[thread].records.push_back(r);
    };
    for (const auto& [thread, state] : threads_) {
        for (const record& r : state.open) add(thread, r);
        add(thread, state.wait);
    }
    for (const auto& [id, range] : started_) {
        add(range.thread, range.start);
        add(range.thread, range.payload);
    }
    for (const auto& [id, early] : ended_early_) add(early.thread, early.end);
    // Last, since what follows these window records belongs to no window.
    for (const auto& [thread, state] : threads_) add(thread, state.observed_window);
    for (auto& [thread, open] : out) {
        if (const auto known = threads_.find(thread); known != threads_.end()) {
            open.next_number = known->second.next_number;
        }
    }
    return out;
}

}  // namespace prof
