// SPDX-License-Identifier: Apache-2.0
// Draws faults from a seed, has a program meet them with libprof in it, and compares with the program alone: its
// output, status and length are the same, the captures have what they should, and what they lack is said. By the
// environment:
//
//   PROF_FAULTS_SEED=17       this seed alone
//   PROF_FAULTS_FIRST=1000    seeds from this on (1)
//   PROF_FAULTS_COUNT=500     so many of them (10)
//   PROF_FAULTS_SECONDS=3600  or as many as this time takes
//   PROF_FAULTS_LIST=…        these faults instead of the seed's (fault.hpp)
//   PROF_FAULTS_KEEP=DIR      what a run that failed leaves goes there
//   PROF_FAULTS_STACKS=1      where a run does not end, gdb's stacks of it
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "capture/format.hpp"
#include "faults/expectation.hpp"
#include "faults/scenario.hpp"
#include "support/run_process.hpp"

namespace prof::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// CUPTI is waited for at exit for 5 s, and a call that stands still for as long again.
constexpr std::chrono::seconds longest_run{30};
constexpr std::chrono::seconds longest_more{12};

std::string setting(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string{} : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
    const std::string text = setting(name);
    return text.empty() ? otherwise : std::stoull(text);
}

// In a file of zeros that other processes map.
template <typename TShared>
TShared& map_shared(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(TShared)) != 0) throw std::runtime_error("cannot make " + path);
    void* const at = mmap(nullptr, sizeof(TShared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    return *static_cast<TShared*>(at);
}

// A namespace of our own, in which file systems may be mounted.
bool may_mount() {
    static const bool can = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return can;
}

struct outcome {
    int status = 0;
    bool hung = false;
    std::string out;
    std::string err;
    steady_clock::duration length{};
};

class one_run {
public:
    one_run(std::uint64_t seed, scenario what) : seed_(seed), what_(std::move(what)) {}

    // What was wrong, nothing if all was well.
    std::vector<std::string> problems() {
        fs::create_directory(scratch_.path + "/bare");
        fs::create_directory(scratch_.path + "/rings");
        const outcome bare = run(false);
        mount_rings();
        report_ = &map_shared<fault_report>(scratch_.path + "/report");
        const outcome with = run(true);
        compare(bare, with);
        check_captures(with);
        unmount_rings();
        munmap(report_, sizeof *report_);
        return std::move(problems_);
    }
    const scratch_directory& scratch() const { return scratch_; }

private:
    bool was_met(fault_effect effect) const {
        for (std::size_t i = 0; i < what_.faults.size(); ++i) {
            if (what_.faults[i].effect == effect && report_->met[i].load() != 0) return true;
        }
        return false;
    }

    bool was_met(faulty_call call) const {
        for (std::size_t i = 0; i < what_.faults.size(); ++i) {
            if (what_.faults[i].call == call && report_->met[i].load() != 0) return true;
        }
        return false;
    }

    void mount_rings() {
        if (!what_.has_small_rings) return;
        if (mount("none", (scratch_.path + "/rings").c_str(), "tmpfs", 0, "size=64m") != 0) {
            throw std::runtime_error("no file system can be mounted");
        }
    }
    void unmount_rings() const {
        if (what_.has_small_rings) umount2((scratch_.path + "/rings").c_str(), MNT_DETACH);
    }

    outcome run(bool with_libprof) const {
        const std::string folder = scratch_.path + (with_libprof ? "/with" : "/bare");
        fs::create_directory(folder);
        std::map<std::string, std::string> environment = {{"CUDA_INJECTION64_PATH", ""}, {"NVTX_INJECTION64_PATH", ""}};
        const auto mode = what_.options.find("FAULTS_MODE");
        if (mode != what_.options.end()) environment.insert(*mode);
        if (with_libprof) {
            environment.insert(what_.options.begin(), what_.options.end());
            environment.insert({{"LD_PRELOAD", std::string(PROF_TEST_FAULTY_LIBC) + ":" + PROF_TEST_LIBRARY},
                                {"PROF_CUPTI_LIBRARY", PROF_TEST_FAKE_CUPTI},
                                {"PROF_OUTPUT_DIR", scratch_.path + "/captures"},
                                {"PROF_RINGS", scratch_.path + "/rings"},
                                {"FAULTS", what_.faults.empty() ? ";" : text_of(what_.faults)},
                                {"FAULTS_REPORT", scratch_.path + "/report"}});
        }
        const auto begin = steady_clock::now();
        const pid_t child = start_process({PROF_TEST_HOST, std::to_string(seed_), folder + "/journal"}, environment,
                                          folder, folder + "/out", folder + "/err");
        outcome result;
        while (waitpid(child, &result.status, WNOHANG) == 0) {
            if (steady_clock::now() - begin > longest_run) {
                result.hung = true;
                if (!setting("PROF_FAULTS_STACKS").empty()) {
                    (void)!std::system(
                        ("gdb -p " + std::to_string(child) + " -batch -ex 'thread apply all bt' 2>&1").c_str());
                }
                kill(child, SIGKILL);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        result.length = steady_clock::now() - begin;
        result.out = read_file(folder + "/out");
        result.err = read_file(folder + "/err");
        return result;
    }

    // The program reports a child that a fault killed.
    std::string without_killed_children(std::string out) const {
        const std::string line = "a child ended with " + std::to_string(SIGKILL) + "\n";
        for (std::uint32_t left = report_->children_killed; left > 0; --left) {
            if (const std::size_t at = out.find(line); at != std::string::npos) out.erase(at, line.size());
        }
        return out;
    }

    // The program is what it is without libprof.
    void compare(const outcome& bare, const outcome& with) {
        const auto problem = [&](const std::string& text) { problems_.push_back(text); };
        if (with.hung) return problem("it did not end");
        const bool was_killed = was_met(fault_effect::kill);
        const int expected = was_killed ? SIGKILL : bare.status & ~0x80;
        if ((with.status & ~0x80) != expected) {
            problem("status " + std::to_string(with.status) + " and not " + std::to_string(expected));
        }
        const std::string out = without_killed_children(with.out);
        if (was_killed ? !bare.out.starts_with(out) : out != bare.out) {
            problem("it printed \"" + with.out + "\" and not \"" + bare.out + "\"");
        }
        std::istringstream lines(with.err);
        std::uint32_t count = 0;
        bool are_ours = true;
        for (std::string line; std::getline(lines, line); ++count) {
            are_ours = are_ours && line.starts_with("libprof: ");
        }
        journal& done = map_journal(scratch_.path + "/with/journal");
        // A warning and an error, of the program and of each child.
        if (count > 2 * (1 + done.children) || !are_ours) problem("on standard error: " + with.err);
        unmap_journal(done);
        if (with.length > bare.length + longest_more) {
            problem("it took " + std::to_string(std::chrono::duration<double>(with.length).count()) + " s");
        }
    }

    void check_captures(const outcome& with) {
        const std::string folder = scratch_.path + "/captures";
        journal& done = map_journal(scratch_.path + "/with/journal");
        const bool ended_itself = WIFEXITED(with.status) && WEXITSTATUS(with.status) != 5;
        circumstances how;
        how.was_killed = !ended_itself;
        how.output_was_removed = was_met(fault_effect::remove_output);
        how.unlink_failed = was_met(faulty_call::unlink) || was_met(faulty_call::rename);
        how.disk_stands_still = was_met(fault_effect::block);
        how.stderr_fails = was_met(faulty_call::writev);
        how.error_output = with.err;
        add(shortcomings(folder, done, how), "");
        std::vector<std::string> paths;
        // One that was cut in its header is no capture.
        if (fs::is_directory(folder)) paths = scratch_.files(".prof");
        std::erase_if(paths, [](const std::string& path) { return fs::file_size(path) < sizeof(format::file_header); });
        for (const std::string& path : paths) run_command({"report", path});
        for (const std::string& path : paths) run_command({"export", path, "-o", path + ".trace.json"});
        if (!ended_itself && !paths.empty()) {
            std::vector<std::string> words = {"seal"};
            words.insert(words.end(), paths.begin(), paths.end());
            run_command(words);
            add(shortcomings(folder, done, how), "sealed: ");
        }
        unmap_journal(done);
    }

    void add(const std::vector<std::string>& more, const std::string& prefix) {
        for (const std::string& line : more) problems_.push_back(prefix + line);
    }

    void run_command(std::vector<std::string> words) {
        words.insert(words.begin(), PROF_TEST_COMMAND);
        process_result result = run_process(words, {}, scratch_.path);
        // A child that was just being forked has the rings open for a moment longer.
        for (int i = 0; i < 100 && result.err.find("still runs") != std::string::npos; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            result = run_process(words, {}, scratch_.path);
        }
        if (result.status != 0) problems_.push_back("prof " + words[1] + ": " + result.err);
    }

    const std::uint64_t seed_;
    const scenario what_;
    scratch_directory scratch_;
    fault_report* report_ = nullptr;
    std::vector<std::string> problems_;
};

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += "  " + line + "\n";
    return out;
}

bool holds(std::uint64_t seed, const scenario& what) {
    one_run run(seed, what);
    const std::vector<std::string> problems = run.problems();
    if (problems.empty()) return true;
    std::string options;
    for (const auto& [name, value] : what.options) options += " " + name + "=" + value;
    ADD_FAILURE() << "seed " << seed << ":\n"
                  << joined(problems) << "  to repeat it: PROF_FAULTS_SEED=" << seed << " PROF_FAULTS_LIST='"
                  << text_of(what.faults) << "' " << PROF_TEST_DRIVER
                  << " --gtest_filter=Faults.Leave*\n  its options:" << options;
    if (const std::string kept = setting("PROF_FAULTS_KEEP"); !kept.empty()) {
        fs::create_directories(kept);
        fs::copy(run.scratch().path, kept + "/" + std::to_string(seed), fs::copy_options::recursive);
    }
    return false;
}

TEST(Faults, LeaveTheProgramUnchangedAndCountEveryLoss) {
    const std::uint64_t only = number("PROF_FAULTS_SEED", 0);
    const std::uint64_t first = only != 0 ? only : number("PROF_FAULTS_FIRST", 1);
    const std::uint64_t seconds = number("PROF_FAULTS_SECONDS", 0);
    const std::uint64_t count = only != 0 ? 1 : seconds != 0 ? UINT64_MAX : number("PROF_FAULTS_COUNT", 10);
    const auto end = steady_clock::now() + std::chrono::seconds(seconds);
    const std::string list = setting("PROF_FAULTS_LIST");
    std::uint64_t failed = 0;
    std::uint64_t done = 0;
    for (; done < count && (seconds == 0 || steady_clock::now() < end); ++done) {
        const std::uint64_t seed = first + done;
        scenario what = draw(seed);
        if (!list.empty()) {
            const auto given = faults_of(list);
            ASSERT_TRUE(given.has_value()) << list;
            what.faults = *given;
        }
        if (what.has_small_rings && !may_mount()) {
            std::cout << "seed " << seed << " is left out: no file system may be mounted here\n";
            continue;
        }
        if (!holds(seed, what)) ++failed;
    }
    std::cout << done << " seeds from " << first << ", " << failed << " failed\n";
}

scenario scenario_of(const std::map<std::string, std::string>& options, const std::string& faults) {
    scenario out;
    out.options = {{"PROF_MEMORY", "16M"}, {"PROF_EXPORT", "none"}, {"PROF_CONTROL", "off"}};
    for (const auto& [name, value] : options) out.options[name] = value;
    out.faults = faults_of(faults).value();
    return out;
}

// The first allocations are those of the session itself.
TEST(Faults, CostOnlyReportedLossesWhenTheFirstAllocationsFail) {
    constexpr std::uint64_t allocations = 16;
    for (std::uint64_t which = 1; which <= allocations; ++which) {
        (void)holds(2, scenario_of({}, "malloc@" + std::to_string(which) + "=fail:12"));
    }
}

// One allocation after another fails. PROF_FAULTS_COUNT: how many allocations (6).
TEST(Faults, CostOnlyReportedLossesWhenAllocationsFail) {
    const std::uint64_t count = number("PROF_FAULTS_COUNT", 6);
    constexpr std::uint64_t allocations = 200;  // until the capture is under way
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t which = 1 + i * allocations / count;
        (void)holds(2, scenario_of({{"PROF_CONTROL", "auto"}}, "malloc@" + std::to_string(which) + "=fail:12"));
    }
    (void)holds(2, scenario_of({}, "malloc@1+100000=fail:12"));
}

struct found_once {
    const char* what;
    std::uint64_t seed;
    std::map<std::string, std::string> options;
    const char* faults;
};

TEST(Faults, RegressionsStayFixed) {
    const std::vector<found_once> all = {
        {"no memory where it is said that nothing is recorded", 361, {}, "malloc@60+100000=fail:12"},
        {"the capture fails, and later the process dies", 85, {}, "write@3+100000=fail:5"},
        {"no thread can be made: the one line says that nothing is recorded", 111, {}, "pthread_create@1+1000=fail:11"},
        {"no rings when CUDA begins, and some later", 83, {}, "mmap@1+2=fail:12"},
        {"no memory from the middle on, at the end either", 10018, {}, "malloc@107+100000=fail:12"},
        {"no memory for a while, and CUPTI is in use at the end", 10018, {}, "malloc@107+5=fail:12"},
        {"no descriptor but the standard streams", 371, {}, "any@11=limit_files:3"},
        {"no descriptor at all, where poll() fails", 2197, {}, "any@18=limit_files"},
        {"no memory for a dump's exports, nor for saying so",
         6167,
         {{"PROF_CONTROL", "on"}, {"PROF_EXPORT", "trace,summary"}},
         "malloc@640+5=fail:12"},
        {"no thread for a second recording at its first record, and one at its end",
         7077,
         {{"PROF_CONTROL", "auto"}, {"PROF_EXPORT", "trace,summary"}},
         "rename@1+2=fail:38;pthread_create@4+2=fail:11"},
        {"the first range is a handler's, on a thread that is inside the session", 10819, {}, "any@22+3=signal"},
        {"the program closes a file that exports are written to",
         10833,
         {{"PROF_EXPORT", "trace,summary"}},
         "open@9=delay:1;posix_fallocate@1=fail:28"},
        {"a child forked while CUDA begins, where there are no rings",
         7434,
         {},
         "mmap@1+2=fail:12;ftruncate@1=fail:1;any@33=fork"},
        {"no rings for the first range, and some for the next",
         13468,
         {{"PROF_API_CALLS", "runtime"}, {"PROF_IDLE_GRAPH_NODES", "1"}},
         "pthread_create@4+2=fail:11;mmap@1+5=fail:19"},
        {"a dump that cannot be read when the recording is stopped", 5, {{"PROF_CONTROL", "on"}}, "pread@1=block"},
        {"the clock is set back between two recordings, and the process is killed",
         692,
         {{"PROF_CONTROL", "auto"}, {"PROF_EXPORT", "trace,summary"}},
         "clock_gettime@117=clock:-2"},
        {"one recording cannot be written to its end, nor the next one at all",
         500323,
         {{"PROF_EXPORT", "trace,summary"}},
         "write@8+5=fail:27"},
    };
    for (const found_once& each : all) {
        SCOPED_TRACE(each.what);
        (void)holds(each.seed, scenario_of(each.options, each.faults));
    }
}

}  // namespace
}  // namespace prof::test
