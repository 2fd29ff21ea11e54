// SPDX-License-Identifier: Apache-2.0
// The names of ranges. A program may invent such texts without end ("iteration 1", "iteration 2", …), so they are
// stored in memory of a fixed size that is reused.
//
// Texts are stored one after the other at *positions* that only grow. Position p is byte p mod arena_bytes of the
// arena. Three positions divide this line, in this order:
//
//     freed ≤ begin ≤ end          end − freed ≤ arena_bytes
//
//   [begin, end)    in use: intern() finds a text here, or stores it behind `end`
//   [freed, begin)  not handed out any more, but still readable: records in rings may have these names
//   before freed    gone; other texts are stored there
//
// A name's id is its position divided by 8, modulo 2^31, with the highest bit set; ids of a name_table never have that
// bit. So an id stands for one text until 2^34 bytes of texts have passed. An id from before `freed` is recognised as
// such.
//
// Any number of threads may call intern() at once: no lock, no allocation, no system call. Only the drain thread moves
// `begin` and `freed` (ring/name_recycling.hpp). It ensures that no thread is in the middle of using a name that it
// frees. The table that finds texts is a cache: a text that it misses is stored once more, under another id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/name_table.hpp"

namespace prof {

struct passing_names_header {
    std::uint32_t slot_count = 0;   // a power of two
    std::uint32_t arena_bytes = 0;  // a power of two
    std::atomic<std::uint64_t> freed{0};
    std::atomic<std::uint64_t> begin{0};
    std::atomic<std::uint64_t> limit{0};      // `end` never passes it
    std::atomic<std::uint64_t> committed{0};  // bytes of the arena with storage behind them
    std::uint64_t reserved[3] = {};
    // Every new name changes `end`, so it has a cache line of its own.
    std::atomic<std::uint64_t> end{0};
    std::uint64_t reserved2[7] = {};
};
static_assert(sizeof(passing_names_header) == 128);

inline constexpr std::uint32_t passing_id_bit = 1U << 31;
constexpr bool is_passing(std::uint32_t id) noexcept { return (id & passing_id_bit) != 0; }

class passing_names {
public:
    passing_names() = default;
    // A view of what create() made. The memory must outlive the view.
    passing_names(void* table, void* arena) noexcept;

    static std::size_t table_bytes(std::uint32_t slot_count) noexcept;
    // All memory must be zero. The table (table_bytes()) needs storage at once, the arena only as far as commit() has
    // set.
    static passing_names create(void* table, std::uint32_t slot_count, void* arena, std::uint32_t arena_bytes) noexcept;

    // The id of `text`; 0 for the empty name, and for a name that finds no room (then `full` is set). `since`: the
    // value of begin() that the calling thread read after it announced that it is at a name (ring/name_recycling.hpp).
    std::uint32_t intern(std::string_view text, std::uint64_t since, bool& full) noexcept;

    // The first byte of a text. REQUIRES: intern() returned `id`, and the name is not freed.
    const char* bytes(std::uint32_t id) const noexcept {
        return reinterpret_cast<const char*>(at(std::uint64_t{id} * 8) + sizeof(name_entry_header));
    }
    // The text of an id; empty if the name is freed, and for a number that is no id. For the thread that frees names,
    // and for threads that prevent it from doing so (a name_use, or being at a name).
    std::string_view text(std::uint32_t id) const noexcept;
    // The position of an id's text; false if it is freed, or is no id.
    bool position_of(std::uint32_t id, std::uint64_t& position) const noexcept;
    // Whether intern() may still return this id to a thread that read begin() as `since`.
    bool is_since(std::uint32_t id, std::uint64_t since) const noexcept {
        return ((id - static_cast<std::uint32_t>(since / 8)) & (passing_id_bit - 1)) < arena_bytes() / 8;
    }

    // acquire: what is stored behind the position is visible (a plain load on x86).
    std::uint64_t begin() const noexcept { return header_->begin.load(std::memory_order_acquire); }
    std::uint64_t freed() const noexcept { return header_->freed.load(std::memory_order_acquire); }
    std::uint64_t end() const noexcept { return header_->end.load(std::memory_order_acquire); }
    std::uint32_t arena_bytes() const noexcept { return header_->arena_bytes; }

    // For the drain thread. retire() moves `begin` if more than five eighths of the arena are in use, so that half of
    // it stays in use; returns whether it did. free() makes the space before `begin` reusable.
    bool retire() noexcept;
    void free() noexcept;
    std::uint32_t committed_bytes() const noexcept;
    void commit(std::uint32_t bytes) noexcept;  // the arena has storage up to `bytes`

private:
    void set_limit() noexcept;
    bool reserve(std::uint32_t bytes, std::uint64_t& position) noexcept;
    std::byte* at(std::uint64_t position) const noexcept { return arena_ + (position & (arena_bytes() - 1)); }

    passing_names_header* header_ = nullptr;
    std::atomic<std::uint64_t>* slots_ = nullptr;
    std::byte* arena_ = nullptr;
};

}  // namespace prof
