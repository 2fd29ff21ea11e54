// SPDX-License-Identifier: Apache-2.0
// Follows the frames of a Python thread, by its version's layout, in memory that is read in one of two ways: the
// thread's own reads it as it is, and another thread's through the kernel. What is read is checked before it is
// followed.
//
// TMemory has, both noexcept:
//   const std::byte* bytes(const std::byte* address, std::size_t size)   so many bytes, or null if there are none;
//                                                                        valid until the next call
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hooks/lines/python_layout.hpp"

namespace prof {

inline constexpr std::size_t python_type_offset = 8;  // of an object its type

// An address that an object or a frame may have.
inline bool is_plausible_address(const std::byte* address) noexcept {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    constexpr std::uintptr_t lowest = 1U << 16;
    return number >= lowest && number < std::uintptr_t{1} << 47 && number % 8 == 0;
}

template <typename TValue>
TValue value_at(const std::byte* object, std::size_t offset) noexcept {
    TValue value;
    std::memcpy(&value, object + offset, sizeof value);
    return value;
}

struct frame_head {
    const std::byte* previous = nullptr;
    const std::byte* code = nullptr;  // null: it stands for C code of the interpreter
    std::int32_t unit = -1;           // number of the instruction, in units of two bytes; -1: not known
};

template <typename TMemory>
class frame_reader {
public:
    frame_reader(const python_symbols& symbols, const python_layout& layout, TMemory& memory) noexcept
        : symbols_(&symbols), layout_(&layout), memory_(&memory) {}

    // The innermost frame of the thread that Python has at `thread`, if that is the one with this number
    // (pthread_self()). Null: it has none, or is another.
    const std::byte* first(const std::byte* thread, std::uint64_t number) noexcept {
        if (symbols_->is_initialized() == 0) return nullptr;
        const std::byte* const object = read(thread, bytes_of_thread);
        if (object == nullptr || value_at<std::uint64_t>(object, layout_->thread_id) != number) return nullptr;
        const auto* const frame = value_at<const std::byte*>(object, layout_->frame);
        if (!layout_->has_c_frame) return frame;
        const std::byte* const of_c = read(frame, layout_->frame_of_c_frame + sizeof(void*));
        return of_c == nullptr ? nullptr : value_at<const std::byte*>(of_c, layout_->frame_of_c_frame);
    }

    // False: it is no frame. Whether its code is code is not looked at (is_code()).
    bool read_frame(const std::byte* frame, frame_head& out) noexcept {
        const std::byte* const object = read(frame, bytes_of_frame);
        if (object == nullptr) return false;
        out = {.previous = value_at<const std::byte*>(object, layout_->previous)};
        if (layout_->has_frame_objects) {
            if (value_at<const void*>(object, python_type_offset) != symbols_->frame_type) return false;
            out.unit = value_at<std::int32_t>(object, layout_->instruction);
        } else if (layout_->c_owner != 0 && value_at<std::uint8_t>(object, layout_->owner) >= layout_->c_owner) {
            return true;
        }
        out.code = without_tag(value_at<std::uintptr_t>(object, layout_->code));
        if (!layout_->has_frame_objects) out.unit = unit_of(value_at<std::intptr_t>(object, layout_->instruction), out);
        return out.code != nullptr;
    }

    bool is_code(const std::byte* object) noexcept { return has_type(object, symbols_->code_type); }
    bool has_type(const std::byte* object, const void* type) noexcept {
        const std::byte* const head = read(object, python_type_offset + sizeof(void*));
        return head != nullptr && value_at<const void*>(head, python_type_offset) == type;
    }

private:
    // More than the layouts have offsets of, and less than there is memory.
    static constexpr std::size_t bytes_of_thread = 256, bytes_of_frame = 112;
    static constexpr std::int64_t most_instructions = 1 << 24;

    const std::byte* read(const std::byte* address, std::size_t size) noexcept {
        return is_plausible_address(address) ? memory_->bytes(address, size) : nullptr;
    }

    const std::byte* without_tag(std::uintptr_t pointer) const noexcept {
        return reinterpret_cast<const std::byte*>(pointer & ~std::uintptr_t{layout_->code_tag});
    }

    std::int32_t unit_of(std::intptr_t instruction, const frame_head& frame) const noexcept {
        const auto begin = reinterpret_cast<std::intptr_t>(frame.code) + layout_->instructions;
        const std::int64_t bytes = instruction - begin;
        return bytes < 0 || bytes / 2 > most_instructions ? -1 : static_cast<std::int32_t>(bytes / 2);
    }

    const python_symbols* symbols_;
    const python_layout* layout_;
    TMemory* memory_;
};

}  // namespace prof
