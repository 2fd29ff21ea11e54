// SPDX-License-Identifier: Apache-2.0
// The walk of native_stack in a library of its own, since it leaves the frames of its own module out.
#include "native_stack_library.hpp"

#include <link.h>

#include "hooks/lines/native_stack.hpp"

bool prepare_walks() {
    return prof::native_stack::prepare([](std::string_view) noexcept { return false; });
}

std::vector<std::uintptr_t> walked_addresses() {
    std::array<prof::native_frame, 120> frames;
    std::uint32_t depth = 0;
    std::vector<std::uintptr_t> out;
    for (const prof::native_frame& each : prof::native_stack::walk(frames, depth)) {
        out.push_back(each.offset + static_cast<const link_map*>(each.module)->l_addr);
    }
    return out;
}
