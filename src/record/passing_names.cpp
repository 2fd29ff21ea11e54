// SPDX-License-Identifier: Apache-2.0
#include "record/passing_names.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "record/name_table.hpp"

namespace prof {
namespace {

constexpr std::uint32_t bucket_slots = 8;  // all candidates for a text lie in one cache line
constexpr std::uint32_t largest_part = 8;  // no name may take more than this part of the arena
constexpr std::uint32_t entry_alignment = 8;

std::uint32_t entry_bytes(std::size_t text_bytes) noexcept {
    const std::size_t bytes = sizeof(name_entry_header) + text_bytes;
    return static_cast<std::uint32_t>((bytes + entry_alignment - 1) / entry_alignment * entry_alignment);
}

std::uint32_t id_at(std::uint64_t position) noexcept {
    return passing_id_bit | static_cast<std::uint32_t>(position / entry_alignment);
}

}  // namespace

passing_names::passing_names(void* table, void* arena) noexcept
    : header_(static_cast<passing_names_header*>(table)),
      slots_(
          reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<std::byte*>(table) + sizeof(passing_names_header))),
      arena_(static_cast<std::byte*>(arena)) {}

std::size_t passing_names::table_bytes(std::uint32_t slot_count) noexcept {
    return sizeof(passing_names_header) + std::size_t{slot_count} * sizeof(std::uint64_t);
}

passing_names passing_names::create(void* table, std::uint32_t slot_count, void* arena,
                                    std::uint32_t arena_bytes) noexcept {
    auto* header = ::new (table) passing_names_header;
    header->slot_count = slot_count;
    header->arena_bytes = arena_bytes;
    return {table, arena};
}

// Reserves space below the limit and in one piece: no entry crosses the arena's end.
bool passing_names::reserve(std::uint32_t bytes, std::uint64_t& position) noexcept {
    // relaxed: this only reserves disjoint space; the entry is published by its length and its slot.
    std::uint64_t end = header_->end.load(std::memory_order_relaxed);
    do {
        const std::uint64_t to_edge = arena_bytes() - (end & (arena_bytes() - 1));
        position = to_edge < bytes ? end + to_edge : end;
        // acquire: pairs with the release in set_limit(); the memory is wiped.
        if (position + bytes > header_->limit.load(std::memory_order_acquire)) return false;
    } while (!header_->end.compare_exchange_weak(end, position + bytes, std::memory_order_relaxed));
    return true;
}

std::uint32_t passing_names::intern(std::string_view text, std::uint64_t since, bool& full) noexcept {
    full = false;
    if (text.empty()) return 0;
    const std::uint64_t hash = hash_name(text);
    const auto hash_low = static_cast<std::uint32_t>(hash);
    const auto hash_high = static_cast<std::uint32_t>(hash >> 32);
    std::atomic<std::uint64_t>* const bucket = slots_ + (hash_high & (header_->slot_count - 1) & ~(bucket_slots - 1));
    std::atomic<std::uint64_t>* place = bucket + hash_low % bucket_slots;  // the slot to replace if all are in use
    for (std::uint32_t i = 0; i < bucket_slots; ++i) {
        // acquire: pairs with the release below; the entry's bytes are visible with its id.
        const std::uint64_t found = bucket[i].load(std::memory_order_acquire);
        const auto id = static_cast<std::uint32_t>(found);
        if (id == 0 || !is_since(id, since)) {
            place = bucket + i;
        } else if (static_cast<std::uint32_t>(found >> 32) == hash_low && this->text(id) == text) {
            return id;
        }
    }
    std::uint64_t position = 0;
    if (text.size() > arena_bytes() / largest_part || !reserve(entry_bytes(text.size()), position)) {
        full = true;
        return 0;
    }
    std::byte* const bytes = at(position);
    auto* const entry = reinterpret_cast<name_entry_header*>(bytes);
    entry->hash = hash_low;
    std::memcpy(bytes + sizeof(name_entry_header), text.data(), text.size());
    // release: a reader that sees the length sees the bytes.
    entry->length_plus_one.store(static_cast<std::uint32_t>(text.size()) + 1, std::memory_order_release);
    const std::uint32_t id = id_at(position);
    // release: publishes the entry with its id. If another thread has filled the slot meanwhile, its text is not found
    // again. Its next user then stores it once more.
    place->store(std::uint64_t{hash_low} << 32 | id, std::memory_order_release);
    return id;
}

std::string_view passing_names::text(std::uint32_t id) const noexcept {
    const std::byte* const bytes = at(std::uint64_t{id} * entry_alignment);
    const auto* const entry = reinterpret_cast<const name_entry_header*>(bytes);
    // acquire: pairs with the release that published the length.
    const std::uint32_t length_plus_one = entry->length_plus_one.load(std::memory_order_acquire);
    const std::uint64_t room = static_cast<std::uint64_t>(arena_ + arena_bytes() - bytes) - sizeof(name_entry_header);
    if (length_plus_one == 0 || length_plus_one - 1 > room) return {};
    return {reinterpret_cast<const char*>(bytes + sizeof(name_entry_header)), length_plus_one - 1};
}

bool passing_names::position_of(std::uint32_t id, std::uint64_t& position) const noexcept {
    const std::uint64_t end = this->end();
    const std::uint32_t words_back = (static_cast<std::uint32_t>(end / entry_alignment) - id) & (passing_id_bit - 1);
    const std::uint64_t back = std::uint64_t{words_back} * entry_alignment;
    if (!is_passing(id) || back == 0 || back > end - freed()) return false;
    position = end - back;
    return true;
}

bool passing_names::retire() noexcept {
    const std::uint64_t end = this->end();
    if (end - begin() <= std::uint64_t{arena_bytes()} / 8 * 5) return false;
    // seq_cst: rare, and every thread should see it soon.
    header_->begin.store(end - arena_bytes() / 2);
    return true;
}

void passing_names::free() noexcept {
    const std::uint64_t begin = this->begin();
    for (std::uint64_t position = freed(); position != begin;) {
        const std::uint64_t to_edge = arena_bytes() - (position & (arena_bytes() - 1));
        const std::uint64_t bytes = std::min(begin - position, to_edge);
        std::memset(at(position), 0, static_cast<std::size_t>(bytes));
        position += bytes;
    }
    // release: a reader of the mapping that sees the position does not read the bytes before it as names.
    header_->freed.store(begin, std::memory_order_release);
    set_limit();
}

std::uint32_t passing_names::committed_bytes() const noexcept {
    // relaxed: only the drain thread changes it, and the reader is that thread.
    return static_cast<std::uint32_t>(header_->committed.load(std::memory_order_relaxed));
}

void passing_names::commit(std::uint32_t bytes) noexcept {
    // relaxed: as in committed_bytes().
    header_->committed.store(bytes, std::memory_order_relaxed);
    set_limit();
}

void passing_names::set_limit() noexcept {
    // release: the wiped memory is visible with it.
    const std::uint64_t committed = committed_bytes();
    header_->limit.store(committed == arena_bytes() ? freed() + committed : committed, std::memory_order_release);
}

}  // namespace prof
