// SPDX-License-Identifier: Apache-2.0
// zlib's memory by operator new, which libprof's own threads need (own_memory.hpp).
#pragma once

#include <cstddef>
#include <new>

namespace prof {

// For z_stream's zalloc and zfree.
inline void* zlib_allocate(void*, unsigned count, unsigned bytes) noexcept {
    return ::operator new(std::size_t{count} * bytes, std::nothrow);
}
inline void zlib_free(void*, void* block) noexcept { ::operator delete(block); }

// A stream that is to be begun.
template <typename TStream>
TStream unbegun_stream() noexcept {
    TStream stream{};
    stream.zalloc = zlib_allocate;
    stream.zfree = zlib_free;
    return stream;
}

}  // namespace prof
