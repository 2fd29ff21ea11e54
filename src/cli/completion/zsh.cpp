// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "cli/completion/completion.hpp"
#include "control/protocol.hpp"
#include "options/options.hpp"

namespace prof {
namespace {

std::string zsh_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += "'\\'";
        out += c;
    }
    return out + "'";
}

// As _arguments has it between brackets.
std::string zsh_escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

// ":DIR:_files -/", as _arguments has it.
std::string zsh_value(const option_text& option) {
    std::string message = ":" + option.value + ":";
    const std::string words = joined(option.words, " ");
    switch (kind_of(option)) {
        case value_kind::none:
            return "";
        case value_kind::file:
            return message + "_files";
        case value_kind::directory:
            return message + "_files -/";
        case value_kind::words:
            return message + (option.is_list ? "_values -s , word " + words : "(" + words + ")");
        case value_kind::other:
            break;
    }
    return message;
}

// One for each spelling, which excludes the others unless the option may be repeated.
std::string specifications(const option_text& option) {
    std::string out;
    for (const std::string& name : option.names) {
        const std::string repeated = option.is_repeated ? "*" : "(" + joined(option.names, " ") + ")";
        const char* const joint = !option.needs_value ? "" : name.starts_with("--") ? "=" : "+";
        out += "        " +
               zsh_quoted(repeated + name + joint + "[" + zsh_escaped(brief(option.description)) + "]" +
                          zsh_value(option)) +
               " \\\n";
    }
    return out;
}

std::string zsh_operands(const command_text& command, const std::vector<command_text>& commands) {
    switch (operands_of(command)) {
        case operand_kind::command_line:
            return "'(-)1:command: _command_names -e' '*::argument: _normal'";
        case operand_kind::control:
            return "'1:process:_prof_processes' '2:command:_prof_control' '*:setting:_prof_settings'";
        case operand_kind::words:
            return "'1:word:(" + joined(operand_words(command, commands), " ") + ")'";
        case operand_kind::captures:
            break;
    }
    return "'*:capture:_files -g \"*.prof\"'";
}

std::string function_of(const command_text& command, const std::vector<command_text>& commands) {
    std::string out = "_prof_" + command.name + "() {\n    _arguments -S \\\n";
    for (const option_text& option : command.options) out += specifications(option);
    return out + "        " + zsh_operands(command, commands) + "\n}\n\n";
}

constexpr std::string_view zsh_begin = R"zsh(#compdef prof
# zsh completion of prof, made by `prof completion zsh`.

_prof_processes() {
    local -a lines processes
    lines=(${(f)"$(_call_program processes prof ctl --list 2> /dev/null)"})
    processes=(${${(M)${lines## #}:#<->*}/ ##/:})
    _describe -t processes process processes
}

_prof_control() {
    local -a names=(
)zsh";

constexpr std::string_view zsh_end = R"zsh(        '1:command:->command' '*::argument:->arguments'
    case $state in
        command) _describe -t commands 'prof command' names ;;
        arguments) (( ! $+functions[_prof_$words[1]] )) || _prof_$words[1] ;;
    esac
}

if [[ $funcstack[1] == _prof ]]; then
    _prof "$@"
else
    compdef _prof prof
fi
)zsh";

std::string described(std::string_view name, std::string_view purpose) {
    return "        " + zsh_quoted(std::string(name).append(":").append(purpose)) + "\n";
}

}  // namespace

std::string zsh_completion(const std::vector<command_text>& commands) {
    std::string out(zsh_begin);
    for (const control_command& command : control_commands()) out += described(command.name, command.purpose);
    out += "    )\n    _describe -t commands command names\n}\n\n_prof_settings() {\n    compadd -S '' --";
    for (const option& row : option_table()) out.append(" ").append(row.name).append("=");
    out += "\n}\n\n";

    std::string list;
    std::string of_program;
    for (const command_text& command : commands) {
        if (command.name.empty()) {
            for (const option_text& option : command.options) of_program += specifications(option);
            continue;
        }
        out += function_of(command, commands);
        list += described(command.name, command.purpose);
    }
    out += "_prof() {\n    local context state state_descr line\n    typeset -A opt_args\n    local -a names=(\n" +
           list + "    )\n    _arguments -C \\\n" + of_program;
    return out.append(zsh_end);
}

}  // namespace prof
