#include "ring/producer.hpp"

#include <string_view>

#include "record/clock.hpp"

namespace prof {

void producer::attach(region& where, ring_header* ring, std::uint32_t epoch) noexcept {
    *this = producer{};
    region_ = &where;
    ring_ = ring;
    epoch_ = epoch;
    if (ring != nullptr) out_ = ring_producer<record>(&ring->counters, where.slots(*ring), ring->capacity);
}

bool producer::begin_epoch(region& where, std::uint32_t epoch) noexcept {
    if (ring_ != nullptr) {
        record r;
        r.ticks = ticks_now();
        r.kind = record_kind::window;
        r.value = epoch;
        if (!out_.write(r)) {
            drop(drop_cause::ring_full);
            return false;
        }
    }
    attach(where, ring_, epoch);
    return true;
}

void producer::drop(drop_cause cause) noexcept {
    if (ring_ == nullptr) {
        region_->count_drop(drop_cause::no_ring);
        return;
    }
    std::atomic<std::uint64_t>& counter = ring_->drops[static_cast<std::size_t>(cause)];
    // relaxed, and no read-modify-write: a statistic that only this thread changes.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::uint32_t producer::symbol_name(const char* symbol) noexcept {
    if (symbol == nullptr) return 0;
    const auto address = reinterpret_cast<std::uintptr_t>(symbol);
    symbol_entry& entry = symbols_[(address >> 4) % symbols_.size()];
    const std::string_view text{symbol};
    if (entry.symbol == symbol && region_->names().text(entry.name) == text) return entry.name;
    entry = {symbol, region_->intern(text)};
    return entry.name;
}

}  // namespace prof
