// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/python_stack.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "hooks/lines/frame_reader.hpp"

namespace prof {
namespace {

constexpr std::size_t type_offset = python_type_offset;
constexpr std::size_t size_offset = python_stack::size_offset;
constexpr std::size_t bytes_offset = python_stack::bytes_offset;
constexpr std::size_t state_offset = 32;  // of a str

constexpr std::size_t longest_table = 1 << 20;

// This thread's, whose frames stand still while it is here.
struct own_memory {
    static const std::byte* bytes(const std::byte* address, std::size_t) noexcept { return address; }
};

bool has_type(const std::byte* object, const void* type) noexcept {
    return is_plausible_address(object) && value_at<const void*>(object, type_offset) == type;
}

// The character in UTF-8; the number of its bytes.
std::size_t encode(std::uint32_t character, char* out) noexcept {
    const auto put = [&](std::size_t place, std::uint32_t byte) { out[place] = static_cast<char>(byte); };
    if (character < 0x80) {
        put(0, character);
        return 1;
    }
    if (character < 0x800) {
        put(0, 0xC0 | character >> 6);
        put(1, 0x80 | (character & 0x3F));
        return 2;
    }
    if (character < 0x10000) {
        put(0, 0xE0 | character >> 12);
        put(1, 0x80 | (character >> 6 & 0x3F));
        put(2, 0x80 | (character & 0x3F));
        return 3;
    }
    put(0, 0xF0 | (character >> 18 & 0x07));
    put(1, 0x80 | (character >> 12 & 0x3F));
    put(2, 0x80 | (character >> 6 & 0x3F));
    put(3, 0x80 | (character & 0x3F));
    return 4;
}

// Of a file name that is no UTF-8 Python has a character for each byte that is not, which stands for that byte.
std::size_t encode_or_restore(std::uint32_t character, char* out) noexcept {
    if (character < 0xDC80 || character > 0xDCFF) return encode(character, out);
    out[0] = static_cast<char>(character & 0xFF);
    return 1;
}

template <typename TUnit>
std::string_view encode_all(const std::byte* text, std::size_t length, std::span<char> out) noexcept {
    constexpr std::size_t longest_character = 4;
    std::size_t size = 0;
    for (std::size_t i = 0; i < length && size + longest_character <= out.size(); ++i) {
        size += encode_or_restore(value_at<TUnit>(text, i * sizeof(TUnit)), out.data() + size);
    }
    return {out.data(), size};
}

}  // namespace

std::span<const python_frame> python_stack::walk(std::array<python_frame, most_frames>& out,
                                                 bool& was_odd) const noexcept {
    constexpr std::size_t most_visited = 4 * most_frames;  // with those of the interpreter's own C code
    own_memory memory;
    frame_reader<own_memory> reader(symbols_, *layout_, memory);
    was_odd = false;
    std::size_t count = 0;
    const auto* const thread =
        symbols_.is_initialized() == 0 ? nullptr : static_cast<const std::byte*>(symbols_.this_thread());
    const std::byte* frame = reader.first(thread, static_cast<std::uint64_t>(pthread_self()));
    for (std::size_t visited = 0; frame != nullptr && count < out.size() && visited < most_visited; ++visited) {
        frame_head head;
        if (!reader.read_frame(frame, head) || (head.code != nullptr && !reader.is_code(head.code))) {
            was_odd = true;
            break;
        }
        if (head.code != nullptr) out[count++] = {head.code, head.unit};
        frame = head.previous;
    }
    return {out.data(), count};
}

std::span<const std::uint8_t> python_stack::line_table_of(const std::byte* code) const noexcept {
    const auto* const table = value_at<const std::byte*>(code, layout_->line_table);
    if (!has_type(table, symbols_.bytes_type)) return {};
    const auto size = value_at<std::ptrdiff_t>(table, size_offset);
    if (size <= 0 || static_cast<std::size_t>(size) > longest_table) return {};
    return {reinterpret_cast<const std::uint8_t*>(table + bytes_offset), static_cast<std::size_t>(size)};
}

std::uint32_t python_stack::line_of(const python_frame& frame) const noexcept {
    return line_of_instruction(layout_->lines, line_table_of(frame.code),
                               value_at<std::int32_t>(frame.code, layout_->first_line), frame.unit);
}

std::string_view python_stack::text_of(const std::byte* text, std::span<char> out) const noexcept {
    if (!has_type(text, symbols_.text_type)) return {};
    return text_of_str(*layout_, symbols_.text_type, {text, PTRDIFF_MAX / 2}, out);
}

std::string_view python_stack::file_of(const python_frame& frame, std::span<char> out) const noexcept {
    return text_of(value_at<const std::byte*>(frame.code, layout_->file), out);
}

std::string_view python_stack::function_of(const python_frame& frame, std::span<char> out) const noexcept {
    return text_of(value_at<const std::byte*>(frame.code, layout_->function), out);
}

std::uint64_t python_stack::identity_of(const python_frame& frame) const noexcept {
    constexpr std::uint64_t k0 = 0x9E3779B97F4A7C15U, k1 = 0xD1B54A32D192ED03U;
    std::uint64_t hash = k0;
    const auto add = [&](std::uint64_t word) {
        __extension__ using wide = unsigned __int128;
        const wide product = static_cast<wide>(hash ^ word) * k1;
        hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    const std::span<const std::uint8_t> table = line_table_of(frame.code);
    add(reinterpret_cast<std::uintptr_t>(frame.code));
    add(reinterpret_cast<std::uintptr_t>(table.data()));
    add(value_at<std::uint64_t>(frame.code, layout_->file));
    add(value_at<std::uint64_t>(frame.code, layout_->function));
    add(std::uint64_t{static_cast<std::uint32_t>(frame.unit)} << 32 |
        static_cast<std::uint32_t>(value_at<std::int32_t>(frame.code, layout_->first_line)));
    add(table.size());
    std::uint64_t first = 0, last = 0;
    const std::size_t some = std::min<std::size_t>(table.size(), 8);
    if (some != 0) {
        std::memcpy(&first, table.data(), some);
        std::memcpy(&last, table.data() + table.size() - some, some);
    }
    add(first);
    add(last);
    return hash;
}

std::string_view text_of_str(const python_layout& layout, const void* type, std::span<const std::byte> object,
                             std::span<char> out) noexcept {
    if (object.size() < layout.text || value_at<const void*>(object.data(), type_offset) != type) return {};
    const auto state = value_at<std::uint32_t>(object.data(), state_offset);
    const std::uint32_t kind = state >> 2 & 7U;
    const bool is_compact = (state >> 5 & 1U) != 0;
    const bool is_ascii = (state >> 6 & 1U) != 0;
    const auto length = value_at<std::ptrdiff_t>(object.data(), size_offset);
    if (!is_compact || length < 0 || (kind != 1 && kind != 2 && kind != 4)) return {};
    const std::span<const std::byte> units = object.subspan(is_ascii ? layout.ascii_text : layout.text);
    const std::size_t size = std::min({static_cast<std::size_t>(length), out.size(), units.size() / kind});
    if (is_ascii) return {reinterpret_cast<const char*>(units.data()), kind == 1 ? size : 0};
    if (kind == 1) return encode_all<std::uint8_t>(units.data(), size, out);
    if (kind == 2) return encode_all<std::uint16_t>(units.data(), size, out);
    return encode_all<std::uint32_t>(units.data(), size, out);
}

}  // namespace prof
