// SPDX-License-Identifier: Apache-2.0
#include "record/name_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace prof {
namespace {

constexpr std::uint32_t first_offset = 8;     // so that no entry has id 0
constexpr std::uint32_t longest_probe = 256;  // slots to check before the table counts as full

constexpr std::uint32_t round_up_8(std::uint32_t bytes) noexcept { return (bytes + 7U) & ~7U; }

// Multiply to 128 bits and fold: the mixing step of most fast string hashes.
std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <typename TWord>
TWord load(const char* bytes) noexcept {
    TWord word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

}  // namespace

std::uint64_t hash_name(std::string_view text) noexcept {
    constexpr std::uint64_t k0 = 0x9E3779B97F4A7C15U;  // odd constants with well-mixed bits
    constexpr std::uint64_t k1 = 0xD1B54A32D192ED03U;
    std::uint64_t hash = k0 ^ text.size();
    const char* position = text.data();
    std::size_t left = text.size();
    // Loads of fixed sizes, which may overlap. A copy of `left` bytes would call memcpy.
    std::uint64_t tail = 0;
    if (left >= 8) {
        for (; left > 8; left -= 8, position += 8) hash = fold_multiply(hash ^ load<std::uint64_t>(position), k1);
        tail = load<std::uint64_t>(position + left - 8);
    } else if (left >= 4) {
        tail = (std::uint64_t{load<std::uint32_t>(position)} << 32) | load<std::uint32_t>(position + left - 4);
    } else if (left != 0) {
        tail = (std::uint64_t{load<std::uint8_t>(position)} << 16) |
               (std::uint64_t{load<std::uint8_t>(position + left / 2)} << 8) | load<std::uint8_t>(position + left - 1);
    }
    return fold_multiply(hash ^ tail, k0 ^ (k1 << 1));
}

name_table::name_table(void* memory) noexcept
    : header_(static_cast<name_table_header*>(memory)),
      slots_(
          reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<std::byte*>(memory) + sizeof(name_table_header))),
      arena_(static_cast<std::byte*>(memory) + arena_offset(header_->slot_count)) {}

std::size_t name_table::arena_offset(std::uint32_t slot_count) noexcept {
    return sizeof(name_table_header) + std::size_t{slot_count} * sizeof(std::uint64_t);
}

