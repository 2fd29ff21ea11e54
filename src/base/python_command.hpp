// SPDX-License-Identifier: Apache-2.0
// The command line of a Python interpreter. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prof {

// "/a/b" is "b".
inline std::string_view file_name_of(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view program) noexcept;  // by its path

// Views into the arguments.
struct python_command {
    enum class form : std::uint8_t { script, module, code, none };
    form runs = form::none;
    std::string_view operand;    // the script's path, the module's name, or the code
    std::size_t next = 0;        // the first argument of what is run
    std::string_view isolation;  // the argument with -I, -E or -S, each of which keeps sitecustomize out; "": none
};

// As Python reads its own options. `arguments` begin with the interpreter.
python_command read_python_command(std::span<const std::string> arguments) noexcept;

}  // namespace prof
