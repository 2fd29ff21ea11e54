// The names of ranges: texts that a program may make up without end ("iteration 1", "iteration 2", …), in memory of a
// fixed size that is used again and again.
//
// The texts stand one behind the other on a line of *positions* that only grows; position p is byte p mod arena_bytes
// of the arena. Three positions divide the line, each not beyond the next:
//
//     freed ≤ begin ≤ end          end − freed ≤ arena_bytes
//
//   [begin, end)    what a text may be found as: intern() stores a text behind `end`, or finds it here
//   [freed, begin)  given to nobody any more, and still readable: rings may have records with these names
//   before freed    gone; other texts stand there
//
// A name's id is its position divided by 8, modulo 2^31, with the highest bit set; ids of a name_table never have it.
// So an id means one text until 2^34 bytes of texts have passed, and whoever has one from before `freed` finds out.
//
// intern() may be called by any thread at once: no lock, no allocation, no system call. `begin` and `freed` are moved
// by the one thread that drains (ring/name_recycling.hpp), which sees to it that nobody is in the middle of a name that
// it frees. The table that finds texts is a cache: a text that is not found is stored once more, under another id.
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
    std::atomic<std::uint64_t> limit{0};      // `end` does not pass it
    std::atomic<std::uint64_t> committed{0};  // bytes of the arena with storage behind them
    std::uint64_t reserved[3] = {};
    // What every new name changes is on a cache line of its own.
    std::atomic<std::uint64_t> end{0};
    std::uint64_t reserved2[7] = {};
};
static_assert(sizeof(passing_names_header) == 128);

inline constexpr std::uint32_t passing_id_bit = 1U << 31;
constexpr bool is_passing(std::uint32_t id) noexcept { return (id & passing_id_bit) != 0; }

class passing_names {
public:
    passing_names() = default;
    // Views what create() made. The memory must outlive the view.
    passing_names(void* table, void* arena) noexcept;

    static std::size_t table_bytes(std::uint32_t slot_count) noexcept;
    // All memory must be zero. The table (table_bytes()) needs storage at once, the arena as far as commit() says.
    static passing_names create(void* table, std::uint32_t slot_count, void* arena, std::uint32_t arena_bytes) noexcept;

    // The id of `text`; 0 for the empty name and for one that finds no room (then `full` is set). `since`: begin(),
    // read after the calling thread has said that it is at a name (ring/name_recycling.hpp).
    std::uint32_t intern(std::string_view text, std::uint64_t since, bool& full) noexcept;

    // Its first byte. REQUIRES: intern() gave `id`, and it is not freed.
    const char* bytes(std::uint32_t id) const noexcept {
        return reinterpret_cast<const char*>(at(std::uint64_t{id} * 8) + sizeof(name_entry_header));
    }
    // The text of an id; empty for one that is freed, and for what is no id. For the thread that frees names, and those
    // that keep it from that.
    std::string_view text(std::uint32_t id) const noexcept;
    // Where the text of an id stands; false if it is freed or no id.
    bool position_of(std::uint32_t id, std::uint64_t& position) const noexcept;
    // That intern() may still give it to one that came `since`.
    bool is_since(std::uint32_t id, std::uint64_t since) const noexcept {
        return ((id - static_cast<std::uint32_t>(since / 8)) & (passing_id_bit - 1)) < arena_bytes() / 8;
    }

    // acquire: what stands behind it is seen (a plain load on x86).
    std::uint64_t begin() const noexcept { return header_->begin.load(std::memory_order_acquire); }
    std::uint64_t freed() const noexcept { return header_->freed.load(std::memory_order_acquire); }
    std::uint64_t end() const noexcept { return header_->end.load(std::memory_order_acquire); }
    std::uint32_t arena_bytes() const noexcept { return header_->arena_bytes; }

    // The draining thread's. retire() moves `begin` where more than five eighths of the arena are in use, so that half
    // of it stays in use; true if it did. free() gives what is before it back.
    bool retire() noexcept;
    void free() noexcept;
    std::uint32_t committed_bytes() const noexcept;
    void commit(std::uint32_t bytes) noexcept;  // storage is there up to `bytes` of the arena

private:
    void set_limit() noexcept;
    bool reserve(std::uint32_t bytes, std::uint64_t& position) noexcept;
    std::byte* at(std::uint64_t position) const noexcept { return arena_ + (position & (arena_bytes() - 1)); }

    passing_names_header* header_ = nullptr;
    std::atomic<std::uint64_t>* slots_ = nullptr;
    std::byte* arena_ = nullptr;
};

}  // namespace prof
