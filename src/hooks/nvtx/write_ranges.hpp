// SPDX-License-Identifier: Apache-2.0
// Writes the records behind each NVTX hook, to the ring of the calling thread.
//
// While nothing is recorded a hook compares two words that are in the cache. While a recording runs nearly every range
// takes the fast path, which is inlined into its hook: without a call there is no stack frame. Unusual cases take the
// slow path, a function of its own: a thread without a producer for this recording, a watched range, a clock that needs
// a call, a full ring, a signal handler that interrupted a record. `fill` puts the message and the attributes into the
// record.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/watched_ranges.hpp"
#include "ring/registry.hpp"

namespace prof {

// NVTX_NO_PUSH_POP_TRACKING: this tool does not track levels (at present).
inline constexpr int no_level = NVTX_NO_PUSH_POP_TRACKING;

inline std::atomic<std::uint64_t> next_range_id{1};
// In a forked child: ranges with a smaller id are its parent's. Written in pthread_atfork's handler only.
inline std::uint64_t first_own_range_id = 0;

// Whether the domain found no room in the table. Its ranges are not recorded, but counted.
inline bool refused(std::uint32_t domain) noexcept {
    if (domain < domain_limit) [[likely]]
        return false;
    if (region* where = installed_region()) where->count_drop(drop_cause::domains_full);
    return true;
}

template <typename TFill>
[[gnu::always_inline]] inline int put_push(producer& out, std::uintptr_t domain, std::uint64_t ticks,
                                           TFill fill) noexcept {
    return out.push(domain, [&](record& r) {
        begin_record(r, record_kind::range_push, static_cast<std::uint32_t>(domain), ticks);
        fill(out, r);
    });
}

// `text` is the range's name as the program gave it: opens_window() checks it even while nothing is recorded.
template <typename TFill, typename TText>
[[gnu::noinline]] int write_push(std::uint32_t domain, TFill fill, TText text) noexcept {
    const bool is_opener = opens_window(domain, text);
    producer* const out = recording_producer();
    int level = no_level;
    if (const recording_scope scope{out}; scope && !refused(domain)) level = put_push(*out, domain, ticks_now(), fill);
    if (is_opener) [[unlikely]]
        remember_opener(level < 0 ? nullptr : out, domain, level);
    return level;
}
// The fast path. Returns false, with nothing changed, if it does not apply. REQUIRES: domain < domain_limit.
template <typename TFill>
[[gnu::always_inline]] inline bool push_at_once(std::uintptr_t domain, TFill fill, int& level) noexcept {
    const std::uint32_t epoch = this_thread.direct_epoch;
    // relaxed: direct_epoch is set only after the thread has read this epoch from the gate with acquire.
    if (epoch != plain_epoch.load(std::memory_order_relaxed)) [[unlikely]]
        return false;
    begin_writing();
    const std::uint64_t ticks = tick_counter();
    producer& out = *this_thread.out;
    const auto fill_all = [&](record& r) {
        begin_record(r, record_kind::range_push, static_cast<std::uint32_t>(domain), ticks);
        fill(out, r);
    };
    const bool is_put = out.push_at_once(domain, fill_all, level);
    end_writing(epoch);
    return is_put;
}
template <typename TFill, typename TText>
int push_range(std::uint32_t domain, TFill fill, TText text) noexcept {
    int level = 0;
    if (domain < domain_limit && push_at_once(domain, fill, level)) [[likely]]
        return level;
    return gate_is_shut() ? no_level : write_push(domain, fill, text);
}

// Whether a pop must not begin a recording, since it ends a range of the parent.
inline bool belongs_to_parent(std::uint32_t domain) noexcept {
    if (!has_only_parents_ranges()) return false;
    if (domain < domain_limit) (void)ends_parents_range(domain);
    return true;
}

template <typename TFill>
[[gnu::always_inline]] inline int put_pop(producer& out, std::uintptr_t domain, std::uint64_t ticks,
                                          TFill fill) noexcept {
    return out.pop(domain, [&](record& r) {
        begin_record(r, record_kind::range_pop, static_cast<std::uint32_t>(domain), ticks);
        fill(r);
    });
}
template <typename TFill>
[[gnu::noinline]] int write_pop(std::uint32_t domain, TFill fill) noexcept {
    if (belongs_to_parent(domain)) [[unlikely]]
        return no_level;
    producer* const out = recording_producer(false);  // a lost record was counted at the push
    if (out == nullptr || domain >= domain_limit) return no_level;
    int level = no_level;
    {
        const recording_scope scope{out};
        level = put_pop(*out, domain, ticks_now(), fill);
    }
    note_pop(out, domain, level);
    return level;
}
// Like push_at_once().
template <typename TFill>
[[gnu::always_inline]] inline bool pop_at_once(std::uintptr_t domain, TFill fill, int& level) noexcept {
    const std::uint32_t epoch = this_thread.direct_epoch;
    // relaxed: as in push_at_once().
    if (epoch != plain_epoch.load(std::memory_order_relaxed)) [[unlikely]]
        return false;
    begin_writing();
    const std::uint64_t ticks = tick_counter();
    const auto fill_all = [&](record& r) {
        begin_record(r, record_kind::range_pop, static_cast<std::uint32_t>(domain), ticks);
        fill(r);
    };
    const bool is_put = this_thread.out->pop_at_once(domain, fill_all, level);
    end_writing(epoch);
    return is_put;
}
template <typename TFill>
[[gnu::always_inline]] inline int pop_range(std::uintptr_t domain, TFill fill) noexcept {
    int level = 0;
    if (domain < domain_limit && pop_at_once(domain, fill, level)) [[likely]]
        return level;
    return gate_is_shut() ? no_level : write_pop(static_cast<std::uint32_t>(domain), fill);
}
inline int pop_range(std::uintptr_t domain) noexcept {
    return pop_range(domain, [](record&) {});
}

template <typename TFill>
[[gnu::noinline]] void write_mark(std::uint32_t domain, TFill fill) noexcept {
    const recording_scope out;
    if (!out || refused(domain)) return;
    record r;
    begin_record(r, record_kind::mark, domain, ticks_now());
    fill(*out, r);
    out->write(r);
}
template <typename TFill>
void put_mark(std::uint32_t domain, TFill fill) noexcept {
    if (!gate_is_shut()) write_mark(domain, fill);
}

template <typename TFill>
[[gnu::noinline]] void write_start(std::uint32_t domain, nvtxRangeId_t id, TFill fill) noexcept {
    const recording_scope out;
    if (!out || refused(domain)) return;
    record r;
    begin_record(r, record_kind::range_start, domain, ticks_now());
    fill(*out, r);
    const record payload{r.ticks, r.value, 0, 0, 0, r.domain, record_kind::payload, r.flags};
    r.value = id;
    out->write(r);
    if (payload.flags != 0) out->write(payload);
}
template <typename TFill>
nvtxRangeId_t start_range(std::uint32_t domain, TFill fill) noexcept {
    // relaxed: only has to be unique. An id is also given out while nothing is recorded, since the range may end while
    // something is.
    const std::uint64_t id = next_range_id.fetch_add(1, std::memory_order_relaxed);
    if (!gate_is_shut()) write_start(domain, id, fill);
    return id;
}

[[gnu::noinline]] inline void write_end(std::uint32_t domain, nvtxRangeId_t id) noexcept {
    if (has_only_parents_ranges() || id < first_own_range_id) return;
    const recording_scope out;
    if (!out || domain >= domain_limit) return;
    record r;
    begin_record(r, record_kind::range_end, domain, ticks_now());
    r.value = id;
    out->write(r);
}
inline void end_range(std::uint32_t domain, nvtxRangeId_t id) noexcept {
    if (!gate_is_shut()) write_end(domain, id);
}

}  // namespace prof
