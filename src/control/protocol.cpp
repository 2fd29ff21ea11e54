// SPDX-License-Identifier: Apache-2.0
#include "control/protocol.hpp"

#include <algorithm>
#include <array>

#include "base/number.hpp"
#include "base/suggestion.hpp"

namespace prof {
namespace {

constexpr std::string_view greeting = "prof-control 1 ";
constexpr std::string_view hex_digits = "0123456789ABCDEF";

constexpr std::array commands = std::to_array<control_command>({
    {"status", false, "what the process records, and where to"},
    {"start", true, "start a recording, with these options"},
    {"stop", false, "end the recording; done when the capture and its exports are complete"},
    {"pause", false, "record nothing until resume, in the same capture"},
    {"resume", false, "record again"},
    {"sync", false, "bring what has been recorded so far into the capture"},
    {"dump", false, "write what has been kept so far as a capture of its own, while recording goes on"},
    {"set", true, "change options of the recording that runs, or of the next"},
});

constexpr std::array<std::string_view, 3> result_names = {"done", "refused", "failed"};

bool is_plain(char c) noexcept { return c > ' ' && c < 0x7F && c != '%'; }

void append_word(std::string& out, std::string_view word) {
    for (const char c : word) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += hex_digits[byte >> 4U];
        out += hex_digits[byte & 15U];
    }
}

// False unless `text` has the form that append_word() writes.
bool parse_word(std::string_view text, std::string& out) {
    for (std::size_t index = 0; index < text.size(); ++index) {
        if (text[index] != '%') {
            if (!is_plain(text[index])) return false;
            out += text[index];
            continue;
        }
        if (text.size() - index < 3) return false;
        const std::size_t high = hex_digits.find(text[index + 1]);
        const std::size_t low = hex_digits.find(text[index + 2]);
        if (high == std::string_view::npos || low == std::string_view::npos) return false;
        out += static_cast<char>(high * 16 + low);
        index += 2;
    }
    return !text.empty();
}

bool take_greeting(std::string_view& text) {
    if (text.substr(0, greeting.size()) != greeting) return false;
    text.remove_prefix(greeting.size());
    return true;
}

}  // namespace

std::span<const control_command> control_commands() noexcept { return commands; }

const control_command* find_control_command(std::string_view name) noexcept {
    const auto* const found = std::find_if(commands.begin(), commands.end(),
                                           [&](const control_command& known) { return known.name == name; });
    return found == commands.end() ? nullptr : found;
}

std::string unknown_control_command(std::string_view name) { return unknown_name("command", name, names_of(commands)); }

std::string request_line(const control_request& request) {
    std::string out(greeting);
    append_word(out, request.command);
    for (const std::string& word : request.words) {
        out += ' ';
        append_word(out, word);
    }
    return out + '\n';
}

outcome parse_request(std::string_view line, control_request& out) {
    if (!take_greeting(line)) {
        return outcome::failed("this is no request of \"prof ctl\" of this version");
    }
    std::vector<std::string> words;
    for (;;) {
        const std::size_t blank = std::min(line.find(' '), line.size());
        if (!parse_word(line.substr(0, blank), words.emplace_back())) {
            return outcome::failed("the request has a word that is none");
        }
        if (blank == line.size()) break;
        line.remove_prefix(blank + 1);
    }
    out.command = std::move(words.front());
    words.erase(words.begin());
    out.words = std::move(words);
    return {};
}

std::string answer_bytes(const control_answer& answer) {
    std::string out(greeting);
    out += result_names[static_cast<std::size_t>(answer.result)];
    return out + ' ' + std::to_string(answer.text.size()) + '\n' + answer.text;
}

std::optional<control_answer> parse_answer(std::string_view bytes) {
    if (!take_greeting(bytes)) return {};
    const std::size_t blank = bytes.find(' ');
    const std::size_t end = bytes.find('\n');
    if (blank == std::string_view::npos || end == std::string_view::npos || blank > end) return {};
    const auto* const name = std::find(result_names.begin(), result_names.end(), bytes.substr(0, blank));
    if (name == result_names.end()) return {};
    const std::string_view text = bytes.substr(end + 1);
    if (parse_number<std::size_t>(bytes.substr(blank + 1, end - blank - 1)) != text.size()) return {};
    return control_answer{static_cast<control_result>(name - result_names.begin()), std::string(text)};
}

}  // namespace prof
