// SPDX-License-Identifier: Apache-2.0
#include "base/python_command.hpp"

namespace prof {

bool is_python(std::string_view program) noexcept {
    const std::string_view name = file_name_of(program);
    return name.starts_with("python") || name.starts_with("pypy");
}

// Letters may stand together, and the last may have its value in the next argument.
python_command read_python_command(std::span<const std::string> arguments) noexcept {
    using form = python_command::form;
    python_command out;
    const auto run = [&](form runs, std::string_view operand, std::size_t next) {
        out.runs = runs;
        out.operand = operand;
        out.next = next;
        return out;
    };
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "-") break;  // the standard input
        if (word == "--") {
            if (++i < arguments.size()) return run(form::script, arguments[i], i + 1);
            break;
        }
        if (word.empty() || word[0] != '-') return run(form::script, word, i + 1);
        if (word[1] == '-') {
            if (word == "--check-hash-based-pycs") ++i;
            continue;
        }
        const std::size_t option = word.find_first_of("cmWXQ", 1);
        if (word.substr(0, option).find_first_of("IES") != std::string_view::npos)
            out.isolation = word.substr(0, option);
        if (option == std::string_view::npos) continue;
        const bool is_attached = option + 1 < word.size();
        if (!is_attached) ++i;
        if (i >= arguments.size()) break;
        const std::string_view value = is_attached ? word.substr(option + 1) : std::string_view(arguments[i]);
        if (word[option] == 'c') return run(form::code, value, i + 1);
        if (word[option] == 'm') return run(form::module, value, i + 1);
    }
    return out;
}

}  // namespace prof
