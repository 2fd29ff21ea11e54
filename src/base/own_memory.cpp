// SPDX-License-Identifier: Apache-2.0
#include "base/own_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

namespace prof {

__thread bool takes_own_memory __attribute__((tls_model("initial-exec"))) = false;

namespace {

// All mappings are so large, or a multiple of it, and lie at a multiple of it.
constexpr std::size_t unit = 64U << 10;
constexpr std::size_t least_block = 32;
constexpr std::size_t largest_block = 8U << 10;
constexpr std::uint32_t class_count = 2 * (std::countr_zero(largest_block) - std::countr_zero(least_block)) + 1;
constexpr std::uint32_t most_spare_chunks = 4;

// 32, 48, 64, 96, 128, …
constexpr std::size_t bytes_of(std::uint32_t size_class) noexcept {
    const std::size_t power = least_block << size_class / 2;
    return size_class % 2 == 0 ? power : power + power / 2;
}
constexpr std::uint32_t class_of(std::size_t bytes) noexcept {
    const std::size_t all = std::max(bytes, least_block);
    const auto power = static_cast<std::uint32_t>(std::bit_width(all - 1) - std::countr_zero(least_block));
    return power != 0 && all <= bytes_of(2 * power - 1) ? 2 * power - 1 : 2 * power;
}
static_assert(class_of(1) == 0 && class_of(33) == 1 && class_of(48) == 1 && class_of(49) == 2 && class_of(65) == 3);
static_assert(class_of(largest_block) == class_count - 1 && bytes_of(class_count - 1) == largest_block);

struct free_block {
    free_block* next = nullptr;
};

// At the beginning of a mapping: of one large block, or of a chunk of blocks of one size.
struct alignas(16) chunk {
    std::size_t bytes = unit;  // of the mapping
    chunk* next = nullptr;     // among those of its class that have room, or the spare ones
    chunk* previous = nullptr;
    free_block* free = nullptr;
    std::uint32_t generation = 0;  // of the allocator
    std::uint32_t size_class = 0;  // class_count: one large block
    std::uint32_t used = 0;
    std::uint32_t begun = 0;  // blocks that were ever used; those behind them are untouched

