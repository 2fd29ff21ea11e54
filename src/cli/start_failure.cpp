// SPDX-License-Identifier: Apache-2.0
#include "cli/start_failure.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

bool is_script(const std::string& file) { return file.ends_with(".py"); }

// How a file is run that is not in the PATH.
std::string as_program(const std::string& file) { return (is_script(file) ? "python " : "./") + file; }

std::string reason(const std::string& command, int error) {
    const bool is_path = command.find('/') != std::string::npos;
    std::error_code failed;
    if (error == ENOENT && !is_path) {
        if (!std::filesystem::is_regular_file(command, failed)) return "command not found";
        return "command not found; did you mean prof run -- " + as_program(command) + "?";
    }
    if (error == ENOENT && std::filesystem::exists(command, failed)) {
        return "the interpreter or loader that the file names was not found";
    }
    if (error == EACCES && is_path && std::filesystem::is_directory(command, failed)) return "is a directory";
    if (error == EACCES && is_path && is_script(command)) {
        return "not executable; did you mean prof run -- " + as_program(command) + "?";
    }
    if (error == EACCES) return "Permission denied (is it executable?)";
    return std::generic_category().message(error);
}

}  // namespace

std::string start_failure(const std::string& command, int error) {
    constexpr std::size_t most_cells = 200;
    return "cannot run " + shortened(message_safe(command), most_cells) + ": " + reason(command, error);
}

}  // namespace prof
