// SPDX-License-Identifier: Apache-2.0
#include "session/parts/session_status.hpp"

#include <fmt/format.h>

#include <array>

#include "base/json_text.hpp"

namespace prof {
namespace {

constexpr std::array<std::string_view, 6> state_names = {"idle",       "recording", "paused", "between windows",
                                                         "warming up", "completing"};

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }
double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string total_dropped(const session_status& status) {
    std::string out;
    for (const auto& [cause, count] : status.dropped)
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", cause, count);
    return out.empty() ? "nothing" : out;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
    append_json_string(out, name);
    out += ':';
    append_json_string(out, value);
    out += ',';
}

}  // namespace

std::string_view to_string(recording_state state) noexcept { return state_names[static_cast<std::size_t>(state)]; }

std::string status_text(const session_status& status) {
    std::string out;
    const auto line = [&](std::string_view name, std::string_view value) {
        out += fmt::format("{:<8} {}\n", name, terminal_safe(std::string(value)));
    };
    line("process", fmt::format("{} on {}", status.pid, status.hostname));
    line("command", status.command);
    line("libprof", fmt::format("{}, for {:.1f} s", status.version, seconds(status.loaded_ns)));
    line("state", fmt::format("{}, for {:.1f} s", to_string(status.state), seconds(status.state_ns)));
    line("plan", status.plan.empty() ? "none" : status.plan);
    if (!status.awaited.empty()) line("windows", status.awaited);
    line("steps", status.step_ns == 0
                      ? fmt::format("{}", status.steps)
                      : fmt::format("{}, of {:.2f} ms on average", status.steps, milliseconds(status.step_ns)));
    line("GPU", status.gpu);
    line("capture", status.capture.empty() ? "none yet" : status.capture);
    line("written", fmt::format("{} records, {} bytes", status.records, status.bytes));
    line("dropped", total_dropped(status));
    line("memory",
         fmt::format("{} MB in {}", status.memory >> 20U, status.rings.empty() ? "anonymous memory" : status.rings));
    return out;
}

std::string status_json(const session_status& status) {
    std::string out = fmt::format("{{\"pid\":{},", status.pid);
    append_member(out, "hostname", status.hostname);
    append_member(out, "command", status.command);
    append_member(out, "version", status.version);
    append_member(out, "state", to_string(status.state));
    append_member(out, "plan", status.plan);
    append_member(out, "awaited", status.awaited);
    append_member(out, "gpu", status.gpu);
    append_member(out, "rings", status.rings);
    append_member(out, "capture", status.capture);
    out += fmt::format(
        "\"loaded_s\":{:.3f},\"state_s\":{:.3f},\"waiting\":{},\"steps\":{},\"step_s\":{:.6f},\"windows\":{},"
        "\"memory\":{},"
        "\"records\":{},\"bytes\":{},\"dropped\":{{",
        seconds(status.loaded_ns), seconds(status.state_ns),
        status.state == recording_state::recording && status.is_waiting, status.steps, seconds(status.step_ns),
        status.windows, status.memory, status.records, status.bytes);
    for (const auto& [cause, count] : status.dropped) {
        out += fmt::format("{}\"{}\":{}", &cause == &status.dropped.front().first ? "" : ",", cause, count);
    }
    return out + "}}";
}

std::string status_line(const session_status& status) {
    return fmt::format("{:>8}  {:<15}  {:>9.1f} s  {}", status.pid, to_string(status.state), seconds(status.state_ns),
                       terminal_safe(status.command));
}

}  // namespace prof
