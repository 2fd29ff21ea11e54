// Names as text for people and for JSON, without losing a byte.
//
// A name comes from the profiled process and may be anything. Valid UTF-8 is kept as it is. A byte that is no part of
// valid UTF-8 becomes the four characters \xNN (upper-case hex), and so does, as \x5C, a backslash of the name that
// would otherwise look like the start of such an escape. Replacing every \xNN by its byte gives the name back, so the
// scheme is reversible, and names without invalid bytes look as they always did. JSON's own escapes come on top of it.
//
// Pure functions; any thread; linear in the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prof {

// The length of the valid UTF-8 sequence at the start of `text` (1 to 4), or 0. No surrogates, no overlong forms.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

// The name as valid UTF-8. For a terminal, control characters are escaped too: a name must not move the cursor.
std::string printable(std::string_view name);
std::string terminal_safe(std::string_view name);

// printable()'s inverse.
std::string original_bytes(std::string_view text);

// The name as a JSON string, quotes included; ASCII control characters as \u00NN.
void append_json_string(std::string& out, std::string_view name);
std::string json_string(std::string_view name);

}  // namespace prof
