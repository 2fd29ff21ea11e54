#include "analysis/segment.hpp"

#include <algorithm>

#include "record/ascii.hpp"

namespace prof {
namespace {

constexpr std::string_view own_domain = "prof";

}  // namespace

std::string fold_digits(std::string_view text) {
    std::string folded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) {
            folded += text[i];
        } else if (i == 0 || !is_digit(text[i - 1])) {
            folded += '#';
        }
    }
    return folded;
}

std::string segment_text(const timeline& data, const timeline_range& range, bool fold) {
    const std::string_view name = data.name(range.name);
    std::string text;
    if (range.domain != 0 && data.domains[range.domain].name != own_domain) {
        text = data.domains[range.domain].name + ':';
    }
    if (name.empty()) return text + "(unnamed)";
    return text + (fold ? fold_digits(name) : std::string{name});
}

std::string escape_segment(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '/' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::string path_below(std::string_view above, std::string_view segment) {
    std::string path{above};
    if (!above.empty()) path += '/';
    return path.append(segment);
}

std::string text_budget::of(std::string text) {
    constexpr std::size_t all = 64U << 20;
    constexpr std::size_t end_bytes = 64;
    if (text.size() > end_bytes && text.size() > all - used_) return "…" + text.substr(text.size() - end_bytes);
    used_ += std::min(text.size(), all - used_);
    return text;
}

}  // namespace prof
