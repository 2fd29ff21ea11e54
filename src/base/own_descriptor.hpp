// Descriptors of ours in somebody else's program, which may close all that it does not know, as daemons do: its next
// file then gets our number. So before each use it is asked whether the number is our file's still (one fstat).
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace prof {

// Which file a descriptor was opened for.
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

// The same file under a number that no standard stream has, where the program runs without one of them. -1 and errno
// if there is none; `descriptor` is closed then.
inline int above_standard_streams(int descriptor) noexcept {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int above = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    return above;
}

// A descriptor with the file that it was opened for. Used by one thread, but that another may ask get(), as a signal's
// handler may.
class own_descriptor {
public:
    // Of a descriptor just opened; -1: none. Moved off the numbers of the standard streams.
    void take(int descriptor) noexcept {
        descriptor = above_standard_streams(descriptor);
        file_ = file_identity(descriptor);
        number_.store(descriptor);
    }
    // -1: there is none, or the program has closed it.
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
