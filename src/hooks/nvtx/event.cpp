// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/event.hpp"

#include <algorithm>
#include <cstring>

namespace prof {

narrow_text::narrow_text(const wchar_t* wide) noexcept {
    for (; wide != nullptr && *wide != 0 && size_ + 4 <= bytes_.size(); ++wide) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): wchar_t has 32 bits here, and a negative one is no character
        auto c = static_cast<std::uint32_t>(*wide);
        if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = 0xFFFD;  // no character: the replacement character
        const auto put = [&](std::uint32_t byte) { bytes_[size_++] = static_cast<char>(byte); };
        if (c < 0x80) {
            put(c);
        } else if (c < 0x800) {
            put(0xC0 | (c >> 6));
            put(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            put(0xE0 | (c >> 12));
            put(0x80 | ((c >> 6) & 0x3F));
            put(0x80 | (c & 0x3F));
        } else {
            put(0xF0 | (c >> 18));
            put(0x80 | ((c >> 12) & 0x3F));
            put(0x80 | ((c >> 6) & 0x3F));
            put(0x80 | (c & 0x3F));
        }
    }
}

std::uint32_t keep_text(region& where, const char* text) noexcept { return text == nullptr ? 0 : where.keep(text); }

std::uint32_t keep_text(region& where, const wchar_t* text) noexcept { return where.keep(narrow_text{text}.view()); }

std::uint32_t intern_text(region& where, const char* text) noexcept { return text == nullptr ? 0 : where.intern(text); }

std::uint32_t intern_text(region& where, const wchar_t* text) noexcept {
    return where.intern(narrow_text{text}.view());
}

void fill_from_payloads(producer* names, const nvtxPayloadData_t* payloads, std::size_t count, record& out) noexcept {
    constexpr std::size_t most = 8;  // payloads that one event carries; usually one
    if (payloads == nullptr) return;
    for (std::size_t i = 0; i < std::min(count, most); ++i) {
        const payload_content content = read_payload(out.domain, payloads[i]);
        if (content.has_bytes && out.flags == 0) {
            out.value = content.bytes;
            out.flags = static_cast<std::uint8_t>(payload_type::bytes);
        }
        if (names == nullptr || out.name != 0) continue;
        out.name = content.message.empty() ? content.registered_message : names->intern(content.message);
    }
}

void fill_from_attributes(producer& thread, const nvtxEventAttributes_t& event, record& out) noexcept {
    // The struct has had one layout since NVTX 2; its `size` is the caller's size of it.
    if (event.size < sizeof(nvtxEventAttributes_t)) return;
    out.category = event.category;
    if (event.colorType == NVTX_COLOR_ARGB) out.color = event.color;
    switch (event.messageType) {
        case NVTX_MESSAGE_TYPE_REGISTERED:
            out.name = number_of(event.message.registered);
            break;
        case NVTX_MESSAGE_TYPE_ASCII:
            out.name = name_of(thread, event.message.ascii);
            break;
        case NVTX_MESSAGE_TYPE_UNICODE:
            out.name = name_of(thread, event.message.unicode);
            break;
        default:
            break;
    }
    switch (event.payloadType) {
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
            out.flags = static_cast<std::uint8_t>(payload_type::u64);
            break;
        case NVTX_PAYLOAD_TYPE_INT64:
            out.flags = static_cast<std::uint8_t>(payload_type::i64);
            break;
        case NVTX_PAYLOAD_TYPE_DOUBLE:
            out.flags = static_cast<std::uint8_t>(payload_type::f64);
            break;
        case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
            out.flags = static_cast<std::uint8_t>(payload_type::u32);
            break;
        case NVTX_PAYLOAD_TYPE_INT32:
            out.flags = static_cast<std::uint8_t>(payload_type::i32);
            break;
        case NVTX_PAYLOAD_TYPE_FLOAT:
            out.flags = static_cast<std::uint8_t>(payload_type::f32);
            break;
        case NVTX_PAYLOAD_TYPE_EXT:
            if (event.reserved0 > 0) {  // the number of payloads
                fill_from_payloads(&thread, reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue),
                                   static_cast<std::size_t>(event.reserved0), out);
            }
            break;
        default:
            break;  // no payload
    }
    if (out.flags != 0 && event.payloadType != NVTX_PAYLOAD_TYPE_EXT) {
        std::memcpy(&out.value, &event.payload, sizeof out.value);
        // Types of 4 bytes leave the other half of the union uninitialised.
        if (out.flags >= static_cast<std::uint8_t>(payload_type::u32)) out.value &= 0xFFFFFFFFU;
    }
}

}  // namespace prof
