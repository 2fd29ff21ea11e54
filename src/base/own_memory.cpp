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

namespace prof {

__thread bool takes_own_memory __attribute__((tls_model("initial-exec"))) = false;

namespace {

constexpr std::size_t chunk_bytes = 64U << 10;
constexpr std::size_t least_block = 32;  // with its header
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
    const auto power = static_cast<std::uint32_t>(std::bit_width(all - 1)) - std::countr_zero(least_block);
    return power != 0 && all <= bytes_of(2 * power - 1) ? 2 * power - 1 : 2 * power;
}
static_assert(class_of(1) == 0 && class_of(33) == 1 && class_of(48) == 1 && class_of(49) == 2 && class_of(65) == 3);
static_assert(class_of(largest_block) == class_count - 1 && bytes_of(class_count - 1) == largest_block);

struct chunk;

// In front of each block.
struct alignas(16) block_header {
    chunk* home = nullptr;         // null: a mapping of its own
    std::uint32_t generation = 0;  // of the allocator that the block is from
    std::uint32_t unused = 0;
};
static_assert(sizeof(block_header) == alignof(std::max_align_t));

// A block that is free. Its header is kept.
struct free_block {
    block_header header;
    free_block* next = nullptr;
};
static_assert(sizeof(free_block) <= least_block);

// Blocks of one size.
struct alignas(16) chunk {
    chunk* next = nullptr;  // among those of its class that have room, or the spare ones
    chunk* previous = nullptr;
    free_block* free = nullptr;
    std::uint32_t size_class = 0;
    std::uint32_t used = 0;
    std::uint32_t begun = 0;  // blocks that were ever used; those behind them are untouched

    std::uint32_t capacity() const noexcept {
        return static_cast<std::uint32_t>((chunk_bytes - sizeof(chunk)) / bytes_of(size_class));
    }
    free_block* at(std::uint32_t index) noexcept {
        auto* const first = reinterpret_cast<std::byte*>(this + 1);
        return reinterpret_cast<free_block*>(first + index * bytes_of(size_class));
    }
};

// At the beginning of a mapping of one block.
struct alignas(16) large_block {
    std::size_t bytes = 0;  // of the mapping
    std::size_t unused = 0;
    block_header header;
};

void* map(std::size_t bytes) noexcept {
    void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? nullptr : found;
}

void* allocate_large(std::size_t bytes, std::uint32_t generation) noexcept {
    constexpr std::size_t page = 4096;
    if (bytes > SIZE_MAX / 2) return nullptr;
    const std::size_t all = (bytes + sizeof(large_block) + page - 1) / page * page;
    void* const mapping = map(all);
    if (mapping == nullptr) return nullptr;
    auto* const block = ::new (mapping) large_block;
    block->bytes = all;
    block->header.generation = generation;
    return block + 1;
}

void free_large(block_header& header) noexcept {
    auto* const block = reinterpret_cast<large_block*>(&header + 1) - 1;
    munmap(block, block->bytes);
}

class allocator {
public:
    // Null: no memory, or this thread is in here already.
    void* allocate(std::uint32_t size_class) noexcept;
    // False if this thread is in here already.
    bool free(free_block& block) noexcept;
    std::uint32_t generation() const noexcept { return generation_; }
    void begin_anew(std::uint32_t generation) noexcept { generation_ = generation; }

private:
    chunk* make_chunk(std::uint32_t size_class) noexcept;
    void list(chunk& with_room) noexcept;
    void unlist(chunk& full) noexcept;
    void release(chunk& unused) noexcept;

    std::mutex mutex_;
    std::array<chunk*, class_count> with_room_{};
    chunk* spare_ = nullptr;
    std::uint32_t spare_count_ = 0;
    std::uint32_t generation_ = 0;
};

// Never destroyed: threads may free memory until the process ends.
union storage {
    constexpr storage() : all{} {}
    ~storage() {}
    allocator all;
};
constinit storage the_allocator;

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

chunk* allocator::make_chunk(std::uint32_t size_class) noexcept {
    void* place = spare_;
    if (place != nullptr) {
        spare_ = spare_->next;
        --spare_count_;
    } else {
        place = map(chunk_bytes);
    }
    if (place == nullptr) return nullptr;
    auto* const made = ::new (place) chunk;
    made->size_class = size_class;
    list(*made);
    return made;
}

void allocator::release(chunk& unused) noexcept {
    unlist(unused);
    if (spare_count_ == most_spare_chunks) {
        munmap(&unused, chunk_bytes);
        return;
    }
    unused.next = spare_;
    spare_ = &unused;
    ++spare_count_;
}

void* allocator::allocate(std::uint32_t size_class) noexcept {
    if (is_inside) return nullptr;
    const inside here;
    const std::lock_guard lock(mutex_);
    chunk* from = with_room_[size_class];
    if (from == nullptr) from = make_chunk(size_class);
    if (from == nullptr) return nullptr;
    free_block* block = from->free;
    if (block != nullptr) {
        from->free = block->next;
    } else {
        block = ::new (from->at(from->begun++)) free_block;
        block->header.home = from;
        block->header.generation = generation_;
    }
    if (++from->used == from->capacity()) unlist(*from);
    return &block->header + 1;
}

bool allocator::free(free_block& block) noexcept {
    if (is_inside) return false;
    const inside here;
    const std::lock_guard lock(mutex_);
    chunk& home = *block.header.home;
    if (home.used == home.capacity()) list(home);
    block.next = home.free;
    home.free = &block;
    if (--home.used == 0) release(home);
    return true;
}

void free_what_came_late() noexcept {
    if (freed_late.load(std::memory_order_relaxed) == nullptr || is_inside) return;
    for (free_block* block = freed_late.exchange(nullptr); block != nullptr;) {
        free_block* const next = block->next;
        (void)the_allocator.all.free(*block);
        block = next;
    }
}

}  // namespace

void* allocate_own_memory(std::size_t bytes) noexcept {
    free_what_came_late();
    if (bytes <= largest_block - sizeof(block_header)) {
        void* const block = the_allocator.all.allocate(class_of(bytes + sizeof(block_header)));
        if (block != nullptr) return block;
    }
    return allocate_large(bytes, the_allocator.all.generation());
}

void free_own_memory(void* block) noexcept {
    block_header& header = *(static_cast<block_header*>(block) - 1);
    if (header.home == nullptr) return free_large(header);
    if (header.generation != the_allocator.all.generation()) return;  // the parent's
    auto& freed = reinterpret_cast<free_block&>(header);
    if (the_allocator.all.free(freed)) return;
    freed.next = freed_late.load();
    while (!freed_late.compare_exchange_weak(freed.next, &freed)) {
    }
}

void leave_own_memory_to_parent() noexcept {
    const std::uint32_t generation = the_allocator.all.generation() + 1;
    ::new (&the_allocator.all) allocator;
    the_allocator.all.begin_anew(generation);
    freed_late.store(nullptr);
    is_inside = false;
}

}  // namespace prof
