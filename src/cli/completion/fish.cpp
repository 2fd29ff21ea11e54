// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "cli/completion/completion.hpp"
#include "control/protocol.hpp"
#include "options/options.hpp"

namespace prof {
namespace {

std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

// The arguments of `complete` for the option's value.
std::string fish_value(const option_text& option) {
    switch (kind_of(option)) {
        case value_kind::none:
            return "";
        case value_kind::file:
            return " -r -F";
        case value_kind::directory:
            return " -x -a '(__fish_complete_directories)'";
        case value_kind::words:
            return option.is_list ? " -x -a '(__fish_append , " + joined(option.words, " ") + ")'"
                                  : " -x -a " + fish_quoted(joined(option.words, " "));
        case value_kind::other:
            break;
    }
    return " -x";
}

std::string fish_line(const option_text& option, const std::string& condition) {
    std::string out = "complete -c prof -n " + fish_quoted(condition);
    for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    return out + fish_value(option) + " -d " + fish_quoted(brief(option.description)) + "\n";
}

std::string fish_operands(const command_text& command, const std::vector<command_text>& commands) {
    const std::string begin = "complete -c prof -n ";
    switch (operands_of(command)) {
        case operand_kind::captures:
            return begin + fish_quoted("__prof_is " + command.name) + " -x -a '(__prof_captures)'\n";
        case operand_kind::command_line:
            return begin + "'__prof_is run' -x -a '(__prof_command)'\n";
        case operand_kind::words:
            return begin + fish_quoted("__prof_is " + command.name + " 0") + " -x -a " +
                   fish_quoted(joined(operand_words(command, commands), " ")) + "\n";
        case operand_kind::control:
            break;
    }
    std::string out = begin + "'__prof_is ctl 0' -x -a '(__prof_processes)'\n";
    for (const control_command& known : control_commands()) {
        out +=
            begin + "'__prof_is ctl 1' -x -a " + fish_quoted(known.name) + " -d " + fish_quoted(known.purpose) + "\n";
    }
    out += begin + "'__prof_is ctl 2' -x -a '";
    for (const option& row : option_table()) out.append(row.name).append("= ");
    return out + "'\n";
}

// The options of `prof run` that are followed by a value.
std::string options_with_value(const command_text& command) {
    std::string out;
    for (const option_text& option : command.options) {
        if (kind_of(option) != value_kind::none) out.append(out.empty() ? "" : " ").append(joined(option.names, " "));
    }
    return out;
}

constexpr std::string_view fish_functions = R"(
# Whether the command is $argv[1], and has had $argv[2] operands, if that is given (2: or more).
function __prof_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]; or return 1
    set -q argv[2]; or return 0
    set -l operands (string match -v -- '-*' $words[3..-1])
    test (count $operands) -eq $argv[2]; or test $argv[2] -eq 2 -a (count $operands) -gt 2
end

# The words of the command that `prof run` starts, of those before the cursor.
function __prof_words_of_command
    set -l words (commandline -opc)[3..-1]
    while set -q words[1]
        if test $words[1] = --
            set -e words[1]
            break
        else if contains -- $words[1] $__prof_run_options
            set -e words[1]
        else if not string match -q -- '-*' $words[1]
            break
        end
        set -e words[1]
    end
    string join \n -- $words
end

function __prof_run_has_no_command
    __prof_is run; and test (count (__prof_words_of_command)) -eq 0
end

function __prof_command
    set -l words (__prof_words_of_command)
    set -l line (string join ' ' -- (string escape -- $words) (commandline -ct))
    complete -C"$line"
end

function __prof_captures
    set -l word (commandline -ct)
    complete -C"'' $word" | string match -r '^[^\t]*(?:[.]prof|/)(?=\t|$)'
end

function __prof_processes
    prof ctl --list 2>/dev/null | string match -r '^ *[0-9]+' | string trim
end

complete -c prof -f
)";

}  // namespace

std::string fish_completion(const std::vector<command_text>& commands) {
    std::string out = "# fish completion of prof, made by `prof completion fish`.\n";
    for (const command_text& command : commands) {
        if (operands_of(command) != operand_kind::command_line) continue;
        out += "set -g __prof_run_options " + options_with_value(command) + "\n";
    }
    out += fish_functions;
    for (const command_text& command : commands) {
        const bool is_program = command.name.empty();
        const bool is_run = operands_of(command) == operand_kind::command_line;
        const std::string condition = is_program ? "__fish_use_subcommand"
                                      : is_run   ? "__prof_run_has_no_command"
                                                 : "__prof_is " + command.name;
        if (!is_program) {
            out += "\ncomplete -c prof -n __fish_use_subcommand -x -a " + fish_quoted(command.name) + " -d " +
                   fish_quoted(command.purpose) + "\n";
            out += fish_operands(command, commands);
        }
        for (const option_text& option : command.options) out += fish_line(option, condition);
    }
    return out;
}

}  // namespace prof
