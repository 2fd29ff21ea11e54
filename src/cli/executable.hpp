// SPDX-License-Identifier: Apache-2.0
// The file that a command runs, and whether the system loads a preloaded library into it. Reads the file. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

enum class executable_kind : std::uint8_t {
    dynamic,  // or not known
    statically_linked,
    more_rights,  // set-user-id, set-group-id or with capabilities
    other_machine,
};

struct executable {
    std::string path;
    executable_kind kind = executable_kind::dynamic;
};

// Looks `command` up as execvp(3) does. Of a script it is the interpreter.
executable executable_of(const std::string& command);

}  // namespace prof
