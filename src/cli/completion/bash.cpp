// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "cli/completion/completion.hpp"
#include "control/protocol.hpp"
#include "options/options.hpp"

namespace prof {
namespace {

// What stands for an option's value in the script's tables: a kind, and the words.
std::string bash_value(const option_text& option) {
    switch (kind_of(option)) {
        case value_kind::file:
            return "file";
        case value_kind::directory:
            return "directory";
        case value_kind::words:
            return (option.is_list ? "list " : "words ") + joined(option.words, " ");
        default:
            return "other";
    }
}

std::string options_table(const std::vector<command_text>& commands) {
    std::string out = "_prof_options() {\n    case $1 in\n";
    for (const command_text& command : commands) {
        out.append("        '").append(command.name).append("') echo '");
        std::string names;
        for (const option_text& option : command.options) names += joined(option.names, " ") + " ";
        out.append(names).append("' ;;\n");
    }
    return out + "    esac\n}\n";
}

std::string values_table(const std::vector<command_text>& commands) {
    std::string out = "_prof_value() {\n    case \"$1 $2\" in\n";
    for (const command_text& command : commands) {
        for (const option_text& option : command.options) {
            if (kind_of(option) == value_kind::none) continue;
            std::string patterns;
            for (const std::string& name : option.names) {
                patterns.append(patterns.empty() ? "'" : " | '").append(command.name).append(" ").append(name) += "'";
            }
            out.append("        ").append(patterns).append(") echo '").append(bash_value(option)).append("' ;;\n");
        }
    }
    return out + "        *) return 1 ;;\n    esac\n}\n";
}

std::string operands_table(const std::vector<command_text>& commands) {
    std::string out = "_prof_operand() {\n    case $1 in\n";
    for (const command_text& command : commands) {
        const std::vector<std::string> words = operand_words(command, commands);
        if (words.empty()) continue;
        out.append("        ").append(command.name).append(") echo '").append(joined(words, " ")).append("' ;;\n");
    }
    out += "        control) echo '";
    for (const control_command& command : control_commands()) out.append(command.name).append(" ");
    out += "' ;;\n        settings) echo '";
    for (const option& row : option_table()) out.append(row.name).append("= ");
    return out + "' ;;\n    esac\n}\n";
}

constexpr std::string_view bash_functions = R"bash(
# Completes $cur by the words $1; $2 stands before each.
_prof_words() {
    mapfile -t COMPREPLY < <(compgen -P "${2-}" -W "$1" -- "${cur#"${2-}"}")
}

_prof_files() { # ARGUMENTS of compgen...
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

_prof_captures() {
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.prof' -- "$cur")
}

# The index of the first word that is no option of `prof run` and no option's value, or of the word at the cursor if
# there is none before; above that if the cursor is at an option's value.
_prof_command_begin() {
    local i=2 word
    while ((i < COMP_CWORD)); do
        word=${COMP_WORDS[i]}
        ((++i))
        if [[ $word == -- ]]; then
            break
        elif [[ $word == = ]]; then
            ((++i))
        elif [[ $word != -* ]]; then
            ((--i))
            break
        elif _prof_value run "$word" > /dev/null && [[ ${COMP_WORDS[i]} != = ]]; then
            ((++i))
        fi
    done
    echo "$i"
}

_prof_run() {
    local begin
    begin=$(_prof_command_begin)
    if ((begin == COMP_CWORD)) && [[ $cur == -* && ${COMP_WORDS[COMP_CWORD - 1]} != -- ]]; then
        _prof_words "$(_prof_options run)"
    elif declare -F _command_offset > /dev/null; then
        _command_offset "$begin"
    elif ((begin == COMP_CWORD)); then
        _prof_files -c
    else
        _prof_files -f
    fi
}

_prof_control() {
    local word operands=()
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        [[ $word == -* ]] || operands+=("$word")
    done
    case ${#operands[@]} in
        0) _prof_words "$("${COMP_WORDS[0]}" ctl --list 2> /dev/null | grep -o '^ *[0-9]\+')" ;;
        1) _prof_words "$(_prof_operand control)" ;;
        *)
            [[ ${operands[1]} == start || ${operands[1]} == set ]] || return
            compopt -o nospace 2> /dev/null
            _prof_words "$(_prof_operand settings)"
            ;;
    esac
}

_prof() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} value
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _prof_words "$(_prof_operand help) $([[ $cur == -* ]] && _prof_options '')"
        return
    fi
    # bash makes three words of --option=value.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $command != run || $(_prof_command_begin) -gt $COMP_CWORD || ${COMP_WORDS[COMP_CWORD]} == = ]] \
        && value=$(_prof_value "$command" "$before"); then
        case $value in
            file) _prof_files -f ;;
            directory) _prof_files -d ;;
            words*) _prof_words "${value#* }" ;;
            list*)
                local done=
                [[ $cur != *,* ]] || done=${cur%,*},
                _prof_words "${value#* }" "$done"
                ;;
        esac
    elif [[ $command == run ]]; then
        _prof_run
    elif [[ $cur == -* ]]; then
        _prof_words "$(_prof_options "$command")"
    elif [[ $command == ctl ]]; then
        _prof_control
    elif [[ -n $(_prof_operand "$command") ]]; then
        ((COMP_CWORD > 2)) || _prof_words "$(_prof_operand "$command")"
    else
        _prof_captures
    fi
}
complete -F _prof prof
)bash";

}  // namespace

std::string bash_completion(const std::vector<command_text>& commands) {
    return "# bash completion of prof, made by `prof completion bash`.\n" + options_table(commands) +
           values_table(commands) + operands_table(commands) + std::string(bash_functions);
}

}  // namespace prof
