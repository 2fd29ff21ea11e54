#include "ring/producer.hpp"

#include <algorithm>
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
    *this = producer{};
    region_ = &where;
    names_ = where.names();
    ring_ = &ring;
    epoch_ = epoch;
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

int producer::close_dropped(domain_state& d) noexcept {
    if (d.depth == 0) {
        // While it is only heard, nobody misses the range.
        if (!is_heard_only(epoch_)) drop(drop_cause::pop_without_push);
        return -1;
    }
    --d.depth;
    if (d.depth == d.first_dropped) d.first_dropped = domain_state::none;
    return static_cast<int>(d.depth);
}

std::array<producer::known_text, 4>& producer::set_of(const char* text) noexcept {
    // Multiplied, since literals lie a few bytes apart and kernels' symbols pages: the top bits have all of them.
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15U;
    return known_[mixed >> 58];
}

std::uint32_t producer::name_of(const char* text) noexcept {
    if (text == nullptr) return 0;
    auto& set = set_of(text);
    for (known_text& entry : set) {
        if (entry.text != text) continue;
        if (entry.name == 0 || !is_text(text, {names_.bytes(entry.name), entry.length})) [[unlikely]]
            entry = intern(text);
        return entry.name;
    }
    std::copy_backward(set.begin(), set.end() - 1, set.end());
    set.front() = intern(text);
    return set.front().name;
}

producer::known_text producer::intern(const char* text) noexcept {
    const std::string_view all{text};
    return {text, region_->intern(all), static_cast<std::uint32_t>(all.size()) & INT32_MAX};
}

std::uint32_t producer::symbol_of(const char* symbol, std::uint32_t generation) noexcept {
    if (generation == symbols_) [[likely]] {
        for (const known_text& entry : set_of(symbol)) {
            if (entry.text == symbol && entry.is_symbol != 0) return entry.name;
        }
    }
    return name_of_new(symbol, generation);
}

std::uint32_t producer::name_of_new(const char* symbol, std::uint32_t generation) noexcept {
    if (generation != symbols_) {
        for (auto& set : known_) {
            for (known_text& entry : set) entry.is_symbol = 0;
        }
        symbols_ = generation;
    }
    const std::uint32_t name = name_of(symbol);
    if (generation == 0 || name == 0) return name;
    for (known_text& entry : set_of(symbol)) {
        if (entry.text == symbol) entry.is_symbol = 1;
    }
    return name;
}

}  // namespace prof