    std::uint32_t capacity() const noexcept {
        return static_cast<std::uint32_t>((unit - sizeof(chunk)) / bytes_of(size_class));
    }
    std::byte* first() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

chunk* chunk_of(const void* block) noexcept {
    return reinterpret_cast<chunk*>(reinterpret_cast<std::uintptr_t>(block) / unit * unit);
}

// At a multiple of the unit.
void* map(std::size_t bytes) noexcept {
    void* const found = mmap(nullptr, bytes + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(found);
    const std::size_t before = (unit - reinterpret_cast<std::uintptr_t>(found) % unit) % unit;
    if (before != 0) munmap(begin, before);
    if (before != unit) munmap(begin + before + bytes, unit - before);
    return begin + before;
}

// The mappings that there are: a table with open addressing. It is changed with the allocator's lock, and read without.
class mapping_set {
public:
    bool has(const chunk* mapping) const noexcept {
        for (std::size_t i = place(mapping);; i = next(i)) {
            // acquire: what is in the mapping is visible with its place here.
            const std::uintptr_t found = places_[i].load(std::memory_order_acquire);
            if (found == as_number(mapping)) return true;
            if (found == empty) return false;
        }
    }
    // False: there is no room.
    bool add(const chunk* mapping) noexcept {
        if (count_ == most) return false;
        std::size_t i = place(mapping);
        while (places_[i].load(std::memory_order_relaxed) > left) i = next(i);
        places_[i].store(as_number(mapping), std::memory_order_release);
        ++count_;
        return true;
    }
    // The place is left to the next one, or is empty if no search goes on from it.
    void remove(const chunk* mapping) noexcept {
        std::size_t i = place(mapping);
        while (places_[i].load(std::memory_order_relaxed) != as_number(mapping)) i = next(i);
        places_[i].store(left, std::memory_order_relaxed);
        --count_;
        if (places_[next(i)].load(std::memory_order_relaxed) != empty) return;
        for (; places_[i].load(std::memory_order_relaxed) == left; i = (i + size - 1) % size) {
            places_[i].store(empty, std::memory_order_relaxed);
        }
    }

private:
    static constexpr std::size_t size = 1U << 15;
    static constexpr std::size_t most = size / 4 * 3;
    static constexpr std::uintptr_t empty = 0;
    static constexpr std::uintptr_t left = 1;

    static std::uintptr_t as_number(const chunk* mapping) noexcept { return reinterpret_cast<std::uintptr_t>(mapping); }
    static std::size_t place(const chunk* mapping) noexcept {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
        return static_cast<std::size_t>((as_number(mapping) / unit * odd) >> 32) % size;
    }
    static std::size_t next(std::size_t i) noexcept { return (i + 1) % size; }

    std::array<std::atomic<std::uintptr_t>, size> places_{};
    std::size_t count_ = 0;
};
constinit mapping_set mappings;

class allocator {
public:
    void* allocate(std::uint32_t size_class) noexcept;
    void* allocate_large(std::size_t bytes) noexcept;
    // False if this thread is in here already.
    bool free(free_block& block) noexcept;
    std::uint32_t generation() const noexcept { return generation_; }
    void begin_anew(std::uint32_t generation) noexcept { generation_ = generation; }

private:
    chunk* make_mapping(std::size_t bytes, std::uint32_t size_class) noexcept;
    chunk* make_chunk(std::uint32_t size_class) noexcept;
    void list(chunk& with_room) noexcept;
    void unlist(chunk& full) noexcept;
    void release(chunk& unused) noexcept;
    static void unmap(chunk& unused) noexcept;

    std::mutex mutex_;
    std::array<chunk*, class_count> with_room_{};
    chunk* spare_ = nullptr;
    std::uint32_t spare_count_ = 0;
    std::uint32_t generation_ = 0;
};

// Threads may free memory until the process ends.
static_assert(std::is_trivially_destructible_v<allocator>);
constinit allocator the_allocator;

// Blocks that a signal's handler freed while its thread was in the allocator.
constinit std::atomic<free_block*> freed_late{nullptr};

// The thread is in the allocator, and holds its lock or waits for it.
__thread bool is_inside __attribute__((tls_model("initial-exec"))) = false;

struct inside {
    inside() noexcept {
        is_inside = true;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~inside() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        is_inside = false;
    }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
};

void allocator::list(chunk& with_room) noexcept {
    chunk*& first = with_room_[with_room.size_class];
    with_room.next = first;
    with_room.previous = nullptr;
    if (first != nullptr) first->previous = &with_room;
    first = &with_room;
}

void allocator::unlist(chunk& full) noexcept {
    (full.previous != nullptr ? full.previous->next : with_room_[full.size_class]) = full.next;
    if (full.next != nullptr) full.next->previous = full.previous;
}

chunk* allocator::make_mapping(std::size_t bytes, std::uint32_t size_class) noexcept {
    void* const place = map(bytes);
    if (place == nullptr) return nullptr;
    auto* const made = ::new (place) chunk;
    made->bytes = bytes;
    made->generation = generation_;
    made->size_class = size_class;
    if (mappings.add(made)) return made;
    munmap(place, bytes);
    return nullptr;
}

chunk* allocator::make_chunk(std::uint32_t size_class) noexcept {
    chunk* made = spare_;
    if (made != nullptr) {
        spare_ = made->next;
        --spare_count_;
        made->free = nullptr;
        made->begun = 0;
        made->size_class = size_class;
    } else {
        made = make_mapping(unit, size_class);
    }
    if (made != nullptr) list(*made);
    return made;
}

void allocator::unmap(chunk& unused) noexcept {
    mappings.remove(&unused);
    munmap(&unused, unused.bytes);
}

void allocator::release(chunk& unused) noexcept {
    unlist(unused);
    if (spare_count_ == most_spare_chunks) return unmap(unused);
    unused.next = spare_;
    spare_ = &unused;
    ++spare_count_;
}

void* allocator::allocate(std::uint32_t size_class) noexcept {
    const inside guard;
    const std::lock_guard lock(mutex_);
    chunk* source = with_room_[size_class];
    if (source == nullptr) source = make_chunk(size_class);
    if (source == nullptr) return nullptr;
    void* block = source->free;
    if (block != nullptr) {
        source->free = source->free->next;
    } else {
        block = source->first() + source->begun++ * bytes_of(size_class);
    }
    if (++source->used == source->capacity()) unlist(*source);
    return block;
}

void* allocator::allocate_large(std::size_t bytes) noexcept {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const inside guard;
    const std::lock_guard lock(mutex_);
    chunk* const made = make_mapping((bytes + sizeof(chunk) + unit - 1) / unit * unit, class_count);
    return made == nullptr ? nullptr : made->first();
}

bool allocator::free(free_block& block) noexcept {
    if (is_inside) return false;
    const inside guard;
    const std::lock_guard lock(mutex_);
    chunk& home = *chunk_of(&block);
    if (home.size_class == class_count) {
        unmap(home);
        return true;
    }
    if (home.used == home.capacity()) list(home);
    block.next = home.free;
    home.free = &block;
    if (--home.used == 0) release(home);
    return true;
}

void free_what_came_late() noexcept {
    // relaxed: a first look; the exchange decides.
    if (freed_late.load(std::memory_order_relaxed) == nullptr) return;
    for (free_block* block = freed_late.exchange(nullptr); block != nullptr;) {
        free_block* const next = block->next;
        (void)the_allocator.free(*block);
        block = next;
    }
}

}  // namespace

void* allocate_own_memory(std::size_t bytes) noexcept {
    if (is_inside) return nullptr;  // in a handler of a fault
    free_what_came_late();
    return bytes <= largest_block ? the_allocator.allocate(class_of(bytes)) : the_allocator.allocate_large(bytes);
}

bool is_own_memory(const void* block) noexcept { return mappings.has(chunk_of(block)); }

void free_own_memory(void* block) noexcept {
    if (chunk_of(block)->generation != the_allocator.generation()) return;  // the parent's
    auto* const freed = ::new (block) free_block;
    if (the_allocator.free(*freed)) return;
    freed->next = freed_late.load();
    while (!freed_late.compare_exchange_weak(freed->next, freed)) {
    }
}

void leave_own_memory_to_parent() noexcept {
    const std::uint32_t generation = the_allocator.generation() + 1;
    ::new (&the_allocator) allocator;
    the_allocator.begin_anew(generation);
    freed_late.store(nullptr);
    is_inside = false;
}

}  // namespace prof
