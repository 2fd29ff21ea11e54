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

std::uint32_t producer::name_of(const char* text) noexcept {
    if (text == nullptr) return 0;
    // Multiplied, since literals lie a few bytes apart and kernels' symbols pages: the top bits have all of them.
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15U;
    auto& set = known_[mixed >> 58];
    for (known_text& entry : set) {
        if (entry.text != text) continue;
        if (entry.name == 0 || !is_text(text, region_->names().text(entry.name))) entry.name = region_->intern(text);
        return entry.name;
    }
    std::copy_backward(set.begin(), set.end() - 1, set.end());
    set.front() = {text, region_->intern(text)};
    return set.front().name;
}

}  // namespace prof
