// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of the calling thread, without the interpreter's lock: while a thread is inside a call of C
// code, as one of CUDA, nobody moves its frames. Nothing is counted, allocated, written or called but two functions of
// Python's that look up the thread's state. What is read is checked before it is followed: a frame counts if its code
// is an object of the type of code objects, with texts of the type of str. The walk ends at the first that is not.
//
// For hooks: a few nanoseconds a frame, and the text that is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hooks/lines/python_layout.hpp"

namespace prof {

struct python_frame {
    const std::byte* code = nullptr;
    std::int32_t unit = -1;  // number of the instruction, in units of two bytes
};

class python_stack {
public:
    static constexpr std::size_t most_frames = 192;
    static constexpr std::size_t most_text = 1024;  // bytes of a file name or a function's name
    // Of bytes and of a str their length; of bytes the first one.
    static constexpr std::size_t size_offset = 16, bytes_offset = 32;

    python_stack() = default;
    // REQUIRES: `found` has a layout, which lives for ever.
    explicit python_stack(const found_python& found) noexcept : symbols_(found.symbols), layout_(found.layout) {}

    bool is_known() const noexcept { return layout_ != nullptr; }
    const void* this_python_thread() const noexcept { return symbols_.this_thread(); }

    // The frames of this thread, the innermost first; empty if it has none. `was_odd`: the walk ended at something that
    // is no frame.
    std::span<const python_frame> walk(std::array<python_frame, most_frames>& out, bool& was_odd) const noexcept;

    // Of a frame of walk(). The line; 0: not known.
    std::uint32_t line_of(const python_frame& frame) const noexcept;
    // In UTF-8, at most `out.size()` bytes of it: empty if the object is no text that can be read.
    std::string_view file_of(const python_frame& frame, std::span<char> out) const noexcept;
    std::string_view function_of(const python_frame& frame, std::span<char> out) const noexcept;

    // Distinguishes the instruction from others in the process, by the addresses and first bytes of what its line comes
    // from. Code that is made anew at the same addresses, of the same size, may have the same number.
    std::uint64_t identity_of(const python_frame& frame) const noexcept;

private:
    std::span<const std::uint8_t> line_table_of(const std::byte* code) const noexcept;
    std::string_view text_of(const std::byte* text, std::span<char> out) const noexcept;

    python_symbols symbols_{};
    const python_layout* layout_ = nullptr;
};

// The text of a str whose first bytes are `object`, as far as they reach; empty if it is no str of the type, or none
// that can be read. In UTF-8, in `out` or in the object itself.
std::string_view text_of_str(const python_layout& layout, const void* type, std::span<const std::byte> object,
                             std::span<char> out) noexcept;

}  // namespace prof
