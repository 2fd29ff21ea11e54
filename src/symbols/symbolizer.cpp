// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbolizer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

extern char** environ;  // NOLINT(readability-redundant-declaration): of unistd.h only with _GNU_SOURCE

namespace prof {
namespace {

using std::chrono::steady_clock;

// The program's path; "" if there is none of that name.
std::string program_named(const std::string& name) {
    const char* const folders = std::getenv("PATH");
    for (std::string_view rest = folders == nullptr ? "/usr/bin:/bin" : folders; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        std::string path = std::string(rest.substr(0, end)) + "/" + name;
        if (end != 0 && access(path.c_str(), X_OK) == 0) return path;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

std::string newest_symbolizer() {
    const std::string name = "llvm-symbolizer";
    if (std::string path = program_named(name); !path.empty()) return path;
    for (int version = 30; version >= 11; --version) {
        if (std::string path = program_named(name + "-" + std::to_string(version)); !path.empty()) return path;
    }
    return {};
}

// Without what would have the program ask a server.
std::vector<char*> own_environment() {
    std::vector<char*> out;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        if (!text.starts_with("DEBUGINFOD_URLS=") && !text.starts_with("LD_PRELOAD=")) out.push_back(*variable);
    }
    out.push_back(nullptr);
    return out;
}

// What a program writes for an input until `end`; it is killed then.
std::string output_of(std::vector<std::string> command, const std::string& input, steady_clock::time_point end) {
    const int in = memfd_create("addresses", MFD_CLOEXEC);
    if (in < 0) return {};
    std::string out;
    std::array<int, 2> ends{};
    if (write(in, input.data(), input.size()) == static_cast<ssize_t>(input.size()) && lseek(in, 0, SEEK_SET) == 0 &&
        pipe2(ends.data(), O_CLOEXEC) == 0) {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        std::vector<char*> arguments;
        arguments.reserve(command.size() + 1);
        for (std::string& argument : command) arguments.push_back(argument.data());
        arguments.push_back(nullptr);
        pid_t child = 0;
        const int problem =
            posix_spawn(&child, command.front().c_str(), &actions, nullptr, arguments.data(), own_environment().data());
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        std::array<char, 65536> part;
        while (problem == 0) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
            pollfd wait{ends[0], POLLIN, 0};
            const int ready = left <= 0 ? 0 : poll(&wait, 1, static_cast<int>(left));
            if (ready < 0 && errno == EINTR) continue;
            const ssize_t got = ready <= 0 ? 0 : read(ends[0], part.data(), part.size());
            if (got <= 0) break;
            out.append(part.data(), static_cast<std::size_t>(got));
        }
        close(ends[0]);
        if (problem == 0) {
            kill(child, SIGKILL);  // it has ended, or its time is over
            while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }
    close(in);
    return out;
}

std::string hexadecimal(std::uint64_t value) {
    std::array<char, 16> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
    return "0x" + std::string(text.data(), end);
}

std::string_view next_line(std::string_view& text) noexcept {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return out;
}

// "file:57:3", "file:57 (discriminator 2)" or "??:0".
void read_place(std::string_view text, bool has_column, code_place& out) {
    if (const std::size_t more = text.find(" (discriminator"); more != std::string_view::npos)
        text = text.substr(0, more);
    if (has_column) text = text.substr(0, std::min(text.rfind(':'), text.size()));
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || text.starts_with("??")) return;
    out.file = text.substr(0, colon);
    const std::string_view number = text.substr(colon + 1);
    std::from_chars(number.data(), number.data() + number.size(), out.line);
}

code_place place_of(std::string_view function, std::string_view place, bool has_column) {
    code_place out;
    if (function != "??") out.function = function;
    read_place(place, has_column, out);
    return out;
}

bool is_one_line(const std::string& path) noexcept { return path.find_first_of("\n\"") == std::string::npos; }

void ask_llvm(const std::string& program, const std::vector<code_address>& addresses, steady_clock::time_point end,
              std::vector<std::vector<code_place>>& out) {
    std::string input;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (!is_one_line(addresses[i].path)) continue;
        input += "CODE \"" + addresses[i].path + "\" " + hexadecimal(addresses[i].address) + "\n";
        asked.push_back(i);
    }
    const std::string text = output_of({program, "--inlines", "--demangle", "--functions=linkage"}, input, end);
    std::string_view rest = text;
    // An answer ends with an empty line; one that lacks it came too late.
    for (const std::size_t i : asked) {
        std::vector<code_place> found;
        while (!rest.empty() && rest.front() != '\n') {
            const std::string_view function = next_line(rest);
            found.push_back(place_of(function, next_line(rest), true));
        }
        if (rest.empty()) return;
        rest.remove_prefix(1);
        out[i] = std::move(found);
    }
}

void ask_addr2line(const std::string& program, const std::vector<code_address>& addresses, steady_clock::time_point end,
                   std::vector<std::vector<code_place>>& out) {
    std::map<std::string, std::vector<std::size_t>> by_path;
    for (std::size_t i = 0; i < addresses.size(); ++i) by_path[addresses[i].path].push_back(i);
    for (const auto& [path, indexes] : by_path) {
        std::string input;
        for (const std::size_t i : indexes) input += hexadecimal(addresses[i].address) + "\n";
        const std::string text = output_of({program, "-a", "-f", "-i", "-C", "-e", path}, input, end);
        std::string_view rest = text;
        for (const std::size_t i : indexes) {
            if (!next_line(rest).starts_with("0x")) break;
            while (!rest.empty() && !rest.starts_with("0x")) {
                const std::string_view function = next_line(rest);
                out[i].push_back(place_of(function, next_line(rest), false));
            }
        }
    }
}

}  // namespace

std::vector<std::vector<code_place>> ask_symbolizer(const std::vector<code_address>& addresses) {
    std::vector<std::vector<code_place>> out(addresses.size());
    const steady_clock::time_point end = steady_clock::now() + longest_lookup;
    if (const std::string program = newest_symbolizer(); !program.empty()) {
        ask_llvm(program, addresses, end, out);
    } else if (const std::string other = program_named("addr2line"); !other.empty()) {
        ask_addr2line(other, addresses, end, out);
    }
    return out;
}

}  // namespace prof
