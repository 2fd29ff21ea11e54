// SPDX-License-Identifier: Apache-2.0
// Descriptors that libprof owns inside another program. A program may close all descriptors that it did not open, as
// daemons do; the next file that it opens may then get libprof's number. So before each use one fstat checks that the
// number still refers to libprof's file.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace prof {

// The file that a descriptor was opened for.
class file_identity {
public:
    file_identity() = default;
    explicit file_identity(int descriptor) noexcept {
        struct stat status {};
        if (::fstat(descriptor, &status) != 0) return;
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }

    bool is_still(int descriptor) const noexcept {
        struct stat status {};
        return ::fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
    }

private:
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

// Moves a file off the numbers of the standard streams, which it may have if the program runs without one of them.
// Returns the new descriptor, or -1 with errno; the old one is closed in either case. Any other `descriptor` is
// returned unchanged.
inline int above_standard_streams(int descriptor) noexcept {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    return above;
}

// A descriptor together with the file that it was opened for. Used by one thread, except that another thread or a
// signal handler may call get().
class own_descriptor {
public:
    // Takes a descriptor that was just opened; -1: none. Moves it off the numbers of the standard streams.
    void take(int descriptor) noexcept {
        descriptor = above_standard_streams(descriptor);
        file_ = file_identity(descriptor);
        number_.store(descriptor);
    }
    // The number; -1 if there is none, or if the program has closed it.
    int get() const noexcept {
        const int number = number_.load();
        return number >= 0 && file_.is_still(number) ? number : -1;
    }
    bool is_taken() const noexcept { return number_.load() >= 0; }
    void close() noexcept {
        if (const int number = get(); number >= 0) ::close(number);
        number_.store(-1);
    }

private:
    std::atomic<int> number_{-1};
    file_identity file_;
};

}  // namespace prof
