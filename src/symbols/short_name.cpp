// SPDX-License-Identifier: Apache-2.0
#include "symbols/short_name.hpp"

#include <cstddef>

namespace prof {
namespace {

// The place behind the bracket that closes the one at `at`; the end of the text if none does.
std::size_t behind_bracket(std::string_view text, std::size_t at) noexcept {
    std::size_t depth = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        const bool is_arrow = c == '>' && at > 0 && text[at - 1] == '-';
        if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
        if ((c == '>' && !is_arrow) || c == ')' || c == ']' || c == '}') {
            if (--depth == 0) return at + 1;
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
    std::size_t at = 0;
    while (at < full.size()) {
        const std::string_view rest = full.substr(at);
        if (rest.starts_with(anonymous)) {
            at += anonymous.size();
        } else if (rest.starts_with(call_operator)) {
            at += call_operator.size();
        } else if (rest.starts_with("::") || rest.front() == ' ') {
            at += rest.front() == ' ' ? 1 : 2;
            begin = at;
            end = std::string_view::npos;
        } else if (rest.front() == '(') {
            break;
        } else if (rest.front() == '<' || rest.front() == '{' || rest.front() == '[') {
            if (rest.front() == '<' && end == std::string_view::npos) end = at;
            at = behind_bracket(full, at);
        } else {
            ++at;
        }
    }
    if (end == std::string_view::npos) end = at;
    return begin < end ? full.substr(begin, end - begin) : full;
}

}  // namespace prof
