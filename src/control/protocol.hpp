// SPDX-License-Identifier: Apache-2.0
// The protocol of the control socket (docs/guide/control.md).
//
// A request is one line: "prof-control 1", a command and its words, separated by one blank. In a word, '%' and each
// byte that is not a printable ASCII character are written as %XX. The answer is a line "prof-control 1 RESULT BYTES",
// followed by that many bytes of text. The result is done, refused (the request makes no sense, or not now) or failed.
//
// Pure functions; any thread. Input comes from outside the process: its size is bounded, and a refusal is one line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"

namespace prof {

inline constexpr std::size_t longest_request = 16384;  // bytes, including the newline

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
    bool takes_settings;  // accepts words of the form name=value
    std::string_view purpose;
};
std::span<const control_command> control_commands() noexcept;
const control_command* find_control_command(std::string_view name) noexcept;  // null: no such command

// The line that refuses a command and names the existing ones.
std::string unknown_control_command(std::string_view name);

// The request line, with its newline.
std::string request_line(const control_request& request);
// `line`: without the newline.
outcome parse_request(std::string_view line, control_request& out);

std::string answer_bytes(const control_answer& answer);
// Returns nothing if `bytes` is not a complete answer.
std::optional<control_answer> parse_answer(std::string_view bytes);

}  // namespace prof
