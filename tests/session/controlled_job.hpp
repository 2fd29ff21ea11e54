// SPDX-License-Identifier: Apache-2.0
// A program that does what it is told (control_victim.cpp), and is asked as `prof ctl` asks.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "control/client.hpp"
#include "control/place.hpp"
#include "support/profiled_program.hpp"

namespace prof::test {

inline constexpr std::chrono::milliseconds patience{60'000};

using settings = std::map<std::string, std::string>;

// The victim, and the two pipes by which it is told what to do.
class controlled : public profiled_program {
public:
    explicit controlled(settings more = {})
        : profiled_program(way_in::injected, {{"PROF_AUTOSTART", "0"}, {"FAKE_GPU_CLOCK", ""}}) {
        EXPECT_EQ(chmod(scratch.path.c_str(), 0700), 0);
        EXPECT_EQ(setenv("XDG_RUNTIME_DIR", scratch.path.c_str(), 1), 0);  // for us and for the victim
        const std::string orders = scratch.path + "/orders";
        const std::string answers = scratch.path + "/answers";
        EXPECT_EQ(mkfifo(orders.c_str(), 0600), 0);
        EXPECT_EQ(mkfifo(answers.c_str(), 0600), 0);
        orders_ = open(orders.c_str(), O_RDWR | O_CLOEXEC);
        answers_ = open(answers.c_str(), O_RDWR | O_CLOEXEC);
        pid = start_process({PROF_TEST_VICTIM, orders, answers}, with(std::move(more)), scratch.path, out_, err_);
        EXPECT_EQ(answer(), "here");
    }
    ~controlled() {
        if (status_ < 0) kill(pid, SIGKILL);
        if (status_ < 0) waitpid(pid, nullptr, 0);
        close(orders_);
        close(answers_);
    }
    controlled(const controlled&) = delete;
    controlled& operator=(const controlled&) = delete;

    void order(const std::string& text) const {
        const std::string line = text + "\n";
        EXPECT_EQ(write(orders_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    }
    std::string answer() const {
        std::string line;
        for (char c = 0; c != '\n'; line += c) {
            pollfd one{.fd = answers_, .events = POLLIN, .revents = 0};
            if (poll(&one, 1, static_cast<int>(patience.count())) != 1 || read(answers_, &c, 1) != 1) return "nothing";
        }
        return line.substr(0, line.size() - 1);
    }
    std::string command(const std::string& text) const {
        order(text);
        return answer();
    }
    control_answer ask(const std::string& command, std::vector<std::string> words = {}) const {
        return ask_process(pid, {command, std::move(words)}, patience);
    }
    // What is done; else the test fails.
    std::string done(const std::string& command, std::vector<std::string> words = {}) const {
        const control_answer answer = ask(command, std::move(words));
        EXPECT_EQ(answer.result, control_result::done) << command << ": " << answer.text;
        return answer.text;
    }
    std::string refused(const std::string& command, std::vector<std::string> words = {}) const {
        const control_answer answer = ask(command, std::move(words));
        EXPECT_EQ(answer.result, control_result::refused) << command << ": " << answer.text;
        return answer.text;
    }
    nlohmann::json status() const { return nlohmann::json::parse(done("status", {"json"})); }
    bool reachable() const {
        try {
            (void)ask("status");
            return true;
        } catch (const error&) {
            return false;
        }
    }
    int end() {
        waitpid(pid, &status_, 0);
        return status_;
    }
    std::string output() const { return read_file(out_); }
    std::string errors() const { return read_file(err_); }
    std::string socket_path() const { return control_socket_path(scratch.path + "/prof", pid); }

    pid_t pid = 0;

private:
    std::string out_ = scratch.path + "/out";
    std::string err_ = scratch.path + "/err";
    int orders_ = -1;
    int answers_ = -1;
    int status_ = -1;
};

}  // namespace prof::test
