// SPDX-License-Identifier: Apache-2.0
// The return addresses on the calling thread's own stack, by the tables that compilers write for exceptions, with the
// module that each is in. Nothing is locked or allocated, and the loader is asked by its one function that never waits
// (_dl_find_object, glibc 2.35). Of the stack only pages are read that the kernel has read before; the walk ends where
// the tables lead elsewhere. What a program's functions did with their frame pointer does not matter.
//
// For hooks: some 30 ns a frame, and about 300 ns more the first time that an address is seen. x86-64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace prof {

struct native_frame {
    std::uint32_t index = 0;       // in the whole stack, without libprof's own frames; 0 is the innermost
    bool is_library = false;       // of a library's code, and not the program's own
    std::uint64_t offset = 0;      // of the call's last byte in its module: an address of its file
    const void* module = nullptr;  // the loader's link_map
    std::span<const std::byte> memory{};
};

class native_stack {
public:
    static constexpr std::size_t most_chosen = 8;
    static constexpr std::size_t most_text = 1100;

    // Whether stacks can be walked in this process. Asks the dynamic linker, so not for hooks; once, before walk().
    // `is_of_library`: for a part of a path.
    static bool prepare(bool (*is_of_library)(std::string_view) noexcept) noexcept;

    // Of the frames of this thread those of the program's own code, the innermost first, and the one that the first of
    // them has called; as many as there is room for. Empty if there are none. `depth`: how many frames were seen.
    static std::span<const native_frame> walk(std::span<native_frame> out, std::uint32_t& depth) noexcept;

    // The innermost frame of this thread in a module that `skips` does not hold for; false: there is none. `module`:
    // the loader's link_map.
    static bool find(native_frame& out, bool (*skips)(const void* module, std::string_view path) noexcept) noexcept;
    // The link_map of the module that has an address; null: not known. REQUIRES: prepare() has returned true.
    static const void* module_at(const void* address) noexcept;

    // "build id\npath"; the id in hexadecimal, and empty if the module has none.
    static std::string_view module_of(const native_frame& frame, std::array<char, most_text>& out) noexcept;
};

}  // namespace prof
