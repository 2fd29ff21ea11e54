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
        if (::fstat(descriptor, &status) == 0) *this = file_identity(status);
    }
    explicit file_identity(const struct stat& status) noexcept : device_(status.st_dev), inode_(status.st_ino) {}

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

// Makes a new file at `path`, which must not exist, and opens it with `flags`. Returns its descriptor, or -1 with
// errno. `file` is what stands at the path, since the program may close the descriptor at once and reuse its number:
// then the file is made again. On a file system that gives a path another number than its open file, it is the latter.
inline int create_file(const char* path, int flags, mode_t mode, file_identity& file) noexcept {
    constexpr int most_tries = 4;
    for (int i = 1;; ++i) {
        int descriptor = -1;
        do {
            descriptor = ::open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        } while (descriptor < 0 && errno == EINTR);
        if (descriptor < 0) return -1;
        descriptor = above_standard_streams(descriptor);
        const int reason = errno;
        if (descriptor >= 0) {
            struct stat status {};
            file = ::lstat(path, &status) == 0 ? file_identity(status) : file_identity(descriptor);
            if (i == most_tries) file = file_identity(descriptor);
            if (file.is_still(descriptor)) return descriptor;
        }
        ::unlink(path);
        errno = reason;
        if (descriptor < 0 || i == most_tries) return -1;
    }
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
