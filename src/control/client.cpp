// SPDX-License-Identifier: Apache-2.0
#include "control/client.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "control/place.hpp"
#include "control/socket_address.hpp"

namespace prof {
namespace {

using steady = std::chrono::steady_clock;

class connection {
public:
    explicit connection(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        if (fd_ < 0 || with_address(connect, fd_, path) != 0) error_ = errno;
    }
    ~connection() {
        if (fd_ >= 0) close(fd_);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    int error_number() const noexcept { return error_; }
    // Returns what the process sent until it closed the connection, which may be before it had read the whole request.
    std::string exchange(std::string_view request, steady::time_point end) const;

private:
    bool wait_for(short events, steady::time_point end) const;

    int fd_;
    int error_ = 0;
};

bool connection::wait_for(short events, steady::time_point end) const {
    for (;;) {
        int patience = -1;
        if (end != steady::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady::now()).count();
            if (left <= 0) return false;
            patience = static_cast<int>(std::min<long long>(left, 1'000'000));
        }
        pollfd one{.fd = fd_, .events = events, .revents = 0};
        if (poll(&one, 1, patience) > 0) return true;
    }
}

std::string connection::exchange(std::string_view request, steady::time_point end) const {
    while (!request.empty() && wait_for(POLLOUT, end)) {
        const ssize_t bytes = send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
        if (bytes < 0 && errno != EAGAIN && errno != EINTR) break;
        request.remove_prefix(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    }
    std::string answer;
    char part[4096];
    for (;;) {
        if (!wait_for(POLLIN, end)) throw error("no answer in time");
        const ssize_t bytes = recv(fd_, part, sizeof part, 0);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (bytes <= 0) return answer;
        answer.append(part, static_cast<std::size_t>(bytes));
    }
}

// The owner of the process's entry in /proc; the calling user if no entry is visible.
uid_t owner_of(pid_t pid) {
    struct stat found {};
    return stat(("/proc/" + std::to_string(pid)).c_str(), &found) == 0 ? found.st_uid : geteuid();
}

bool exists(pid_t pid) noexcept { return kill(pid, 0) == 0 || errno == EPERM; }

std::string unreachable(pid_t pid, uid_t owner) {
    const std::string subject = "process " + std::to_string(pid);
    if (!exists(pid)) return "there is no " + subject;
    if (owner != geteuid() && geteuid() != 0) {
        return subject + " belongs to user " + std::to_string(owner) + ", and answers to that user and root only";
    }
    return subject +
           " has no control socket: libprof is not in it, or it has used neither NVTX nor CUDA yet, or its option "
           "control is off (PROF_CONTROL=on makes it say what is in the way)";
}

}  // namespace

control_answer ask_process(pid_t pid, const control_request& request, std::chrono::milliseconds longest) {
    const auto end = longest == no_time_limit ? steady::time_point::max() : steady::now() + longest;
    const uid_t owner = owner_of(pid);
    std::string problem;
    for (const std::string& directory : control_directories(owner)) {
        const std::string path = control_socket_path(directory, pid);
        if (path.empty() || access(path.c_str(), F_OK) != 0) continue;
        // A user who can put a socket into the directory could answer in the process's place.
        if (problem = check_private_directory(directory, owner).message(); !problem.empty()) continue;
        const connection line(path);
        if (line.error_number() == ECONNREFUSED) continue;  // left by a dead process
        const std::string subject = "process " + std::to_string(pid);
        if (line.error_number() == EAGAIN) throw error(subject + " answers too many others just now");
        if (line.error_number() != 0) throw error(path + ": " + std::strerror(line.error_number()));
        std::string bytes;
        try {
            bytes = line.exchange(request_line(request), end);
        } catch (const error& failure) {
            throw error(subject + ": " + failure.what());
        }
        if (auto answer = parse_answer(bytes)) return *std::move(answer);
        throw error(subject + " ended before it had answered");
    }
    throw error(problem.empty() ? unreachable(pid, owner) : problem);
}

std::vector<pid_t> controlled_processes() {
    std::vector<pid_t> out;
    for (const std::string& directory : control_directories(geteuid())) {
        if (!check_private_directory(directory, geteuid()).ok()) continue;
        DIR* const listing = opendir(directory.c_str());
        if (listing == nullptr) continue;
        while (const dirent* const entry = readdir(listing)) {
            const pid_t pid = pid_of_control_socket(entry->d_name);
            if (pid == 0) continue;
            // A socket listens before it gets its name. So one that refuses a connection belongs to a dead process.
            const std::string path = control_socket_path(directory, pid);
            if (!path.empty() && !exists(pid) && connection(path).error_number() == ECONNREFUSED) {
                unlink(path.c_str());
            } else {
                out.push_back(pid);
            }
        }
        closedir(listing);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace prof
