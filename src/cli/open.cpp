// SPDX-License-Identifier: Apache-2.0
#include "cli/open.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/page_output.hpp"
#include "export/capture_files/exports.hpp"

namespace prof {
namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    return value == nullptr ? std::string() : std::string(value);
}

// A folder that only this user can read.
std::string private_folder() {
    std::error_code failed;
    std::string name = (std::filesystem::temp_directory_path(failed) / "prof-XXXXXX").string();
    if (failed || mkdtemp(name.data()) == nullptr) {
        throw error("cannot make a folder for the page: " + std::generic_category().message(errno));
    }
    return name;
}

// Beside the captures, where they can be sent from; where nothing can be written, in a folder of the user's own.
std::string place_for(const std::vector<std::string>& files) {
    const std::string& first = files.front();
    const std::filesystem::path file(first);
    if (!is_stream(first)) {
        const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
        if (access(folder.c_str(), W_OK | X_OK) == 0) {
            if (files.size() == 1) return stem_of(first) + ".html";
            return (folder / "job.html").string();
        }
    }
    return private_folder() + "/" + (files.size() == 1 && !is_stream(first) ? file.stem().string() : "page") + ".html";
}

// Starts it with the page, without a terminal. False if there is no such program or it fails at once.
bool starts(const std::string& program, const std::string& page) {
    std::vector<std::string> words;
    bool has_page = false;
    for (const std::string_view word : split(program, ' ')) {
        if (word.empty()) continue;
        words.emplace_back(word == "%s" ? std::string_view(page) : word);
        has_page = has_page || word == "%s";
    }
    if (words.empty()) return false;
    if (!has_page) words.push_back(page);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    posix_spawnattr_init(&attributes);
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    }
    // A browser outlives the terminal.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) return false;
    constexpr auto wait = std::chrono::milliseconds(50);
    for (int i = 0; i < 40; ++i) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        std::this_thread::sleep_for(wait);
    }
    return true;  // it runs
}

// By $BROWSER, which may name several with colons between; else by the desktop, where there is one.
bool shows(const std::string& page) {
    const std::string browsers = variable("BROWSER");
    for (const std::string_view browser : split(browsers, ':')) {
        if (!browser.empty() && starts(std::string(browser), page)) return true;
    }
    if (!browsers.empty()) return false;
    const bool has_desktop = !variable("DISPLAY").empty() || !variable("WAYLAND_DISPLAY").empty();
    return has_desktop && starts("xdg-open", page);
}

}  // namespace

open_command::open_command(command_arguments& arguments) {
    arguments
        .add("FILE", files_,
             "Captures (*.prof), traces of torch.profiler (*.json, *.json.gz), directories of them, or - for standard "
             "input")
        .value("");
    arguments.add("-o,--output", output_, "Write the page to FILE instead of beside the captures").value("FILE");
}

int open_command::operator()() const {
    const capture_inputs inputs = captures_or_newest_run(files_);
    if (inputs.files.empty()) return exit_failure;
    page_order order{.files = inputs.files};
    order.settings.may_use_threads = true;
    order.place = std::filesystem::absolute(output_.empty() ? place_for(inputs.files) : output_).string();
    if (const outcome usable = check_output(order.place, inputs.files); !usable.ok()) {
        complain(usable.message());
        return exit_usage;
    }
    if (const outcome possible = check_place(order.place); !possible.ok()) throw error(possible.message());
    const progress_display progress;
    const bool all_read = write_page_of(order, progress) && inputs.all_found;
    if (!std::filesystem::exists(order.place)) return exit_failure;
    print_saved_page(order.place);
    if (!shows(order.place)) {
        complain("no browser could be started (set BROWSER): open " + order.place);
    }
    return all_read ? exit_ok : exit_failure;
}

}  // namespace prof
