// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.hpp"

#include <algorithm>
#include <cstdint>

namespace prof {
namespace {

constexpr std::string_view hex_digits = "0123456789ABCDEF";

bool is_hex_digit(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

unsigned hex_value(char c) noexcept {
    if (c <= '9') return static_cast<unsigned>(c - '0');
    return static_cast<unsigned>((c | 0x20) - 'a') + 10;
}

bool starts_byte_escape(std::string_view text) noexcept {
    return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && is_hex_digit(text[2]) && is_hex_digit(text[3]);
}

std::uint8_t byte_at(std::string_view text, std::size_t index) noexcept {
    return static_cast<std::uint8_t>(text[index]);
}

// Splits a name into its parts: text that stays, and single bytes that must be escaped as \xNN. `reversibly`: also
// backslashes that look like such an escape.
template <typename TText, typename TByte>
void split(std::string_view name, TText&& keep, TByte&& escape, bool reversibly = true) {
    std::size_t kept_from = 0;
    std::size_t index = 0;
    while (index < name.size()) {
        const std::size_t length = utf8_sequence_length(name.substr(index));
        if (length != 0 && !(reversibly && starts_byte_escape(name.substr(index)))) {
            index += length;
            continue;
        }
        keep(name.substr(kept_from, index - kept_from));
        escape(byte_at(name, index));
        kept_from = ++index;
    }
    keep(name.substr(kept_from));
}

void append_byte_escape(std::string& out, std::uint8_t byte) {
    out += "\\x";
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
}

// Of a character of three bytes that begins at `at`: whether it changes the direction of the text around it (U+200E,
// U+200F, U+202A to U+202E, U+2066 to U+2069), or begins a line (U+2028, U+2029). No other UTF-8 looks like it.
bool is_layout_control(std::string_view text, std::size_t index) noexcept {
    if (byte_at(text, index) != 0xE2) return false;
    const std::uint8_t second = byte_at(text, index + 1);
    const std::uint8_t third = byte_at(text, index + 2);
    if (second == 0x81) return third >= 0xA6 && third <= 0xA9;
    return second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE));
}

// Control characters as escapes. `text` is valid UTF-8.
std::string without_controls(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t index = 0; index < text.size(); ++index) {
        const std::uint8_t byte = byte_at(text, index);
        if (byte < 0x20 || byte == 0x7F) {
            append_byte_escape(out, byte);
        } else if (byte == 0xC2 && byte_at(text, index + 1) < 0xA0) {
            // U+0080 to U+009F are control characters too, for some terminals.
            append_byte_escape(out, byte);
            append_byte_escape(out, byte_at(text, ++index));
        } else if (is_layout_control(text, index)) {
            for (const std::size_t end = index + 3; index < end; ++index) append_byte_escape(out, byte_at(text, index));
            --index;
        } else {
            out += text[index];
        }
    }
    return out;
}

void append_json_text(std::string& out, std::string_view text) {
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\r':
                out += "\\r";
                break;
            default:
                if (static_cast<std::uint8_t>(c) >= 0x20) {
                    out += c;
                } else {
                    out += "\\u00";
                    out += hex_digits[static_cast<std::uint8_t>(c) >> 4];
                    out += hex_digits[static_cast<std::uint8_t>(c) & 15];
                }
        }
    }
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
    if (text.empty()) return 0;
    const std::uint8_t first = byte_at(text, 0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() < length) return 0;
    // The second byte's range is narrower where a wider one would be overlong, a surrogate, or beyond U+10FFFF.
    const std::uint8_t lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte_at(text, 1) < lowest || byte_at(text, 1) > highest) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
    }
    return length;
}

std::string printable(std::string_view name) {
    std::string out;
    out.reserve(name.size());
    split(
        name, [&](std::string_view text) { out += text; }, [&](std::uint8_t byte) { append_byte_escape(out, byte); });
    return out;
}

std::string terminal_safe(std::string_view name) { return without_controls(printable(name)); }

std::string message_safe(std::string_view text) {
    std::string valid;
    split(
        text, [&](std::string_view part) { valid += part; },
        [&](std::uint8_t byte) { append_byte_escape(valid, byte); }, false);
    return without_controls(valid);
}

std::string original_bytes(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t index = 0; index < text.size();) {
        if (starts_byte_escape(text.substr(index))) {
            out += static_cast<char>(hex_value(text[index + 2]) << 4 | hex_value(text[index + 3]));
            index += 4;
        } else {
            out += text[index++];
        }
    }
    return out;
}

void append_json_string(std::string& out, std::string_view name) {
    out += '"';
    split(
        name, [&](std::string_view text) { append_json_text(out, text); },
        [&](std::uint8_t byte) {
            out += '\\';  // the escape's own backslash, escaped for JSON
            append_byte_escape(out, byte);
        });
    out += '"';
}

std::string json_string(std::string_view name) {
    std::string out;
    out.reserve(name.size() + 2);
    append_json_string(out, name);
    return out;
}

}  // namespace prof
