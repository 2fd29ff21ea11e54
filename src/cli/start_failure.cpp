// SPDX-License-Identifier: Apache-2.0
#include "cli/start_failure.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

std::string reason(const std::string& command, int error) {
    const bool is_path = command.find('/') != std::string::npos;
    std::error_code failed;
    if (error == ENOENT && !is_path) return "command not found";
    if (error == ENOENT && std::filesystem::exists(command, failed)) {
        return "the interpreter or loader that the file names was not found";
    }
    if (error == EACCES && is_path && std::filesystem::is_directory(command, failed)) return "is a directory";
    if (error == EACCES && is_path && command.ends_with(".py")) {
        return "not executable; did you mean prof run -- python " + command + "?";
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
