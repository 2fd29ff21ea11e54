// SPDX-License-Identifier: Apache-2.0
// The command's operator new: large blocks lie in huge pages where the kernel grants these on request (madvise(2)). A
// report of millions of records fills hundreds of megabytes once. With pages of 4 KiB, a fifth of its time is spent in
// page faults. And what is freed stays with the command, which will need as much again: a diagnosis goes through a
// recording part by part, and the kernel would have to clear the same pages for each part.
//
// The other forms of new and delete are the standard library's: they end in this function and in free(). Sanitizers
// need an operator new of their own, so their builds are without this file. Any thread. Throws std::bad_alloc. Cost: a
// system call for a large block.
#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr std::size_t huge_page = 2U << 20;  // bytes; where they are larger, the kernel ignores the request
constexpr std::size_t least_bytes = 2 * huge_page;

void use_huge_pages(void* block, std::size_t bytes) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t before = (huge_page - address % huge_page) % huge_page;
    const std::size_t whole = (bytes - before) / huge_page * huge_page;
    // Without huge pages, memory is as usual.
    static_cast<void>(madvise(static_cast<std::byte*>(block) + before, whole, MADV_HUGEPAGE));
}

// Blocks come from the heap and not from mappings of their own, which the kernel would clear anew for each, and the
// heap is not given back before the command ends. All threads share one heap: others than the first are given back.
// Other mallocs than glibc's may ignore it.
[[maybe_unused]] const bool keeps_freed_memory = mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_ARENA_MAX, 1) == 1 &&
                                                 mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max()) == 1;

}  // namespace

void* operator new(std::size_t bytes) {
    for (;;) {
        if (void* const block = std::malloc(bytes == 0 ? 1 : bytes); block != nullptr) {
            if (bytes >= least_bytes) use_huge_pages(block, bytes);
            return block;
        }
        const std::new_handler release = std::get_new_handler();
        if (release == nullptr) throw std::bad_alloc();
        release();
    }
}
