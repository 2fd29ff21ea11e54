// SPDX-License-Identifier: Apache-2.0
#include "ring/producer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/clock.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

// Reads no byte beyond the end of `text`: strncmp stops at the end of the shorter text.
bool is_text(const char* text, std::string_view known) noexcept {
    return std::strncmp(text, known.data(), known.size()) == 0 && text[known.size()] == '\0';
}

}  // namespace

void producer::attach(region& where, ring_header& ring, std::uint32_t epoch) noexcept {
    static_assert(offsetof(producer, epoch_) == 64 + sizeof(std::uint64_t), "what each write needs is one cache line");
    // In place: a temporary object would take two pages of the stack of every thread of the program.
    static_assert(std::is_trivially_destructible_v<producer>);
    ::new (this) producer;
    region_ = &where;
    names_ = where.names();
    passing_ = where.passing();
    ring_ = &ring;
    open_api_.is_kept = where.records_calls() ? 0 : 1;  // 0 without calls: then no call finds a slot
    epoch_ = epoch;
    direct_epoch_ = has_tick_counter() ? epoch : no_direct_epoch;
    out_ = ring_producer<record>(&ring.counters, where.slots(ring), ring.capacity);
}

void producer::attach_anew(region& where, ring_header& ring, std::uint32_t epoch) noexcept {
    attach(where, ring, epoch);
    if (is_observed_only(epoch)) (void)write_window(epoch);
}

bool producer::begin_epoch(region& where, std::uint32_t epoch) noexcept {
    if (!write_window(epoch)) return false;
    attach(where, *ring_, epoch);
    return true;
}

bool producer::write_window(std::uint32_t epoch) noexcept {
    record r;
    r.ticks = ticks_now();
    r.kind = record_kind::window;
    r.value = epoch;
    const bool written = out_.write(r);
    if (!written) drop(drop_cause::ring_full);
    return written;
}

void producer::drop(drop_cause cause) noexcept {
    std::atomic<std::uint64_t>& counter = ring_->drops[static_cast<std::size_t>(cause)];
    // relaxed, and no read-modify-write: a statistic that only this thread changes.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    out_.end_naming();
}

// Looks for a leak to take slots from. Returns false if there is none, or if it gives back too few slots.
bool producer::find_room(std::uint32_t count) noexcept {
    constexpr std::uint32_t too_few = 32;  // nesting up to this depth never counts as a leak
    if (leak_.domain != leak::none || out_.set_aside() <= out_.capacity() / 2) return false;
    const auto recorded = [](const domain_state& d) { return std::min(d.depth, d.first_dropped); };
    const auto deepest =
        std::max_element(domains_.begin(), domains_.end(),
                         [&](const domain_state& a, const domain_state& b) { return recorded(a) < recorded(b); });
    const std::uint32_t kept = most_kept_of_leak();
    if (recorded(*deepest) <= std::max<std::uint64_t>(out_.capacity() / 4, too_few)) return false;
    leak_ = {static_cast<std::size_t>(deepest - domains_.begin()), kept, deepest->first_dropped};
    out_.give_back(recorded(*deepest) - kept);
    deepest->first_dropped = 0;
    return out_.make_room(count);
}

// Reserves a slot for the push and one for its pop. In a leak only the innermost ranges have slots reserved for their
// pops.
bool producer::take_for_push(std::size_t domain) noexcept {
    if (domains_[domain].depth >= first_dropped_of(domain)) return false;
    if (!is_leak(domain)) {
        if (out_.take(2)) return true;
        if (!find_room(2)) return false;
        if (!is_leak(domain)) return out_.take(2);
    }
    const bool has_own = leak_.kept < most_kept_of_leak();
    if (!out_.take(has_own ? 2 : 1)) return false;
    if (has_own) ++leak_.kept;
    return true;
}

