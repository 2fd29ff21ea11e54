// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "capture/recovery/seal.hpp"
#include "cli/captures.hpp"
#include "cli/child.hpp"
#include "cli/cli.hpp"
#include "cli/library.hpp"
#include "cli/progress.hpp"
#include "cli/start_failure.hpp"
#include "options/plans.hpp"

namespace prof {
namespace {

std::string random_run_id() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
    return fmt::format("{:016x}", number);
}

// The directory of this run's captures. If it was made for the run and the run left nothing there, it goes again.
class output_directory {
public:
    explicit output_directory(const std::string& path) {
        std::error_code failed;
        path_ = std::filesystem::absolute(path, failed).string();
        is_new_ = !std::filesystem::exists(path_, failed);
        if (is_new_) {
            const mode_t before = umask(0077);
            std::filesystem::create_directories(path_, failed);
            umask(before);
        }
        if (failed) throw error("cannot make the output directory " + path_ + ": " + failed.message());
        if (!std::filesystem::is_directory(path_, failed)) throw error(path_ + " is not a directory");
        if (access(path_.c_str(), W_OK | X_OK) != 0) {
            throw error("cannot write to " + path_ + ": " + std::generic_category().message(errno));
        }
    }
    ~output_directory() {
        if (is_new_) rmdir(path_.c_str());  // fails unless it is empty
    }
    output_directory(const output_directory&) = delete;
    output_directory& operator=(const output_directory&) = delete;

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
    bool is_new_ = false;
};

// Our environment with changes.
class changed_environment {
public:
    changed_environment() {
        for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
            const std::string_view line = *variable;
            const std::size_t equals = line.find('=');
            if (equals != std::string_view::npos)
                values_[std::string(line.substr(0, equals))] = line.substr(equals + 1);
        }
    }
    void set(const std::string& name, const std::string& value) { values_[name] = value; }
    std::string get(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::string() : found->second;
    }
    environment lines() const {
        environment out;
        out.reserve(values_.size());
        for (const auto& [name, value] : values_) {
            std::string line = name;
            out.push_back(line.append("=").append(value));
        }
        return out;
    }

private:
    std::map<std::string, std::string> values_;
};

// A program built with GCC's address sanitizer ends at once where another library stands before the sanitizer's: that
// must be the first to define malloc and its kin. libprof.so defines none of them.
void make_way_for_sanitizers(changed_environment& variables) {
    const std::string options = variables.get("ASAN_OPTIONS");
    constexpr std::string_view check = "verify_asan_link_order";
    if (options.find(check) != std::string::npos) return;
    variables.set("ASAN_OPTIONS", fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", check));
}

void inject(changed_environment& variables, const std::string& library) {
    make_way_for_sanitizers(variables);
    const std::string preloaded = variables.get("LD_PRELOAD");
    variables.set("LD_PRELOAD", preloaded.empty() ? library : library + ":" + preloaded);
    for (const char* const name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        const std::string other = variables.get(name);
        if (other.empty()) {
            variables.set(name, library);
        } else if (other != library) {
            complain(
                fmt::format("{} is set to {}, which prof run does not change: what it receives may not reach libprof",
                            name, other));
        }
    }
}

// Python programs start with libprof's sitecustomize. It switches PyTorch's ranges on, and then runs the user's own.
void guide_python(changed_environment& variables) {
    const std::string folder = python_folder_beside_executable();
    const outcome usable = try_python_folder(folder);
    if (!usable.ok()) {
        return complain(usable.message() +
                        "; PyTorch's own ranges are not observed, and no way is made for Triton's profiler: "
                        "install all of libprof, or give --pytorch off");
    }
    const std::string before = variables.get("PYTHONPATH");
    variables.set("PYTHONPATH", before.empty() ? folder : folder + ":" + before);
}

// Seals the capture of a process that died. How it ended is known for the command itself; of the processes that it
// started only that they are gone. False if the process still runs, or on failure.
bool seal(const run_capture& capture, const child_end& end, const progress_display& progress) {
    try {
        const progress_line recovering(progress, "recovering " + capture.path);
        const bool is_command = capture.pid == static_cast<std::uint64_t>(end.pid);
        const std::uint32_t how = end.signal != 0 ? ended_by_signal(end.signal) : ended_with_status(end.status);
        return seal_capture(capture.path, is_command ? how : 0).result != seal_result::is_running;
    } catch (const error& failure) {
        complain(failure.what());
        return false;
    }
}

// Several captures may be one process's (export_each): its rings go when all are closed.
void seal_all(const std::vector<run_capture>& captures, const child_end& end, const progress_display& progress) {
    bool all_closed = true;
    for (const run_capture& capture : captures) all_closed = seal(capture, end, progress) && all_closed;
    if (!all_closed) return;
    for (const run_capture& capture : captures) {
        try {
            remove_rings(capture.path);
        } catch (const error& failure) {
            complain(failure.what());
        }
    }
}

void report_captures(const session_options& options, const run_output& output, const std::string& directory,
                     const std::string& run_id, const child_end& end) {
    const std::vector<run_capture> captures = captures_of_run(directory, run_id);
    if (captures.empty()) {
        const std::string why = no_window_text(options);
        complain("no capture: " +
                 (why.empty() ? "the command made no NVTX range and no CUDA call that libprof could see" : why) +
                 " (a statically linked or set-user-id program cannot be seen)");
        return;
    }
    const progress_display progress(!output.quiet());
    seal_all(captures, end, progress);
    report_run(options, output, directory, captures, progress);
}

}  // namespace

