// SPDX-License-Identifier: Apache-2.0
// Colour for terminals: what a line is decides how it looks. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

enum class text_role : std::uint8_t { plain, heading, note, warning };

// Each line of `text` in the colour of its role; unchanged without `color`.
inline std::string styled(std::string_view text, text_role role, bool color) {
    constexpr std::string_view begin_of_role[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[33m"};
    constexpr std::string_view end = "\x1b[0m";
    if (!color || role == text_role::plain) return std::string(text);
    std::string out;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size());
        if (!line.empty()) out.append(begin_of_role[static_cast<std::size_t>(role)]).append(line).append(end);
        if (text.empty()) break;
        out += '\n';
        text.remove_prefix(1);
    }
    return out;
}

}  // namespace prof
