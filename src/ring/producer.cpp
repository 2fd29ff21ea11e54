#include "ring/producer.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "record/clock.hpp"

namespace prof {
namespace {

// Reads no further than the end of `text`: strncmp stops there if that is shorter.
bool is_text(const char* text, std::string_view known) noexcept {
    return std::strncmp(text, known.data(), known.size()) == 0 && text[known.size()] == '\0';
}

}  // namespace

void producer::attach(region& where, ring_header& ring, std::uint32_t epoch) noexcept {
    static_assert(offsetof(producer, epoch_) == 64 + sizeof(std::uint64_t), "what each write needs is one cache line");
    *this = producer{};
    region_ = &where;
    names_ = where.names();
    ring_ = &ring;
    epoch_ = epoch;
    direct_epoch_ = has_tick_counter() ? epoch : 0;
    out_ = ring_producer<record>(&ring.counters, where.slots(ring), ring.capacity);
}

void producer::attach_anew(region& where, ring_header& ring, std::uint32_t epoch) noexcept {
    attach(where, ring, epoch);
    if (is_heard_only(epoch)) (void)write_window(epoch);
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
}

int producer::open_dropped(std::size_t domain, std::uint32_t level) noexcept {
    domain_state& d = domains_[domain];
    if (level >= d.first_dropped) {
        drop(drop_cause::enclosing_range_dropped);
    } else {
        d.first_dropped = level;
        drop(drop_cause::ring_full);
    }
    return static_cast<int>(level);
}

int producer::close_dropped(std::size_t domain) noexcept {
    domain_state& d = domains_[domain];
    if (d.depth == 0) {
        // While it is only heard, nobody misses the range.
        if (!is_heard_only(epoch_)) drop(drop_cause::pop_without_push);
        return -1;
    }
    --d.depth;
    if (d.depth == d.first_dropped) d.first_dropped = domain_state::none;
    return static_cast<int>(d.depth);
}

std::uint32_t producer::name_of(const char* text) noexcept {
    if (text == nullptr) return 0;
    known_texts::entry* const known = known_.find(text);
    if (known == nullptr || known->name == 0 || !is_text(text, {names_.bytes(known->name), known->length})) [[unlikely]]
        return learn(text, known);
    return known->name;
}

std::uint32_t producer::learn(const char* text, known_texts::entry* known) noexcept {
    const std::string_view all{text};
    const known_texts::entry fresh{text, region_->intern(all), static_cast<std::uint32_t>(all.size()) & INT32_MAX};
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
    const std::uint32_t name = name_of(symbol);
    known_texts::entry* const known = name == 0 ? nullptr : known_.find(symbol);
    if (known != nullptr && generation != 0) known->is_symbol = 1;
    return name;
}

}  // namespace prof
