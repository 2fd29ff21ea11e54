// SPDX-License-Identifier: Apache-2.0
// What a shell offers for the word at the cursor of a `prof` command line. The answer is made here, by the command
// line's own tables; the scripts of the shells (shells.cpp) ask for it by `prof __complete WORDS...`. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

struct shell {
    std::string_view name;
    std::string_view installed_as;  // below the folder share/
    std::string_view script;
};
const std::vector<shell>& shells();

// Lines for the last of `words`, those behind `prof` up to the cursor. A line is a word to offer, which a tab and a few
// words about it may follow; of --option=VALUE and of a list it stands for the whole value. A word that ends with '='
// is to be continued. One of these lines asks the shell for what it knows itself:
//   :files, :directories, :captures
//   :command N    for the command line that begins behind N of the words
std::string completions(const std::vector<command_text>& commands, const std::vector<std::string>& words);

}  // namespace prof
