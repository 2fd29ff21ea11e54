// SPDX-License-Identifier: Apache-2.0
// Turns names into text for people and for JSON, without losing a byte.
//
// A name comes from the profiled process and may be any bytes. Valid UTF-8 is kept. A byte that is not part of valid
// UTF-8 becomes the four characters \xNN (upper-case hex). A backslash of the name that would look like the start of
// such an escape becomes \x5C. Replacing every \xNN by its byte restores the name, so the scheme is reversible; a name
// without invalid bytes is unchanged. JSON's own escapes are applied on top.
//
// Pure functions; any thread; time linear in the length of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prof {

// The length of the valid UTF-8 sequence at the start of `text` (1 to 4), or 0. No surrogates, no overlong forms.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

// The name as valid UTF-8. terminal_safe() also escapes control characters, so that a name cannot move the cursor.
std::string printable(std::string_view name);
std::string terminal_safe(std::string_view name);
// Likewise for a whole message, in which names may be escaped already: backslashes stay, so that this cannot be
// reversed.
std::string message_safe(std::string_view text);

// The inverse of printable().
std::string original_bytes(std::string_view text);

// The name as a JSON string with its quotes; ASCII control characters become \u00NN.
void append_json_string(std::string& out, std::string_view name);
std::string json_string(std::string_view name);

}  // namespace prof
