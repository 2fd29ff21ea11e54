// SPDX-License-Identifier: Apache-2.0
// libprof.so's operator new, which no other library sees. On a thread of the program it is malloc. On libprof's own
// threads neither malloc nor free is called, since the C library would give each of them an arena
// (base/own_memory.hpp).
//
// The forms for arrays and without exceptions, and those of delete, are the standard library's: they end in these. So
// do not the forms for types that need more than malloc's alignment; they are the C library's on every thread.
// Sanitizers need an operator new of their own, so their builds are without this file. Cost: delete looks
// into a table of 256 KB.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/own_memory.hpp"

namespace {

struct freed_block {
    freed_block* next = nullptr;
};

// Blocks of malloc's that libprof's own threads have no use for any more.
constinit std::atomic<freed_block*> to_be_freed{nullptr};

void free_on_this_thread() noexcept {
    // relaxed: a first look; the exchange decides.
    if (to_be_freed.load(std::memory_order_relaxed) == nullptr) return;
    for (freed_block* block = to_be_freed.exchange(nullptr, std::memory_order_acquire); block != nullptr;) {
        freed_block* const next = block->next;
        std::free(block);
        block = next;
    }
}

void* allocate(std::size_t bytes) noexcept {
    if (prof::takes_own_memory) return prof::allocate_own_memory(bytes);
    free_on_this_thread();
    return std::malloc(std::max(bytes, sizeof(freed_block)));
}

void release(void* block) noexcept {
    if (block == nullptr) return;
    if (prof::is_own_memory(block)) return prof::free_own_memory(block);
    if (!prof::takes_own_memory) return std::free(block);
    auto* const freed = ::new (block) freed_block;
    freed->next = to_be_freed.load();
    while (!to_be_freed.compare_exchange_weak(freed->next, freed)) {
    }
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (void* const block = allocate(bytes)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
