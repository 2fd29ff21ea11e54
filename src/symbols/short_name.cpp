// SPDX-License-Identifier: Apache-2.0
#include "symbols/short_name.hpp"

#include <cstddef>

namespace prof {
namespace {

// The place behind the bracket that closes the one at `at`; the end of the text if none does.
std::size_t behind_bracket(std::string_view text, std::size_t place) noexcept {
    std::size_t depth = 0;
    for (; place < text.size(); ++place) {
        const char c = text[place];
        const bool is_arrow = c == '>' && place > 0 && text[place - 1] == '-';
        if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
        if ((c == '>' && !is_arrow) || c == ')' || c == ']' || c == '}') {
            if (--depth == 0) return place + 1;
        }
    }
    return text.size();
}

}  // namespace

std::string_view short_name(std::string_view full) noexcept {
    constexpr std::string_view anonymous = "(anonymous namespace)";
    constexpr std::string_view call_operator = "operator()";
    if (full.find_first_of("(<") == std::string_view::npos) return full;
    std::size_t begin = 0;
    std::size_t end = std::string_view::npos;  // of the present component, without its template arguments
    std::size_t place = 0;
    while (place < full.size()) {
        const std::string_view rest = full.substr(place);
        if (rest.starts_with(anonymous)) {
            place += anonymous.size();
        } else if (rest.starts_with(call_operator)) {
            place += call_operator.size();
        } else if (rest.starts_with("::") || rest.front() == ' ') {
            place += rest.front() == ' ' ? 1 : 2;
            begin = place;
            end = std::string_view::npos;
        } else if (rest.front() == '(') {
            break;
        } else if (rest.front() == '<' || rest.front() == '{' || rest.front() == '[') {
            if (rest.front() == '<' && end == std::string_view::npos) end = place;
            place = behind_bracket(full, place);
        } else {
            ++place;
        }
    }
    if (end == std::string_view::npos) end = place;
    return begin < end ? full.substr(begin, end - begin) : full;
}

}  // namespace prof
