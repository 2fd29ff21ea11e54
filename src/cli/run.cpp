// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <optional>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/gpu_tools.hpp"
#include "capture/recovery/seal.hpp"
#include "cli/captures.hpp"
#include "cli/child.hpp"
#include "cli/cli.hpp"
#include "cli/executable.hpp"
#include "cli/leftovers.hpp"
#include "cli/library.hpp"
#include "cli/no_capture.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_environment.hpp"
#include "cli/run_journal.hpp"
#include "cli/run_processes.hpp"
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
        if (is_new_) std::filesystem::create_directories(path_, failed);
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

bool is_gone(std::uint64_t pid) noexcept { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

// Another prof run may be at it, which cleans up after killed processes.
sealing seal_after_others(const run_capture& capture, std::uint32_t how) {
    constexpr auto step = std::chrono::milliseconds(10);
    auto left = std::chrono::milliseconds(5000);
    sealing done = seal_capture(capture.path, how);
    for (; done.result == seal_result::is_running && is_gone(capture.pid) && left > step; left -= step) {
        std::this_thread::sleep_for(step);
        done = seal_capture(capture.path, how);
    }
    return done;
}

// Seals the capture of a process that died. How it ended is known for the command itself; of the processes that it
// started only that they are gone. False if the process still runs, or on failure.
bool seal(const run_capture& capture, const child_end& end, const progress_display& progress) {
    try {
        const progress_line recovering(progress, "recovering " + capture.path);
        const bool is_command = capture.pid == static_cast<std::uint64_t>(end.pid);
        const std::uint32_t how = end.signal != 0 ? ended_by_signal(end.signal) : ended_with_status(end.status);
        return seal_after_others(capture, is_command ? how : 0).result != seal_result::is_running;
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

// Beside the captures that there are.
void report_what_is_missing(const run_facts& facts, const std::vector<run_capture>& captures) {
    for (const auto& [pid, reason] : facts.journal.losses) {
        const bool has_one = std::any_of(captures.begin(), captures.end(), [pid = pid](const run_capture& capture) {
            return capture.pid == static_cast<std::uint64_t>(pid);
        });
        if (!has_one) complain(fmt::format("no capture of process {}: {}", pid, reason));
    }
    for (const std::string& tool : facts.journal.gpu_tools) complain(gpu_tool_notice(tool));
    if (!facts.python_isolated.empty()) complain(facts.python_isolated);
    if (!facts.running.empty()) complain(still_runs_text(facts));
}

// What all processes of a run have in common.
struct run_frame {
    const session_options& options;
    const run_environment& variables;
    bool is_profiled = false;  // libprof.so can be loaded
};

// Runs the command once, and calls report(facts, captures, progress) when it has ended; its captures are closed.
// Without a capture standard error has the reason.
template <typename TReport>
finished_run run_once(const run_frame& frame, const std::vector<std::string>& command, const std::string& directory,
                      const run_output& output, TReport&& report) {
    const std::string run_id = random_run_id();
    const run_journal journal;
    run_environment variables = frame.variables;
    variables.set("PROF_OUTPUT_DIR", directory);
    variables.set("PROF_RUN_ID", run_id);
    if (!journal.path().empty()) variables.set("PROF_RUN_JOURNAL", journal.path());
    journal.keep(variables.changes());
    finished_run out{.end = run_child(command, variables.lines())};
    if (out.end.start_error != 0) {
        complain(start_failure(command.front(), out.end.start_error));
        return out;
    }
    if (!frame.is_profiled) return out;
    const bool observes_python = frame.options.pytorch != pytorch_detail::off;
    const run_facts facts{.directory = directory,
                          .end = out.end,
                          .program = executable_of(command.front()),
                          .journal = journal.read(),
                          .running = lasting_processes_of_run(run_id),
                          .without_window = no_window_text(frame.options),
                          .python_isolated = observes_python ? python_isolation_text(command) : ""};
    out.captures = captures_of_run(directory, run_id);
    if (out.captures.empty()) {
        complain(no_capture_text(facts));
        return out;
    }
    const progress_display progress(!output.quiet());
    seal_all(out.captures, facts.end, progress);
    report(facts, out.captures, progress);
    report_what_is_missing(facts, out.captures);
    return out;
}

int status_of(const child_end& end) {
    if (end.start_error != 0) return end.start_error == ENOENT ? exit_not_found : exit_not_executable;
    if (end.signal == 0) return end.status;
    std::fflush(nullptr);
    die_by(end.signal);
    return 128 + end.signal;
}

}  // namespace

run_command::run_command(const command_arguments& arguments) : arguments_(arguments), options_(arguments_) {
    arguments_.add("--library", library_, "Use this libprof.so instead of the one beside this command")
        .value("FILE")
        .group("What is recorded");
    series_.add_to(arguments_);
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
    const std::string outer_journal = undo_outer_run();
    const session_options options = options_.resolve();
    if (command.empty()) throw usage_error("there is no command to run: prof run [options] -- command...");
    for (const std::string& line : unknown_variables()) complain(line);
    if (options.output_dir == "-") {
        throw usage_error("-o takes a directory; --report-file - prints the tables on standard output");
    }
    if (series_.is_series() && !output_.kinds().empty()) {
        throw usage_error("--report is of one run: prof report makes it of each capture of --runs and --against");
    }
    std::vector<run_side> sides;
    if (series_.is_pair()) sides.push_back({.command = series_.against()});
    sides.push_back({.command = command});
    std::optional<output_directory> directory(std::in_place, options.output_dir);
    std::list<output_directory> of_sides;
    for (run_side& side : sides) {
        side.directory = directory->path();
        if (!series_.is_pair()) continue;
        side.directory += &side == sides.data() ? "/base" : "/new";
        of_sides.emplace_back(side.directory);
    }
    output_.check();  // its file may be in that directory
    clean_leftovers(options.rings);

    run_environment variables;
    for (const auto& [name, value] : options_.variables()) variables.set(name, value);
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
    for (const run_side& side : sides) note_inner_run(outer_journal, side.directory);

    const run_frame frame{.options = options, .variables = variables, .is_profiled = usable.ok()};
    child_end end;
    if (series_.is_series()) {
        const auto run = [&](const run_side& side) {
            return run_once(frame, side.command, side.directory, output_, [](const auto&...) {});
        };
        end = run_all({.sides = sides, .runs = series_.runs(), .run = run}, options, output_);
    } else {
        const auto report = [&](const run_facts& facts, const std::vector<run_capture>& captures,
                                const progress_display& progress) {
            report_run(options, output_, facts.directory, captures, progress);
        };
        end = run_once(frame, command, directory->path(), output_, report).end;
    }
    of_sides.clear();
    directory.reset();
    return status_of(end);
}

}  // namespace prof
