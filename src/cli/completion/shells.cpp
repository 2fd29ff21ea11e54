// SPDX-License-Identifier: Apache-2.0
// The scripts of the shells: each asks `prof __complete`, and has the shell complete what that leaves to it.
#include "cli/completion/completion.hpp"

namespace prof {
namespace {

constexpr std::string_view bash_script = R"bash(# bash completion of prof, made by `prof completion bash`.
_prof() {
    local cur=${COMP_WORDS[COMP_CWORD]} i words=() places=() offers=() line offset
    # bash makes three words of --option=value.
    for ((i = 1; i <= COMP_CWORD; ++i)); do
        if ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; then
            words[-1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            places+=("$i")
        fi
    done
    [[ $cur != = ]] || cur=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :files) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
            :directories) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
            :captures) mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.prof' -- "$cur") ;;
            ':command '*)
                offset=${places[${line#* }]}
                if declare -F _command_offset > /dev/null; then
                    _command_offset "$offset"
                elif ((offset == COMP_CWORD)); then
                    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
                else
                    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                fi
                return
                ;;
            *) offers+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2> /dev/null)
    if ((${#offers[@]})); then
        [[ ${offers[0]} != *= ]] || compopt -o nospace 2> /dev/null
        COMPREPLY=("${offers[@]}")
    else
        compopt -o filenames 2> /dev/null
    fi
}
complete -F _prof prof
)bash";

constexpr std::string_view zsh_script = R"zsh(#compdef prof
# zsh completion of prof, made by `prof completion zsh`.
_prof() {
    local line
    local -a names shown open
    local -a lines=("${(@f)$(_call_program words ${(q)words[1]} __complete ${(q)words[2,CURRENT]} 2> /dev/null)}")
    [[ ${words[CURRENT]} != --*=* || $lines[1] == ':command '* ]] || compset -P '*='
    for line in $lines; do
        case $line in
            :files) _files ;;
            :directories) _files -/ ;;
            :captures) _files -g '*.prof' ;;
            ':command '*)
                shift $(( ${line#* } + 1 )) words
                (( CURRENT -= ${line#* } + 1 ))
                if (( CURRENT == 1 )); then _command_names -e; else _normal; fi
                ;;
            *=) open+=($line) ;;
            ?*)
                names+=("${line%%$'\t'*}")
                shown+=("${${line/$'\t'/  -- }}")
                ;;
        esac
    done
    (( ! $#open )) || compadd -S '' -- $open
    (( ! $#names )) || compadd -l -d shown -- $names
}

if [[ $funcstack[1] == _prof ]]; then
    _prof "$@"
else
    compdef _prof prof
fi
)zsh";

constexpr std::string_view fish_script = R"fish(# fish completion of prof, made by `prof completion fish`.
function __prof_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l value (string replace -r '^--[^=]*=' '' -- $current)
    set -l before
    string match -q -- '--*=*' $current; and set before (string replace -r '=.*' '=' -- $current)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                complete -C"'' $value" | string replace -r '^' "$before"
            case :directories
                __fish_complete_directories "$value" '' | string replace -r '^' "$before"
            case :captures
                complete -C"'' $value" | string match -r '^[^\t]*(?:[.]prof|/)(?=\t|$)'
            case ':command *'
                set -l begin (math (string split ' ' -- $line)[2] + 2)
                set -l started
                test $begin -le (count $words); and set started (string escape -- $words[$begin..-1])
                complete -C(string join ' ' -- $started "$current")
            case '*'
                echo "$before$line"
        end
    end
end

complete -c prof -f -a '(__prof_complete)'
)fish";

}  // namespace

const std::vector<shell>& shells() {
    static const std::vector<shell> all = {
        {"bash", "bash-completion/completions/prof", bash_script},
        {"zsh", "zsh/site-functions/_prof", zsh_script},
        {"fish", "fish/vendor_completions.d/prof.fish", fish_script},
    };
    return all;
}

}  // namespace prof
