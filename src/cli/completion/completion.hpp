// SPDX-License-Identifier: Apache-2.0
// The scripts by which bash, zsh and fish complete the words of a `prof` command line, made of the command line's own
// tables. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

struct shell {
    std::string_view name;
    std::string_view installed_as;  // below the folder share/
    std::string (*script)(const std::vector<command_text>& commands);
};
const std::vector<shell>& shells();

// What follows an option.
enum class value_kind { none, words, file, directory, other };
value_kind kind_of(const option_text& option);

// What a command takes beside options. `run` takes another command line and `ctl` the words of `prof ctl`.
enum class operand_kind { captures, command_line, control, words };
operand_kind operands_of(const command_text& command);

// The words of operand_kind::words; empty for the others.
std::vector<std::string> operand_words(const command_text& command, const std::vector<command_text>& commands);

// The description's first words, for a list.
std::string brief(const std::string& description);

std::string bash_completion(const std::vector<command_text>& commands);
std::string zsh_completion(const std::vector<command_text>& commands);
std::string fish_completion(const std::vector<command_text>& commands);

}  // namespace prof