bool producer::take_for_pop(std::size_t domain) noexcept {
    const std::uint32_t depth = domains_[domain].depth;
    if (!is_leak(domain) || depth == 0 || depth - 1 >= leak_.first_dropped) return false;
    if (depth > leak_.kept && out_.take(1)) return true;
    if (leak_.kept == 0) {
        begin_anew();
        return false;
    }
    --leak_.kept;
    return true;
}

// Ends the leak once every open range has a slot for its pop again.
void producer::end_leak() noexcept {
    if (leak_.domain == leak::none || domains_[leak_.domain].depth != leak_.kept) return;
    domains_[leak_.domain].first_dropped = leak_.first_dropped;
    leak_ = {};
}

// Leaves the epoch: recording_producer() begins one again, with a record that marks it.
void producer::begin_anew() noexcept {
    epoch_ = 0;
    direct_epoch_ = no_direct_epoch;
    drop(drop_cause::ring_full);
}

int producer::open_dropped(std::size_t domain) noexcept {
    const std::uint32_t level = domains_[domain].depth++;
    std::uint32_t& first_dropped = first_dropped_of(domain);
    if (level >= first_dropped) {
        drop(drop_cause::enclosing_range_dropped);
    } else {
        first_dropped = level;
        drop(drop_cause::ring_full);
    }
    return static_cast<int>(level);
}

int producer::close_dropped(std::size_t domain) noexcept {
    domain_state& d = domains_[domain];
    if (d.depth == 0) {
        // In an epoch in which ranges are only observed, a missing range is no loss.
        if (!is_observed_only(epoch_) && !ends_parents_range(domain)) drop(drop_cause::pop_without_push);
        return -1;
    }
    --d.depth;
    std::uint32_t& first_dropped = first_dropped_of(domain);
    if (d.depth == first_dropped) first_dropped = domain_state::none;
    return static_cast<int>(d.depth);
}

bool producer::is_text_of(const char* text, const known_texts::entry& known) const noexcept {
    if (known.name == 0) return false;
    const char* const bytes = is_passing(known.name) ? passing_.bytes(known.name) : names_.bytes(known.name);
    return is_text(text, {bytes, known.length});
}

void producer::forget_names_before(std::uint64_t begin) noexcept {
    for (known_texts::entry& entry : known_.all()) {
        if (is_passing(entry.name) && !passing_.is_since(entry.name, begin)) entry.name = 0;
    }
    names_since_ = begin;
}

std::uint32_t producer::name_of(const char* text) noexcept {
    if (text == nullptr) return 0;
    begin_naming();
    known_texts::entry* const known = known_.find(text);
    if (known == nullptr || !is_text_of(text, *known)) [[unlikely]]
        return learn(text, known, false);
    return known->name;
}

std::uint32_t producer::intern(std::string_view text) noexcept {
    begin_naming();
    return region_->intern_passing(text, names_since_);
}

std::uint32_t producer::learn(const char* text, known_texts::entry* known, bool is_symbol) noexcept {
    const std::string_view all{text};
    const std::uint32_t name = is_symbol ? region_->intern(all) : region_->intern_passing(all, names_since_);
    const known_texts::entry fresh{text, name, static_cast<std::uint32_t>(all.size()) & INT32_MAX};
    if (known == nullptr) {
        known_.add(fresh);
    } else {
        *known = fresh;
    }
    return fresh.name;
}

std::uint32_t producer::symbol_of(const char* symbol, std::uint32_t generation) noexcept {
    if (const known_texts::entry* known = known_symbol(symbol, generation)) return known->name;
    if (generation != symbols_) {
        for (known_texts::entry& entry : known_.all()) entry.is_symbol = 0;
        symbols_ = generation;
    }
    if (symbol == nullptr) return 0;
    begin_naming();
    known_texts::entry* known = known_.find(symbol);
    const bool is_known = known != nullptr && is_text_of(symbol, *known);
    const std::uint32_t name = is_known ? known->name : learn(symbol, known, true);
    known = name == 0 || is_passing(name) ? nullptr : known_.find(symbol);
    if (known != nullptr && generation != 0) known->is_symbol = 1;
    return name;
}

}  // namespace prof
