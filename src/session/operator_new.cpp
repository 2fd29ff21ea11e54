// SPDX-License-Identifier: Apache-2.0
// libprof.so's operator new, which no other library sees. On a thread of the program it is malloc. On libprof's own
// threads neither malloc nor free is called, since the C library would give each of them an arena
// (base/own_memory.hpp).
//
// The forms for arrays and without exceptions, and those of delete, are the standard library's: they end in these. So
// do not the forms for types that need more than malloc's alignment; they are the C library's on every thread.
// Sanitizers need an operator new of their own, so their builds are without this file. Cost: 16 bytes a block.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/own_memory.hpp"

namespace {

struct alignas(alignof(std::max_align_t)) block_header {
    bool is_own = false;           // from allocate_own_memory()
    block_header* next = nullptr;  // among those to be freed
};
static_assert(sizeof(block_header) == alignof(std::max_align_t));

// Blocks of malloc's that libprof's own threads have no use for any more.
constinit std::atomic<block_header*> to_be_freed{nullptr};

void free_on_this_thread() noexcept {
    // relaxed: a first look; the exchange decides.
    if (to_be_freed.load(std::memory_order_relaxed) == nullptr) return;
    for (block_header* block = to_be_freed.exchange(nullptr, std::memory_order_acquire); block != nullptr;) {
        block_header* const next = block->next;
        std::free(block);
        block = next;
    }
}

void* allocate(std::size_t bytes) noexcept {
    const std::size_t all = bytes + sizeof(block_header);
    if (all < bytes) return nullptr;
    const bool is_own = prof::takes_own_memory;
    if (!is_own) free_on_this_thread();
    void* const place = is_own ? prof::allocate_own_memory(all) : std::malloc(all);
    if (place == nullptr) return nullptr;
    auto* const header = ::new (place) block_header;
    header->is_own = is_own;
    return header + 1;
}

void release(void* block) noexcept {
    if (block == nullptr) return;
    block_header* const header = static_cast<block_header*>(block) - 1;
    if (header->is_own) return prof::free_own_memory(header);
    if (!prof::takes_own_memory) return std::free(header);
    header->next = to_be_freed.load();
    while (!to_be_freed.compare_exchange_weak(header->next, header)) {
    }
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (void* const block = allocate(bytes)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
