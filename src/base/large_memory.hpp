// SPDX-License-Identifier: Apache-2.0
// Reserves memory for arrays of many megabytes in large pages, where the kernel has them: it maps 2 MiB at a time then,
// instead of 4 KiB. Without them nothing changes. Memory that is reserved and never written takes none.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

template <typename TElement>
void reserve_large(std::vector<TElement>& array, std::size_t count) {
    constexpr std::uintptr_t page = 2U << 20;
    array.reserve(count);
    const auto begin = (reinterpret_cast<std::uintptr_t>(array.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(array.data() + array.capacity()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace prof
