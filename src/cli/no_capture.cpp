// SPDX-License-Identifier: Apache-2.0
#include "cli/no_capture.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "base/gpu_tools.hpp"
#include "base/python_command.hpp"

namespace prof {
namespace {

constexpr const char* nothing_made = "made no NVTX range and no CUDA call";

// "": libprof can be loaded into it.
std::string_view obstacle_of(executable_kind kind) {
    switch (kind) {
        case executable_kind::dynamic:
            break;
        case executable_kind::statically_linked:
            return "is statically linked, so no library can be loaded into it";
        case executable_kind::more_rights:
            return "runs with more rights than its user's (set-user-id, set-group-id or capabilities), so the system "
                   "loads no library into it";
        case executable_kind::other_machine:
            return "is a program for another kind of processor, or of 32 bits, into which libprof.so cannot be loaded";
    }
    return {};
}

std::string of_program(const executable& program) {
    const std::string_view reason = obstacle_of(program.kind);
    if (reason.empty()) return {};
    return fmt::format("{} {}; what it started {}", program.path, reason, nothing_made);
}

std::string of_end(const child_end& end) {
    if (end.signal != 0)
        return fmt::format("the command was ended by signal {}, and until then {}", end.signal, nothing_made);
    if (end.status == 0) return fmt::format("the command {}", nothing_made);
    return fmt::format("the command ended with status {}, and until then {}", end.status, nothing_made);
}

std::string of_losses(const std::map<int, std::string>& losses) {
    const auto& [pid, reason] = *losses.begin();
    const std::string more = losses.size() == 1 ? "" : fmt::format(" ({} more processes likewise)", losses.size() - 1);
    return fmt::format("process {}: {}{}", pid, reason, more);
}

std::string reason(const run_facts& facts) {
    if (!facts.journal.losses.empty()) return of_losses(facts.journal.losses);
    if (!facts.journal.inner_captures.empty()) {
        return "an inner prof run has taken the captures; they are in " + facts.journal.inner_captures.front();
    }
    if (!facts.running.empty()) return still_runs_text(facts);
    if (std::string text = of_program(facts.program); !text.empty()) return text;
    if (!facts.without_window.empty()) return facts.without_window;
    if (!facts.journal.gpu_tools.empty()) {
        return fmt::format("{}; {}", gpu_tool_notice(*facts.journal.gpu_tools.begin()), of_end(facts.end));
    }
    if (facts.python_isolated.empty()) return of_end(facts.end);
    return fmt::format("{}; {}", facts.python_isolated, of_end(facts.end));
}

}  // namespace

std::string no_capture_text(const run_facts& facts) { return "no capture: " + reason(facts); }

std::string python_isolation_text(std::span<const std::string> command) {
    if (command.empty() || !is_python(command.front())) return {};
    const std::string_view flag = read_python_command(command).isolation;
    if (flag.empty()) return {};
    return fmt::format(
        "python {} keeps prof's PYTHONPATH out: PyTorch's ranges and the program's phases are not recorded", flag);
}

std::string still_runs_text(const run_facts& facts) {
    constexpr std::size_t most_named = 3;
    if (facts.running.empty()) return {};
    std::string pids;
    for (std::size_t i = 0; i < facts.running.size() && i < most_named; ++i) {
        pids.append(i == 0 ? "" : ", ").append(std::to_string(facts.running[i]));
    }
    if (facts.running.size() > most_named) pids += fmt::format(" and {} more", facts.running.size() - most_named);
    const bool is_one = facts.running.size() == 1;
    return fmt::format("process{} {} of the command still run{}; {} will be in {}", is_one ? "" : "es", pids,
                       is_one ? "s" : "", is_one ? "its capture" : "their captures", facts.directory);
}

}  // namespace prof
