// SPDX-License-Identifier: Apache-2.0
#include "session/process/warn_once.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <new>
#include <span>
#include <string>

#include "base/cancellation_guard.hpp"
#include "base/file_size_signal.hpp"
#include "session/process/events.hpp"

namespace prof {
namespace {

// False where the write would wait: a full pipe, or a terminal that is stopped.
bool write_at_once(int descriptor, std::span<const iovec> parts) noexcept {
    // SIGTTOU would stop a program in the background of a terminal.
    const signal_guard guard({SIGPIPE, SIGXFSZ, SIGTTOU});
    struct stat status {};
    if (fstat(descriptor, &status) != 0) return false;
    const int count = static_cast<int>(parts.size());
    if (S_ISSOCK(status.st_mode)) {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts.data());
        message.msg_iovlen = parts.size();
        return sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    }
    if (S_ISFIFO(status.st_mode)) {
        if (pwritev2(descriptor, parts.data(), count, -1, RWF_NOWAIT) >= 0) return true;
        if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
    }
    // Not poll(), which refuses where the limit on open files is 0.
    if (descriptor >= FD_SETSIZE) return false;
    fd_set asked;
    FD_ZERO(&asked);
    FD_SET(descriptor, &asked);
    timeval at_once{};
    return select(descriptor + 1, nullptr, &asked, nullptr, &at_once) == 1 &&
           writev(descriptor, parts.data(), count) >= 0;
}

bool try_write_line(std::string_view line) noexcept {
    const cancellation_guard guard;
    const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
    // One write, and no longer than a pipe takes at once: it cannot be torn by the program's own output.
    constexpr std::string_view before = "libprof: ";
    constexpr std::string_view after = "\n";
    line = line.substr(0, PIPE_BUF - before.size() - after.size());
    const std::array parts = {part(before), part(line), part(after)};
    return write_at_once(STDERR_FILENO, parts);
}

}  // namespace

void write_line(std::string_view line) noexcept { (void)try_write_line(line); }

void begin_log() noexcept {
    const char* const asked = std::getenv("PROF_LOG");
    if (asked == nullptr || *asked == '\0') return;
    if (asked == std::string_view{"debug"}) {
        is_logging = true;
    } else {
        warn_once("PROF_LOG has another value than debug, and is ignored");
    }
}

void log_line(std::string_view line) noexcept {
    if (!is_logging.load(std::memory_order_relaxed)) return;
    try {
        write_line("process " + std::to_string(getpid()) + ": " + std::string(line));
    } catch (const std::bad_alloc&) {
        write_line(line);
    }
}

void warn_once(std::string_view line, prof_log_severity severity) noexcept {
    log_line(line);
    if (post_line(severity, line) || is_logging.load(std::memory_order_relaxed)) return;
    static std::atomic<int> worst_written{0};
    int before = worst_written.load();
    do {
        if (before >= severity) return;
    } while (!worst_written.compare_exchange_weak(before, severity));
    int own = severity;
    if (!try_write_line(line)) (void)worst_written.compare_exchange_strong(own, before);
}

}  // namespace prof
