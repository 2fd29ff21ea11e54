// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/payload_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace prof {
namespace {

constexpr std::uint64_t array_flags = 7U << 4;
constexpr std::uint64_t layout_flags = array_flags | NVTX_PAYLOAD_ENTRY_FLAG_POINTER |
                                       NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                                       NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
constexpr std::uint64_t purpose_flags = 3U << 10;  // selects: message, timestamp

struct extent {
    std::uint64_t size = 0;  // 0: unknown here (a nested schema, an array of unknown length)
    std::uint64_t alignment = 1;
};

struct whole_number {
    std::uint8_t width = 0;  // 0: not an integer of two bytes or more
    bool is_signed = false;
};

whole_number number_of_type(std::uint64_t type) noexcept {
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
            return {2, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
            return {2, true};
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
            return {4, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_INT:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
            return {4, true};
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
            return {8, false};
        case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
            return {8, true};
        default:
            return {};
    }
}

bool is_string(std::uint64_t type) noexcept {
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

bool is_character(std::uint64_t type) noexcept {
    return type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR || type == NVTX_PAYLOAD_ENTRY_TYPE_CHAR8;
}

std::uint64_t size_of_type(std::uint64_t type) noexcept {
    if (const whole_number number = number_of_type(type); number.width != 0) return number.width;
    if (is_character(type)) return 1;
    switch (type) {
        case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
        case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
        case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
            return 1;
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
        case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
        case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
            return 4;
        case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
        case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
        case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
        case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
            return 8;
        default:
            return 0;
    }
}

extent extent_of(const nvtxPayloadSchemaEntry_t& entry) noexcept {
    constexpr extent pointer{sizeof(void*), sizeof(void*)};
    constexpr std::uint64_t longest = 1U << 30;  // beyond it products would overflow 64 bits; no struct is that long
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0) return pointer;
    const std::uint64_t array = entry.flags & array_flags;
    const bool has_length = array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
    if ((array != 0 && !has_length) || entry.arrayOrUnionDetail > longest) return {};
    if (is_string(entry.type)) {
        // A string that gives neither its length nor its end can only be a char*.
        return entry.arrayOrUnionDetail == 0 ? pointer : extent{entry.arrayOrUnionDetail, 1};
    }
    const std::uint64_t size = size_of_type(entry.type);
    return {has_length ? size * entry.arrayOrUnionDetail : size, std::max<std::uint64_t>(size, 1)};
}

bool names_bytes(const char* name) noexcept {
    constexpr std::string_view word = "bytes";
    const std::string_view text = name == nullptr ? std::string_view{} : std::string_view{name};
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

using text_form = payload_layout::text_form;

// How the entry holds a text; `none` if it is no text, several texts, or one elsewhere in the payload.
text_form form_of(const nvtxPayloadSchemaEntry_t& entry) noexcept {
    const std::uint64_t flags = entry.flags & layout_flags;
    if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
        return flags == 0 ? text_form::registered : text_form::none;
    }
    const bool is_pointer = (flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0;
    const text_form string_form = is_pointer ? text_form::pointer : text_form::embedded;
    const bool is_text = is_string(entry.type) || is_character(entry.type);
    if (!is_text || (flags & ~(array_flags | NVTX_PAYLOAD_ENTRY_FLAG_POINTER)) != 0) return text_form::none;
    const bool has_length = entry.arrayOrUnionDetail != 0;
    switch (flags & array_flags) {
        case 0:
            if (!is_string(entry.type)) return text_form::none;
            return has_length ? string_form : text_form::pointer;
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE:
            return has_length ? string_form : text_form::none;
        case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED:
            return is_string(entry.type) && has_length ? text_form::none : string_form;
        default:
            return text_form::none;
    }
}

void take_message(const nvtxPayloadSchemaEntry_t& entry, std::uint64_t offset, payload_layout& out) noexcept {
    out.text = form_of(entry);
    out.text_offset = offset;
    const bool ends_with_zero = (entry.flags & array_flags) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
    out.text_length = ends_with_zero ? 0 : entry.arrayOrUnionDetail;
}

// Whether the payload has `width` bytes at `offset`. A client that does not give the size sets it to SIZE_MAX.
bool reaches(const nvtxPayloadData_t& data, std::uint64_t offset, std::uint64_t width) noexcept {
    return data.size == SIZE_MAX || (data.size >= width && data.size - width >= offset);
}

template <typename TValue>
TValue value_at(const nvtxPayloadData_t& data, std::uint64_t offset, std::size_t width = sizeof(TValue)) noexcept {
    TValue value{};
    std::memcpy(&value, static_cast<const std::byte*>(data.payload) + offset, width);
    return value;
}

std::string_view text_at(const char* text, std::uint64_t most) noexcept {
    if (text == nullptr) return {};
    return {text, most == 0 ? std::strlen(text) : strnlen(text, most)};
}

void read_message(const payload_layout& layout, const nvtxPayloadData_t& data, payload_content& out) noexcept {
    if (layout.text == text_form::embedded) {
        if (!reaches(data, layout.text_offset, std::max<std::uint64_t>(layout.text_length, 1))) return;
        const bool ends_with_payload = layout.text_length == 0 && data.size != SIZE_MAX;
        const std::uint64_t most = ends_with_payload ? data.size - layout.text_offset : layout.text_length;
        out.message = text_at(static_cast<const char*>(data.payload) + layout.text_offset, most);
    } else if (layout.text != text_form::none && reaches(data, layout.text_offset, sizeof(void*))) {
        const auto pointer = value_at<std::uintptr_t>(data, layout.text_offset);
        if (layout.text == text_form::registered) {
            out.registered_message = static_cast<std::uint32_t>(pointer);
        } else {
            out.message = text_at(reinterpret_cast<const char*>(pointer), layout.text_length);
        }
    }
}

}  // namespace

payload_layout layout_of(const nvtxPayloadSchemaAttr_t& schema) noexcept {
    const std::uint64_t pack =
        (schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) != 0 ? schema.packAlign : 0;
    payload_layout out;
    std::uint64_t end = 0;  // of the previous field; UINT64_MAX: not known
    for (std::size_t i = 0; i < schema.numEntries; ++i) {
        const nvtxPayloadSchemaEntry_t& entry = schema.entries[i];
        const extent own = extent_of(entry);
        // A client may omit offsets: fields are then laid out as in a C struct.
        std::uint64_t offset = entry.offset;
        if (offset == 0 && end != 0) {
            const std::uint64_t alignment = pack == 0 ? own.alignment : std::min(pack, own.alignment);
            offset = end == UINT64_MAX ? UINT64_MAX : (end + alignment - 1) / alignment * alignment;
        }
        end = own.size == 0 || offset == UINT64_MAX ? UINT64_MAX : offset + own.size;
        if (offset == UINT64_MAX) continue;
        const whole_number number = number_of_type(entry.type);
        if (out.bytes_width == 0 && number.width != 0 && entry.flags == 0 && names_bytes(entry.name)) {
            out.bytes_offset = offset;
            out.bytes_width = number.width;
            out.bytes_is_signed = number.is_signed;
        }
        const bool is_message = (entry.flags & purpose_flags) == NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
        if (is_message && out.text == text_form::none) take_message(entry, offset, out);
    }
    return out;
}

payload_content read_payload(const payload_layout& layout, const nvtxPayloadData_t& data) noexcept {
    payload_content out;
    if (layout.bytes_width != 0 && reaches(data, layout.bytes_offset, layout.bytes_width)) {
        out.bytes = value_at<std::uint64_t>(data, layout.bytes_offset, layout.bytes_width);
        const std::uint64_t sign = std::uint64_t{1} << (8 * layout.bytes_width - 1);
        out.has_bytes = !layout.bytes_is_signed || (out.bytes & sign) == 0;  // a negative value is no number of bytes
    }
    read_message(layout, data, out);
    return out;
}

}  // namespace prof
