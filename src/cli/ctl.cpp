// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "base/suggestion.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "control/client.hpp"

namespace prof {
namespace {

constexpr int exit_unreachable = 3;
constexpr std::chrono::milliseconds status_limit{10'000};
constexpr std::chrono::milliseconds list_limit{2'000};  // for each

pid_t parse_pid(const std::string& text) {
    if (const std::optional<pid_t> pid = parse_number<pid_t>(text, 1)) return *pid;
    throw usage_error(in_quotes(text) + " is not a process id: prof ctl PID COMMAND [name=value...]");
}

}  // namespace

ctl_command::ctl_command(command_arguments& arguments) {
    arguments.add("WORDS", words_, "PID COMMAND [name=value...]").value("");
    arguments.add_flag("-l,--list", list_, "List the processes that can be controlled, as without any word");
    arguments.add_flag("--json", json_, "Of status and --list: JSON");
    arguments
        .add("--timeout", timeout_s_,
             "Wait so long for the answer (default: 10 for status, for others as long as it takes)")
        .value("SECONDS")
        .takes({"a number of seconds above 0",
                [](const std::string& text) { return parse_number<double>(text).value_or(0) > 0; }});
}

int ctl_command::operator()() const {
    if (!list_ && !words_.empty()) return ask();
    if (!words_.empty()) throw usage_error("--list takes no process id");
    return list();
}

int ctl_command::list() const {
    std::string rows;
    for (const pid_t pid : controlled_processes()) {
        try {
            const auto answer = ask_process(pid, {"status", {json_ ? "json" : "line"}}, list_limit);
            const std::string line = terminal_safe(
                answer.result == control_result::done ? answer.text : fmt::format("{:>8}  {}", pid, answer.text));
            if (!json_) {
                rows += line + "\n";
            } else if (answer.result == control_result::done) {
                rows += (rows.empty() ? "" : ",\n ") + answer.text;
            }
        } catch (const error& failure) {
            complain(failure.what());  // it has just ended, or is stopped
        }
    }
    if (json_) {
        fmt::print("[{}]\n", rows);
    } else if (rows.empty()) {
        complain("nothing to control: none of your processes runs with libprof and has used NVTX or CUDA yet");
    } else {
        fmt::print("{:>8}  {:<15}  {:>11}  {}\n{}", "PID", "STATE", "FOR", "COMMAND", rows);
    }
    return exit_ok;
}

int ctl_command::ask() const {
    const pid_t pid = parse_pid(words_.front());
    control_request request;
    request.command = words_.size() < 2 ? "status" : words_[1];
    request.words.assign(words_.begin() + (words_.size() < 2 ? 1 : 2), words_.end());
    const control_command* const known = find_control_command(request.command);
    if (known == nullptr) throw usage_error(unknown_control_command(request.command));
    const bool is_status = known->name == "status";
    for (const std::string& word : request.words) {
        if (!known->takes_settings) throw usage_error(request.command + " takes no " + in_quotes(word));
        if (word.find('=') == std::string::npos) throw usage_error(in_quotes(word) + " is no name=value");
    }
    if (json_ && !is_status) throw usage_error("--json is for status and --list");
    if (json_) request.words = {"json"};

    auto limit = is_status ? status_limit : no_time_limit;
    if (timeout_s_ > 0) {
        limit = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(std::min(timeout_s_, 1e6)));
    }
    control_answer answer;
    try {
        answer = ask_process(pid, request, limit);
    } catch (const error& failure) {
        complain(failure.what());
        return exit_unreachable;
    }
    if (answer.result != control_result::done) {
        complain(answer.text);
        return exit_failure;
    }
    if (answer.text.empty()) return exit_ok;
    fmt::print("{}{}", answer.text, answer.text.ends_with('\n') ? "" : "\n");
    return exit_ok;
}

}  // namespace prof
