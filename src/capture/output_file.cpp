// SPDX-License-Identifier: Apache-2.0
#include "capture/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/disk_watch.hpp"
#include "base/error.hpp"
#include "base/file_size_signal.hpp"

namespace prof {
namespace {

[[noreturn]] void throw_cannot_create(const std::string& path, int reason) {
    const char* advice = reason == EEXIST || reason == ELOOP
                             ? "an existing file is never overwritten, choose another name"
                             : "choose a directory that exists and can be written";
    throw error("cannot create capture " + path + ": " + std::generic_category().message(reason) + "; " + advice);
}

}  // namespace

output_file::output_file(const std::string& path, write_function write) : write_(write) {
    const disk_call call;
    descriptor_ = create_file(path.c_str(), O_RDWR, 0666, file_);
    if (descriptor_ < 0) throw_cannot_create(path, errno);
}

output_file::~output_file() {
    if (file_.is_still(descriptor_)) ::close(descriptor_);
}

bool output_file::is_removed() const noexcept {
    struct stat status {};
    return file_.is_still(descriptor_) && ::fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

bool output_file::is_at(const std::string& path) const noexcept {
    struct stat named {};
    struct stat ours {};
    return file_.is_still(descriptor_) && ::fstat(descriptor_, &ours) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

output_file::outcome output_file::write_all(std::span<const std::byte> bytes) noexcept {
    outcome result;
    const file_size_signal_guard guard;
    while (result.written < bytes.size()) {
        // Each time: a write that is cut short may have taken long, and the descriptor may be the program's since.
        if (!file_.is_still(descriptor_)) {
            result.error = EBADF;
            break;
        }
        const auto rest = bytes.subspan(result.written);
        const disk_call call;
        const ssize_t written = write_(descriptor_, rest.data(), rest.size());
        if (written > 0) {
            result.written += static_cast<std::size_t>(written);
        } else if (written == 0 || errno != EINTR) {
            // A write of 0 bytes gives no reason; trying again could loop for ever.
            result.error = written == 0 ? EIO : errno;
            break;
        }
    }
    return result;
}

// The check follows the read: the program may have closed the descriptor and reused its number for a file of its own.
int output_file::read_all(std::uint64_t offset, std::span<std::byte> destination) const noexcept {
    while (!destination.empty()) {
        const disk_call call;
        const ssize_t got = ::pread(descriptor_, destination.data(), destination.size(), static_cast<off_t>(offset));
        const int reason = got < 0 ? errno : EIO;
        if (!file_.is_still(descriptor_)) return EBADF;
        if (got > 0) {
            offset += static_cast<std::uint64_t>(got);
            destination = destination.subspan(static_cast<std::size_t>(got));
        } else if (reason != EINTR) {
            return reason;
        }
    }
    return 0;
}

int output_file::punch(std::uint64_t begin, std::uint64_t end, punch_function fallocate) noexcept {
    const disk_call call;
    int result = 0;
    do {
        if (!file_.is_still(descriptor_)) return EBADF;
        result = fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                           static_cast<off_t>(end - begin));
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

}  // namespace prof
