// SPDX-License-Identifier: Apache-2.0
// The name table: stores every distinct string of the process once, under a 32-bit id.
//
// It lies in memory that the caller provides (the rings' shared mapping), so it survives the process. Any number of
// threads may call intern() at once: no lock, no allocation, no system call. A short known name costs about 10 ns, for
// one hash and one comparison of the bytes. The drain thread reads new entries with next_entry().
//
// Invariants
//  1. An entry never changes once its length is published, and is never removed.
//  2. A slot changes once, from empty to one entry. Two threads that intern the same new name may both store it. One
//     wins the slot; the other's bytes are wasted, and its id is never handed out.
//  3. Entries are written only below `committed`, the part with storage behind it. The drain thread raises `committed`,
//     so that the hot path never meets a full disk. Beyond it a name is refused (id 0) and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prof {

struct name_table_header {
    std::uint32_t slot_count = 0;  // a power of two
    std::uint32_t arena_bytes = 0;
    std::atomic<std::uint32_t> used{0};       // arena bytes reserved; refused names do not count
    std::atomic<std::uint32_t> committed{0};  // arena bytes with storage behind them
};
static_assert(sizeof(name_table_header) == 16);

// In the arena, at multiples of 8: id = offset / 8.
struct name_entry_header {
    std::atomic<std::uint32_t> length_plus_one{0};  // 0: reserved, not yet published
    std::uint32_t hash = 0;                         // low half of hash_name()
};
static_assert(sizeof(name_entry_header) == 8);

std::uint64_t hash_name(std::string_view text) noexcept;

class name_table {
public:
    name_table() = default;
    // A view of a table that create() made. `memory` must hold bytes_needed() and outlive the view.
    explicit name_table(void* memory) noexcept;

    static std::size_t bytes_needed(std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept;
    // `memory` must be zero. The slots need storage at once, the arena only up to `committed` (see commit()).
    static name_table create(void* memory, std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept;
    static std::size_t arena_offset(std::uint32_t slot_count) noexcept;  // from `memory`

    // For a new table: afterwards each name that `other` has handed out is in this table under the same id. `other` may
    // be in use meanwhile. Of the names added to it from now on, this table may have some. Names beyond
    // committed_bytes() are not copied.
    void take_over(const name_table& other) noexcept;

    // The id of `text`; 0 for the empty name, and for a name that finds the table full (then `full` is set).
    std::uint32_t intern(std::string_view text, bool& full) noexcept;

    // The text of an id that intern() returned on any thread; empty for 0 and for a number that is no id.
    std::string_view text(std::uint32_t id) const noexcept;

    // The first byte of the same text. REQUIRES: intern() returned `id` to this thread, and it is not 0.
    const char* bytes(std::uint32_t id) const noexcept {
        return reinterpret_cast<const char*>(arena_ + std::size_t{id} * 8 + sizeof(name_entry_header));
    }

    // Steps through the published entries in arena order. `cursor` starts at 0. Returns false when there are no more
    // (yet).
    bool next_entry(std::uint32_t& cursor, std::uint32_t& id, std::string_view& text) const noexcept;

    std::uint32_t used_bytes() const noexcept;
    std::uint32_t committed_bytes() const noexcept;
    std::uint32_t arena_bytes() const noexcept { return header_->arena_bytes; }
    void commit(std::uint32_t bytes) noexcept;  // the arena has storage up to `bytes`

private:
    void fill_gaps(std::uint32_t end) noexcept;

    name_table_header* header_ = nullptr;
    std::atomic<std::uint64_t>* slots_ = nullptr;
    std::byte* arena_ = nullptr;
};

}  // namespace prof
