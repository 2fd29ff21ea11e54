// The command's manual pages, which are also its --help. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace prof {

// Writes --help of `prof` and of each of its commands as manual pages, 80 cells wide, with the options that the
// application itself knows.
std::shared_ptr<CLI::FormatterBase> make_manual();

// What a command is for, in one line: "run a command under libprof and report on it when it has ended".
std::string purpose_of(const std::string& command);

}  // namespace prof
