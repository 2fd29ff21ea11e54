// SPDX-License-Identifier: Apache-2.0
// Messages about names and values that are not known: the known name that was probably meant. Pure functions; any
// thread.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

// The names of the rows of a table.
template <typename TRows>
std::vector<std::string> names_of(const TRows& rows) {
    std::vector<std::string> out;
    out.reserve(std::size(rows));
    for (const auto& row : rows) out.emplace_back(row.name);
    return out;
}

// Whether the names are equal but for upper and lower case, and '-' for '_'.
bool is_same_name(std::string_view a, std::string_view b) noexcept;

// The name of `known` that a mistyped `word` is nearest to: by letters that are missing, extra, wrong or transposed, or
// because the word is a part of it. "" if none is near enough. The first of several that are equally near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

// The word in quotation marks, ready for a message: without control characters, the middle of a long one left out.
std::string in_quotes(std::string_view word);

// `there is no option "name"; did you mean …?`, or with all names if none is near. `kind`: "option".
std::string unknown_name(std::string_view kind, std::string_view name, const std::vector<std::string>& known);

// `"value" is not accepted; it takes …`: how every value is refused. `words`: the words among the accepted values; one
// that is near is suggested.
std::string refusal(std::string_view value, std::string_view accepts, const std::vector<std::string>& words = {});

}  // namespace prof
