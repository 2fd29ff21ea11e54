// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/segment.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "record/label.hpp"
#include "record/phase_parts.hpp"

namespace prof {
namespace {

constexpr std::string_view own_domain = "prof";
constexpr std::string_view unnamed = "(unnamed)";
// Longer domain names are not searched for in range names.
constexpr std::size_t longest_domain = 256;

constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// True for "fp" and "16", "bf" and "16", "int" and "8", …
bool is_number_format(std::string_view word, std::string_view bits) {
    constexpr std::array words = std::to_array<std::string_view>({"fp", "bf", "tf", "int", "uint", "float"});
    constexpr std::array widths = std::to_array<std::string_view>({"4", "8", "16", "32", "64"});
    std::string lower{word};
    for (char& c : lower) c = static_cast<char>(c | 0x20);
    return std::find(words.begin(), words.end(), lower) != words.end() &&
           std::find(widths.begin(), widths.end(), bits) != widths.end();
}

// Whether the digits text[begin, end) are part of a kind's name, and do not count something.
bool distinguishes_kinds(std::string_view text, std::size_t begin, std::size_t end) {
    constexpr std::size_t longest_word = 5;
    const bool has_letter_before = begin > 0 && is_letter(text[begin - 1]);
    const bool has_letter_behind = end < text.size() && is_letter(text[end]);
    if (!has_letter_before || end - begin > 2) return false;
    if (has_letter_behind) return true;
    std::size_t word = begin;
    while (word > 0 && begin - word <= longest_word && is_letter(text[word - 1])) --word;
    if (word > 0 && is_digit(text[word - 1])) return false;
    return is_number_format(text.substr(word, begin - word), text.substr(begin, end - begin));
}

bool is_named(const timeline& data, std::uint16_t domain) {
    const std::string& name = data.domains[domain].name;
    return domain != 0 && name != own_domain && name != phase_domain;
}

bool is_fixed(std::string_view text) noexcept {
    return text == no_range_text || text == ambiguous_text || text == unmatched_text || text == unnamed;
}

std::string name_text(const timeline& data, const timeline_range& range, bool fold) {
    const std::string_view name = data.name(range.name);
    return fold ? fold_digits(name) : std::string{name};
}

std::string escaped(std::string_view text, std::string_view special) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

}  // namespace

std::string fold_digits(std::string_view text) {
    std::string folded;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_digit(text[end])) ++end;
        if (end == at) {
            folded += text[at++];
            continue;
        }
        if (distinguishes_kinds(text, at, end)) {
            folded += text.substr(at, end - at);
        } else {
            folded += '#';
        }
        at = end;
    }
    return folded;
}

bool folds(const fold_rule& rule, const timeline& data, const timeline_range& range) {
    if (rule.mode != fold_mode::listed) return rule.mode != fold_mode::none;
    const std::string name = name_text(data, range, true);
    const std::string with_domain = segment_text(data, range, true);
    return std::any_of(rule.names.begin(), rule.names.end(), [&](const std::string& pattern) {
        return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 || fnmatch(pattern.c_str(), with_domain.c_str(), 0) == 0;
    });
}

std::string segment_text(const timeline& data, const timeline_range& range, bool fold) {
    const std::string name = name_text(data, range, fold);
    const std::string domain = is_named(data, range.domain) ? data.domains[range.domain].name + ':' : std::string{};
    return domain + (name.empty() ? std::string{unnamed} : name);
}

bool is_phase(const timeline& data, const timeline_range& range) {
    return data.domains[range.domain].name == phase_domain;
}

bool continues_phase(const timeline& data, const timeline_range& range) {
    return range.category == continues && is_phase(data, range) && data.name(range.name) == "optimizer";
}

std::string escape_segment(std::string_view text) { return escaped(text, "/\\"); }

path_segments::path_segments(const timeline& data) : data_(data) {
    for (std::uint32_t i = 0; i < data.domains.size(); ++i) {
        if (is_named(data, static_cast<std::uint16_t>(i))) domains_.insert(data.domains[i].name);
    }
}

std::string path_segments::operator()(const timeline_range& range, bool fold) const {
    const std::string name = name_text(data_, range, fold);
    const bool has_domain = is_named(data_, range.domain);
    std::string segment = has_domain ? escape(data_.domains[range.domain].name) + ':' : std::string{};
    if (name.empty()) return segment + std::string{unnamed};
    if (has_domain ? name == unnamed : is_fixed(name)) segment += '\\';
    return segment + (has_domain ? escape_segment(name) : escape(name));
}

// Escapes colons too, if the text before one of them is the name of a domain.
std::string path_segments::escape(std::string_view text) const {
    for (std::size_t colon = text.find(':'); colon <= longest_domain; colon = text.find(':', colon + 1)) {
        if (domains_.contains(text.substr(0, colon))) return escaped(text, "/\\:");
    }
    return escape_segment(text);
}

std::string shown_segment(std::string_view path) {
    std::string shown;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '/') {
            shown.clear();
            continue;
        }
        const bool escapes = path[i] == '\\' && i + 1 < path.size();
        if (escapes) ++i;
        if (escapes && path[i] != '/' && path[i] != '\\') shown += '\\';
        shown += path[i];
    }
    return shown;
}

std::string with_captured(std::string shown, bool is_captured) {
    constexpr std::string_view suffix = " (captured)";
    if (is_captured) return shown.append(suffix);
    if (shown.ends_with(suffix)) shown.insert(shown.size() - suffix.size() + 1, 1, '\\');
    return shown;
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
