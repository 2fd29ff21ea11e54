// The name table: every distinct string the process shows us, stored once and known by a 32-bit id from then on.
//
// It lives in memory that somebody else provides (the rings' shared mapping), so it survives the process. intern() may
// be called by any thread at once: no lock, no allocation, no system call; about 10 ns for a short known name, the cost
// being one hash and one comparison of the bytes. The drain thread reads new entries with next_entry().
//
// Invariants
//  1. An entry never changes once its length is published, and is never removed.
//  2. A slot goes from empty to one entry and stays. Two threads that intern the same new name may both store it; one
//     wins the slot, the other's bytes are wasted and its id is never given out.
//  3. Entries are written only below `committed`, the part that has storage behind it: the drain thread raises it, so
//     that a full disk is never met on the hot path. Beyond it a name is refused (id 0) and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prof {

struct name_table_header {
    std::uint32_t slot_count = 0;  // a power of two
    std::uint32_t arena_bytes = 0;
    std::atomic<std::uint32_t> used{0};  // arena bytes reserved, may run past `committed` by refused attempts' zero
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
    // Views a table that create() made. `memory` must hold bytes_needed() and outlive the view.
    explicit name_table(void* memory) noexcept;

    static std::size_t bytes_needed(std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept;
    // `memory` must be zero. Slots need storage at once, the arena only as far as commit() says.
    static name_table create(void* memory, std::uint32_t slot_count, std::uint32_t arena_bytes) noexcept;
    static std::size_t arena_offset(std::uint32_t slot_count) noexcept;  // from `memory`

    // In a new table: each name that `other` has given out is known here by the same id. `other` may be in use
    // meanwhile; of what is put there from now on some may be known here, too. What is beyond committed_bytes() is not
    // taken over.
    void take_over(const name_table& other) noexcept;

    // The id of `text`; 0 for the empty name and for a name that found the table full (then `full` is set).
    std::uint32_t intern(std::string_view text, bool& full) noexcept;

    // The text of an id that intern() gave (by whatever thread); empty for 0 and for anything that is no id.
    std::string_view text(std::uint32_t id) const noexcept;

    // The same text's first byte. REQUIRES: intern() gave `id` to this thread, and it is not 0.
    const char* bytes(std::uint32_t id) const noexcept {
        return reinterpret_cast<const char*>(arena_ + std::size_t{id} * 8 + sizeof(name_entry_header));
    }

    // Steps through published entries in arena order. `cursor` starts at 0. False when there is none (yet).
    bool next_entry(std::uint32_t& cursor, std::uint32_t& id, std::string_view& text) const noexcept;

    std::uint32_t used_bytes() const noexcept;
    std::uint32_t committed_bytes() const noexcept;
    std::uint32_t arena_bytes() const noexcept { return header_->arena_bytes; }
    void commit(std::uint32_t bytes) noexcept;  // storage is there up to `bytes`

private:
    void fill_gaps(std::uint32_t end) noexcept;

    name_table_header* header_ = nullptr;
    std::atomic<std::uint64_t>* slots_ = nullptr;
    std::byte* arena_ = nullptr;
};

}  // namespace prof
