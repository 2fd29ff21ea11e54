// SPDX-License-Identifier: Apache-2.0
#include "session/process/program_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/python_command.hpp"

namespace prof {
namespace {

// Programs and modules that run the script among their arguments, or start processes that do.
constexpr auto launchers = std::to_array<std::string_view>({"accelerate", "cProfile", "coverage", "debugpy",
                                                            "deepspeed", "kernprof", "line_profiler", "memray", "pdb",
                                                            "profile", "runpy", "scalene", "torch.distributed.launch",
                                                            "torch.distributed.run", "torchrun", "trace", "viztracer"});
constexpr std::string_view multiprocessing_code = "from multiprocessing.";
constexpr int most_ancestors = 4;  // a worker, its fork server, the program

std::string_view without_suffix(std::string_view name) {
    constexpr std::string_view suffix = ".py";
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
    return name;
}

bool is_launcher(std::string_view name) {
    if (name.starts_with("accelerate.")) return true;  // accelerate.commands.launch
    return std::find(launchers.begin(), launchers.end(), name) != launchers.end();
}

// The script or module that a launcher is to run; "" if the launcher's options do not name it.
std::string_view name_after_launcher(const argument_list& arguments, std::size_t first) {
    for (std::size_t i = first; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if ((word == "-m" || word == "--module") && i + 1 < arguments.size()) return arguments[i + 1];
        if (word.ends_with(".py") && word[0] != '-') return without_suffix(file_name_of(word));
    }
    return {};
}

std::string_view name_of(const python_command& command, const argument_list& arguments) {
    const bool is_module = command.runs == python_command::form::module;
    const std::string_view name = is_module ? command.operand : file_name_of(command.operand);
    const std::string_view inner = is_launcher(name) ? name_after_launcher(arguments, command.next) : "";
    if (!inner.empty()) return inner;
    return is_module ? name : without_suffix(name);
}

// None: the arguments are of a multiprocessing worker, and do not name it.
std::optional<std::string> own_name(const argument_list& arguments) {
    if (arguments.empty()) return "process";
    std::string_view name = file_name_of(arguments.front());
    if (is_python(name)) {
        using form = python_command::form;
        const python_command command = read_python_command(arguments);
        if (command.runs == form::code && command.operand.starts_with(multiprocessing_code)) return {};
        if (command.runs == form::module || command.runs == form::script) name = name_of(command, arguments);
    }
    return std::string(name.empty() ? "process" : name);
}

}  // namespace

std::string program_name(const argument_list& arguments, const std::function<argument_list(int)>& ancestor) {
    std::optional<std::string> name = own_name(arguments);
    for (int generation = 1; !name && generation <= most_ancestors; ++generation) {
        const argument_list above = ancestor(generation);
        // The parent may have ended: then this is a process that has nothing to do with the worker.
        if (above.empty() || !is_python(above.front())) break;
        name = own_name(above);
    }
    return name ? *name : std::string(file_name_of(arguments.front()));
}

}  // namespace prof
