// SPDX-License-Identifier: Apache-2.0
// A buffer of CUPTI's with a kernel and a copy that have ended, as a process that dies may leave it: full to its last
// byte (record/cupti/cupti_layout.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "record/cupti/cupti_layout.hpp"
#include "ring/region.hpp"

namespace prof::test {

inline constexpr std::uint32_t cupti_version = 18;
inline constexpr std::size_t kernel_bytes = layout::record_bytes(layout::kind_concurrent_kernel, cupti_version);
inline constexpr std::size_t copy_bytes = layout::record_bytes(layout::kind_memcpy, cupti_version);

// REQUIRES: the region has a buffer with room for both, and storage behind it.
inline void fill_buffer(region& rings) {
    std::byte* const memory = rings.buffers().memory;
    auto* const header = new (memory) buffer_header;
    header->number = 1;
    header->state = static_cast<std::uint32_t>(buffer_state::taken);
    const auto put = [&](std::size_t at, auto value) {
        std::memcpy(memory + sizeof(buffer_header) + at, &value, sizeof value);
    };
    put(0, layout::kind_concurrent_kernel);
    put(layout::kernel::start.offset, std::uint64_t{100});
    put(layout::kernel::end.offset, std::uint64_t{200});
    put(layout::kernel::correlation.offset, std::uint32_t{1});
    put(kernel_bytes, layout::kind_memcpy);
    put(kernel_bytes + layout::memcpy::start.offset, std::uint64_t{300});
    put(kernel_bytes + layout::memcpy::end.offset, std::uint64_t{400});
    put(kernel_bytes + layout::memcpy::correlation.offset, std::uint32_t{2});
    rings.header().cupti_version = cupti_version;
    rings.header().cupti_epoch = 1;
}

}  // namespace prof::test
