// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/command.hpp"

#include "cli/cli.hpp"
#include "cli/completion/completion.hpp"

namespace prof {

std::vector<command_text> completed_commands(const command_line& line) {
    std::vector<command_text> out = line.commands();
    out.push_back({"help", "explain a command", {}});
    return out;
}

completion_command::completion_command(command_arguments& arguments) {
    std::vector<std::string> names;
    for (const shell& known : shells()) names.emplace_back(known.name);
    arguments.add("SHELL", shell_, joined(names, ", ")).required().value("").takes(one_of(names));
}

int completion_command::operator()() const {
    for (const shell& known : shells()) {
        if (known.name == shell_) print(std::string(known.script));
    }
    return exit_ok;
}

}  // namespace prof
