// SPDX-License-Identifier: Apache-2.0
#include "base/gpu_tools.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/python_command.hpp"

namespace prof {
namespace {

constexpr auto tools = std::to_array<std::string_view>({"ncu", "nsys", "cuda-gdb", "cuda-gdbserver"});
constexpr auto shells = std::to_array<std::string_view>({"sh", "bash", "dash"});

// cuda-gdb is a script; the program has the name of the Python that it was built with, or "minimal", behind its own.
bool is_named(std::string_view name, std::string_view tool) noexcept {
    if (!name.starts_with(tool)) return false;
    const std::string_view rest = name.substr(tool.size());
    return rest.empty() || (tool.starts_with("cuda-gdb") && rest.starts_with('-'));
}

struct process_status {
    std::string name;
    int parent = 0;
};

// "PID (NAME) STATE PARENT …"; the name may have any character.
process_status read_status(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t begin = text.find('(');
    const std::size_t end = text.rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end + 4 >= text.size()) return {};
    return {text.substr(begin + 1, end - begin - 1), std::atoi(text.c_str() + end + 4)};
}

}  // namespace

std::string_view gpu_tool_of(std::string_view program) noexcept {
    const std::string_view name = file_name_of(program);
    const auto* const found = std::find_if(tools.begin(), tools.end(), [&](auto tool) { return is_named(name, tool); });
    return found == tools.end() ? std::string_view() : *found;
}

std::string_view gpu_tool_of(std::span<const char* const> arguments) noexcept {
    if (arguments.empty() || arguments[0] == nullptr) return {};
    const std::string_view program = arguments[0];
    const bool is_shell = std::find(shells.begin(), shells.end(), file_name_of(program)) != shells.end();
    if (is_shell && arguments.size() > 1 && arguments[1] != nullptr) return gpu_tool_of(arguments[1]);
    return gpu_tool_of(program);
}

std::string_view gpu_tool_around() noexcept {
    const char* const set = std::getenv(beside_variable);
    if (set != nullptr) return gpu_tool_of(std::string_view(set));
    return std::getenv("NV_NSIGHT_INJECTION_PORT_BASE") != nullptr ? tools[0] : std::string_view();
}

std::string_view gpu_tool_above() {
    constexpr int most = 32;
    int process = getppid();
    for (int i = 0; i < most && process > 1; ++i) {
        const process_status status = read_status(process);
        if (const std::string_view tool = gpu_tool_of(std::string_view(status.name)); !tool.empty()) return tool;
        process = status.parent;
    }
    return {};
}

std::string gpu_tool_notice(std::string_view tool) {
    std::string line = "no GPU work is recorded of what runs under ";
    return line.append(tool).append(", which uses the GPU's interface for tools itself");
}

}  // namespace prof
