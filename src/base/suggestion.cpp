// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.hpp"

#include <algorithm>
#include <cstddef>

#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

// Longer words are no mistyped names; the time to compare is quadratic.
constexpr std::size_t longest_word = 100;
constexpr std::size_t shortest_part = 3;

// Names are ASCII.
char folded(char c) noexcept {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == '-' ? '_' : c;
}

std::string folded(std::string_view name) {
    std::string out(name);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) { return folded(c); });
    return out;
}

// Edits that make `b` of `a`: a letter added, removed or replaced, or two neighbours exchanged.
std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (exchanged) current[j] = std::min(current[j], before_last[j - 2] + 1);
        }
        before_last.swap(last);
        last.swap(current);
    }
    return last[b.size()];
}

// How many edits a mistyped word of this length may need.
std::size_t most_edits(std::size_t length) noexcept {
    constexpr std::size_t most = 4;
    return length < 2 ? 0 : std::clamp<std::size_t>((length + 1) / 3, 1, most);
}

}  // namespace

bool is_same_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return folded(x) == folded(y); });
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
    if (word.size() > longest_word) return {};
    const std::string typed = folded(word);
    const std::string* nearest = nullptr;
    std::size_t least = most_edits(typed.size()) + 1;
    for (const std::string& name : known) {
        const std::size_t edits = edits_between(typed, folded(name));
        if (edits >= least) continue;
        least = edits;
        nearest = &name;
    }
    if (nearest != nullptr) return *nearest;
    if (typed.size() < shortest_part) return {};
    const auto has_it = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
        return folded(name).find(typed) != std::string::npos;
    });
    return has_it == known.end() ? std::string() : *has_it;
}

std::string in_quotes(std::string_view word) {
    constexpr std::size_t most_cells = 80;
    return '"' + shortened(message_safe(word), most_cells) + '"';
}

std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known) {
    std::string out = "there is no " + std::string(kind) + " " + in_quotes(name);
    const std::string near = nearest_name(name, known);
    if (!near.empty()) return out + "; did you mean " + near + "?";
    out += "; there are";
    for (const std::string& candidate : known) out += (&candidate == &known.front() ? " " : ", ") + candidate;
    return out;
}

std::string refusal(std::string_view value, std::string_view accepts, const std::vector<std::string>& words) {
    const std::string near = nearest_name(value, words);
    const std::string hint = near.empty() ? "" : " (did you mean " + near + "?)";
    return in_quotes(value) + " is not accepted" + hint + "; it takes " + std::string(accepts);
}

}  // namespace prof
