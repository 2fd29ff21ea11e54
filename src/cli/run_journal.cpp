// SPDX-License-Identifier: Apache-2.0
#include "cli/run_journal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/number.hpp"
#include "base/short_file.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

constexpr const char* journal_variable = "PROF_RUN_JOURNAL";
constexpr std::string_view journal_file = "/journal";
constexpr std::string_view environment_file = "/environment";
constexpr std::string_view directory_prefix = "prof-run-";
constexpr std::string_view loss_word = "lost ";
constexpr std::string_view tool_word = "beside ";
constexpr std::string_view inner_word = "inner ";

std::string temporary_directory() {
    std::error_code failed;
    const std::filesystem::path found = std::filesystem::temp_directory_path(failed);
    return failed ? "/tmp" : found.string();
}

bool make_file(const std::string& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return file >= 0 && close(file) == 0;
}

int open_directory(const std::string& path) noexcept {
    return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void remove_journal(const std::string& directory) {
    unlink(std::string(directory).append(journal_file).c_str());
    unlink(std::string(directory).append(environment_file).c_str());
    rmdir(directory.c_str());
}

// The run may be in another PID namespace, where it has another number: it holds a lock for as long as it lives.
bool is_left(const std::string& directory, pid_t pid) {
    if (kill(pid, 0) == 0 || errno != ESRCH) return false;
    const int opened = open_directory(directory);
    struct stat status {};
    const bool is_free = opened >= 0 && fstat(opened, &status) == 0 && status.st_uid == geteuid() &&
                         flock(opened, LOCK_EX | LOCK_NB) == 0;
    if (opened >= 0) close(opened);
    return is_free;
}

void restore(std::string_view name, std::string_view value, std::string_view before, bool was_set) {
    const std::string variable(name);
    const char* const now = std::getenv(variable.c_str());
    if (now == nullptr || now != value) return;
    was_set ? setenv(variable.c_str(), std::string(before).c_str(), 1) : unsetenv(variable.c_str());
}

}  // namespace

run_journal::run_journal() {
    std::string directory =
        temporary_directory().append("/").append(directory_prefix) + std::to_string(getpid()) + "-XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) return;
    directory_ = directory;
    lock_ = open_directory(directory_);
    if (lock_ >= 0) (void)flock(lock_, LOCK_SH | LOCK_NB);
    std::string path = directory_;
    path.append(journal_file);
    if (make_file(path)) path_ = path;
}

run_journal::~run_journal() {
    if (!directory_.empty()) remove_journal(directory_);
    if (lock_ >= 0) close(lock_);
}

// Four texts a variable, each with a zero behind it: name, value, value before, and whether there was one.
void run_journal::keep(const std::vector<changed_variable>& changed) const {
    if (path_.empty()) return;
    std::ofstream out(std::string(directory_).append(environment_file), std::ios::binary);
    for (const changed_variable& variable : changed) {
        for (const std::string& text : {variable.name, variable.value, variable.before.value_or(""),
                                        std::string(variable.before ? "set" : "unset")}) {
            out.write(text.c_str(), static_cast<std::streamsize>(text.size()) + 1);
        }
    }
}

journal_entries run_journal::read() const {
    journal_entries out;
    if (path_.empty()) return out;
    const std::string text = text_of_file(path_);
    for (std::string_view line : split(text, '\n')) {
        if (line.starts_with(inner_word)) {
            out.inner_captures.emplace_back(line.substr(inner_word.size()));
        } else if (line.starts_with(loss_word)) {
            line.remove_prefix(loss_word.size());
            const auto pid = take_number<int>(line);
            if (pid && line.starts_with(' ')) out.losses.try_emplace(*pid, line.substr(1));
        } else if (line.starts_with(tool_word)) {
            out.gpu_tools.emplace(line.substr(line.rfind(' ') + 1));
        }
    }
    return out;
}

std::string undo_outer_run() {
    const char* const set = std::getenv(journal_variable);
    std::string journal = set == nullptr ? "" : set;
    if (journal.empty()) return {};
    unsetenv(journal_variable);
    if (!journal.ends_with(journal_file) || access(journal.c_str(), W_OK) != 0) {
        // The outer run has ended, and what the variables were before is not known.
        for (const char* const name : {"PROF_RUN_ID", "PROF_OUTPUT_DIR", "PROF_EXPORT"}) unsetenv(name);
        return {};
    }
    const std::string directory = journal.substr(0, journal.size() - journal_file.size());
    const std::string text = text_of_file(std::string(directory).append(environment_file));
    std::vector<std::string_view> texts;
    for (const std::string_view part : split(text, '\0')) texts.push_back(part);
    for (std::size_t i = 0; i + 3 < texts.size(); i += 4) {
        restore(texts[i], texts[i + 1], texts[i + 2], texts[i + 3] == "set");
    }
    return journal;
}

void note_inner_run(const std::string& outer_journal, const std::string& directory) {
    if (outer_journal.empty()) return;
    std::string line(inner_word);
    line.append(directory).append("\n");
    const int file = open(outer_journal.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    (void)!write(file, line.data(), line.size());
    close(file);
}

void remove_left_journals() {
    std::error_code failed;
    std::filesystem::directory_iterator at(temporary_directory(), failed);
    for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
        const std::string name = at->path().filename().string();
        std::string_view rest = name;
        if (!rest.starts_with(directory_prefix)) continue;
        rest.remove_prefix(directory_prefix.size());
        const auto pid = take_number<pid_t>(rest);
        const bool is_journal = pid && *pid > 0 && rest.starts_with('-');
        if (is_journal && is_left(at->path().string(), *pid)) remove_journal(at->path().string());
    }
}

}  // namespace prof
