// SPDX-License-Identifier: Apache-2.0
// Texts of the program in a page: as text and never as markup, whatever bytes they are. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace prof {

inline constexpr std::size_t longest_page_name = 1'000;  // characters
inline constexpr std::size_t longest_page_sentence = 4'000;

// A name of the program's for people: valid UTF-8 without controls (terminal_safe), and cut if it is very long.
std::string page_name(std::string_view name);
// The same of a text in which names may be escaped already.
std::string page_sentence(std::string_view text);

// The same of a name among many, as of a row in a long list: shorter.
inline constexpr std::size_t longest_page_label = 300;
std::string page_label(std::string_view text);

// The text with a capital as its first letter, if that is one of ASCII's.
std::string capitalized(std::string text);

// JSON for the inside of a script element: nothing in it ends the element, or begins a comment.
std::string script_json(std::string_view json);

std::string base64(std::string_view bytes);
// Of the bytes, in base64, as a content security policy names a script.
std::string sha256_base64(std::string_view bytes);

}  // namespace prof
