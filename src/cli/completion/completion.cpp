// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/completion.hpp"

#include <algorithm>

namespace prof {

const std::vector<shell>& shells() {
    static const std::vector<shell> all = {
        {"bash", "bash-completion/completions/prof", bash_completion},
        {"zsh", "zsh/site-functions/_prof", zsh_completion},
        {"fish", "fish/vendor_completions.d/prof.fish", fish_completion},
    };
    return all;
}

value_kind kind_of(const option_text& option) {
    if (!option.needs_value) return value_kind::none;
    if (!option.words.empty()) return value_kind::words;
    if (option.value == "DIR") return value_kind::directory;
    if (option.value == "FILE" || option.value == "TRACE") return value_kind::file;
    return value_kind::other;
}

operand_kind operands_of(const command_text& command) {
    if (command.name == "run") return operand_kind::command_line;
    if (command.name == "ctl") return operand_kind::control;
    if (command.name == "completion" || command.name == "help") return operand_kind::words;
    return operand_kind::captures;
}

std::vector<std::string> operand_words(const command_text& command, const std::vector<command_text>& commands) {
    std::vector<std::string> out;
    if (command.name == "completion") {
        for (const shell& known : shells()) out.emplace_back(known.name);
    } else if (command.name == "help") {
        for (const command_text& known : commands) {
            if (!known.name.empty()) out.push_back(known.name);
        }
    }
    return out;
}

std::string brief(const std::string& description) {
    constexpr std::size_t least = 20;
    constexpr std::size_t most = 72;
    std::size_t end = description.size();
    for (const std::string_view mark : {"; ", " (", ". ", ": "}) end = std::min(end, description.find(mark, least));
    if (end <= most) return description.substr(0, end);
    return description.substr(0, description.rfind(' ', most)) + " ...";
}

}  // namespace prof