run_command::run_command(const command_arguments& arguments) : arguments_(arguments), options_(arguments_) {
    arguments_.add("--library", library_, "Use this libprof.so instead of the one beside this command")
        .value("FILE")
        .group("What is recorded");
    output_.add_to(arguments_);
}

std::size_t run_command::command_begin(const std::vector<std::string>& arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--") return i + 1;
        if (argument.size() < 2 || argument[0] != '-') return i;
        const bool is_long = argument[1] == '-';
        const bool has_value = is_long ? argument.find('=') != std::string::npos : argument.size() > 2;
        if (!has_value && arguments_.takes_a_value(is_long ? argument : argument.substr(0, 2))) ++i;
    }
    return arguments.size();
}

int run_command::operator()(const std::vector<std::string>& command) const {
    const session_options options = options_.resolve();
    output_.check();
    if (command.empty()) throw usage_error("there is no command to run: prof run [options] -- command...");
    for (const std::string& line : unknown_variables()) complain(line);
    std::optional<output_directory> directory(std::in_place, options.output_dir);
    const std::string run_id = random_run_id();

    changed_environment variables;
    for (const auto& [name, value] : options_.variables()) variables.set(name, value);
    variables.set("PROF_OUTPUT_DIR", directory->path());
    variables.set("PROF_RUN_ID", run_id);
    variables.set("PROF_EXPORT", "none");  // made here, when the command has ended
    const std::string library =
        library_.empty() ? library_beside_executable() : std::filesystem::absolute(library_).string();
    const outcome usable = try_library(library);
    if (usable.ok()) {
        inject(variables, library);
        if (options.pytorch != pytorch_detail::off) guide_python(variables);
    } else {
        complain("the command runs without profiling: " + usable.message());
    }

    const child_end end = run_child(command, variables.lines());
    if (end.start_error != 0) {
        complain(start_failure(command.front(), end.start_error));
        return end.start_error == ENOENT ? exit_not_found : exit_not_executable;
    }
    if (usable.ok()) report_captures(options, output_, directory->path(), run_id, end);
    directory.reset();
    if (end.signal != 0) {
        std::fflush(nullptr);
        die_by(end.signal);
        return 128 + end.signal;
    }
    return end.status;
}

}  // namespace prof
