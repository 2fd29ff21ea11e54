// What is said over the control socket (docs/control.md).
//
// A request is one line: "prof-control 1", a command, and its words, with one blank between. In a word each byte that
// is no printable ASCII character, and '%', is written %XX. The answer is a line "prof-control 1 RESULT BYTES" and so
// many bytes of text; the result is done, refused (it makes no sense, or not now) or failed.
//
// Pure functions, any thread. What is parsed comes from outside: bounded, and refused in one line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

inline constexpr std::size_t longest_request = 16384;  // bytes, with the newline

struct control_request {
    std::string command;
    std::vector<std::string> words;
};

enum class control_result { done, refused, failed };

struct control_answer {
    control_result result = control_result::done;
    std::string text;
};

struct control_command {
    std::string_view name;
    bool takes_settings;  // name=value words
    std::string_view purpose;
};
std::span<const control_command> control_commands() noexcept;
const control_command* find_control_command(std::string_view name) noexcept;  // null: there is none

// The line that refuses a command, and names those that there are.
std::string unknown_control_command(std::string_view name);

// With the newline.
std::string request_line(const control_request& request);
// `line` has no newline. Returns "" or one line that says what is wrong.
std::string parse_request(std::string_view line, control_request& out);

std::string answer_bytes(const control_answer& answer);
// Nothing: `bytes` is no whole answer.
std::optional<control_answer> parse_answer(std::string_view bytes);

}  // namespace prof