std::size_t name_table::bytes_needed(std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept {
    return arena_offset(slot_count) + arena_bytes;
}

name_table name_table::create(void* memory, std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept {
    auto* header = ::new (memory) name_table_header;
    header->slot_count = slot_count;
    header->arena_bytes = arena_bytes;
    // relaxed: no other thread has the table yet; publishing it orders this.
    header->used.store(first_offset, std::memory_order_relaxed);
    return name_table(memory);
}

std::uint32_t name_table::intern(std::string_view text, bool& full) noexcept {
    full = false;
    if (text.empty()) return 0;
    if (text.size() > header_->arena_bytes) {
        full = true;
        return 0;
    }
    const std::uint64_t hash = hash_name(text);
    const auto hash_low = static_cast<std::uint32_t>(hash);
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::uint32_t mask = header_->slot_count - 1;
    std::uint32_t stored_id = 0;  // of the entry stored here; 0: none yet

    for (std::uint32_t probe = 0; probe < longest_probe; ++probe) {
        std::atomic<std::uint64_t>& slot = slots_[(static_cast<std::uint32_t>(hash >> 32) + probe) & mask];
        // acquire: pairs with the release of the exchange below; the entry's bytes are seen with its id.
        std::uint64_t found = slot.load(std::memory_order_acquire);
        if (found == 0) {
            if (stored_id == 0) {
                const std::uint32_t need = round_up_8(static_cast<std::uint32_t>(sizeof(name_entry_header)) + length);
                // relaxed: this only reserves disjoint space; the entry is published by its length and its slot. The
                // bound is checked before the addition, so refused names do not change `used`.
                std::uint32_t offset = header_->used.load(std::memory_order_relaxed);
                do {
                    // relaxed: a stale value only refuses a name that would just have fitted.
                    const std::uint32_t limit = header_->committed.load(std::memory_order_relaxed);
                    if (offset > limit || need > limit - offset) {
                        full = true;
                        return 0;
                    }
                } while (!header_->used.compare_exchange_weak(offset, offset + need, std::memory_order_relaxed));
                // The memory is zeroed already. The entry is not constructed, because next_entry() may be reading its
                // length.
                auto* entry = reinterpret_cast<name_entry_header*>(arena_ + offset);
                entry->hash = hash_low;
                std::memcpy(arena_ + offset + sizeof(name_entry_header), text.data(), length);
                // release: a reader that sees the length (next_entry) sees the bytes.
                entry->length_plus_one.store(length + 1, std::memory_order_release);
                stored_id = offset / 8;
            }
            const std::uint64_t wanted = (std::uint64_t{hash_low} << 32) | stored_id;
            // acq_rel: on success publishes this entry, on failure acquires the winner's.
            if (slot.compare_exchange_strong(found, wanted, std::memory_order_acq_rel, std::memory_order_acquire)) {
                return stored_id;
            }
        }
        if (static_cast<std::uint32_t>(found >> 32) == hash_low) {
            const auto id = static_cast<std::uint32_t>(found);
            if (this->text(id) == text) return id;
        }
    }
    full = true;
    return 0;
}

void name_table::take_over(const name_table& other) noexcept {
    const std::uint32_t mask = header_->slot_count - 1;
    std::uint32_t end = first_offset;
    for (std::uint32_t index = 0; index < other.header_->slot_count; ++index) {
        // acquire: the entry's bytes are visible with its id.
        const std::uint64_t found = other.slots_[index].load(std::memory_order_acquire);
        const std::string_view text = other.text(static_cast<std::uint32_t>(found));
        if (text.empty()) continue;
        const std::uint64_t offset = (found & UINT32_MAX) * 8;
        const std::uint64_t next = offset + sizeof(name_entry_header) + text.size();
        if (next > committed_bytes()) continue;
        auto* entry = reinterpret_cast<name_entry_header*>(arena_ + offset);
        entry->hash = static_cast<std::uint32_t>(found >> 32);
        std::memcpy(arena_ + offset + sizeof(name_entry_header), text.data(), text.size());
        // relaxed, here and below: no other thread has this table yet.
        entry->length_plus_one.store(static_cast<std::uint32_t>(text.size()) + 1, std::memory_order_relaxed);
        end = std::max(end, round_up_8(static_cast<std::uint32_t>(next)));
        auto slot = static_cast<std::uint32_t>(hash_name(text) >> 32);
        for (std::uint32_t probe = 0; probe < longest_probe; ++probe, ++slot) {
            if (slots_[slot & mask].load(std::memory_order_relaxed) != 0) continue;
            slots_[slot & mask].store(found, std::memory_order_relaxed);
            break;
        }
    }
    fill_gaps(end);
    header_->used.store(end, std::memory_order_relaxed);
}

// next_entry() walks from entry to entry. The other table may have entries whose ids were never handed out: a name that
// two threads stored, or one that was being stored. This table gets a nameless entry of the same length there, 16 bytes
// or more.
void name_table::fill_gaps(std::uint32_t end) noexcept {
    const auto entry_at = [this](std::uint32_t offset) {
        return reinterpret_cast<name_entry_header*>(arena_ + offset);
    };
    std::uint32_t gap = 0;  // where the gap begins; 0: there is none
    for (std::uint32_t offset = first_offset; offset < end;) {
        // relaxed: no other thread has this table yet.
        const std::uint32_t length_plus_one = entry_at(offset)->length_plus_one.load(std::memory_order_relaxed);
        if (length_plus_one == 0) {
            if (gap == 0) gap = offset;
            offset += 8;
            continue;
        }
        if (gap != 0) entry_at(gap)->length_plus_one.store(offset - gap - 7, std::memory_order_relaxed);
        gap = 0;
        offset += round_up_8(static_cast<std::uint32_t>(sizeof(name_entry_header)) + length_plus_one - 1);
    }
}

std::string_view name_table::text(std::uint32_t id) const noexcept {
    const std::uint64_t offset = std::uint64_t{id} * 8;
    if (id == 0 || offset + sizeof(name_entry_header) > header_->arena_bytes) return {};
    const auto* entry = reinterpret_cast<const name_entry_header*>(arena_ + offset);
    // acquire: pairs with the release that published the length; the bytes are visible.
    const std::uint32_t length_plus_one = entry->length_plus_one.load(std::memory_order_acquire);
    if (length_plus_one == 0 || offset + sizeof(name_entry_header) + (length_plus_one - 1) > header_->arena_bytes) {
        return {};
    }
    return {reinterpret_cast<const char*>(arena_ + offset + sizeof(name_entry_header)), length_plus_one - 1};
}

bool name_table::next_entry(std::uint32_t& cursor, std::uint32_t& id, std::string_view& text) const noexcept {
    if (cursor < first_offset) cursor = first_offset;
    if (cursor >= used_bytes()) return false;
    id = cursor / 8;
    text = this->text(id);
    if (text.empty()) return false;  // reserved, not yet published
    cursor += round_up_8(static_cast<std::uint32_t>(sizeof(name_entry_header) + text.size()));
    return true;
}

std::uint32_t name_table::used_bytes() const noexcept {
    // relaxed: a lower value only means that an entry is read in the next round.
    return header_->used.load(std::memory_order_relaxed);
}

std::uint32_t name_table::committed_bytes() const noexcept {
    // relaxed: only the drain thread changes it, and the reader is that thread.
    return header_->committed.load(std::memory_order_relaxed);
}

void name_table::commit(std::uint32_t bytes) noexcept {
    // relaxed: a system call allocated the storage before; no other data depends on the value.
    header_->committed.store(bytes, std::memory_order_relaxed);
}

}  // namespace prof
