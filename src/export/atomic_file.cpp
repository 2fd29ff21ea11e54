// SPDX-License-Identifier: Apache-2.0
#include "export/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"
#include "base/file_size_signal.hpp"
#include "export/gzip_stream.hpp"

namespace prof {
namespace {

// A terminal, a pipe or /dev/null. It is written in place, since a rename would replace it by a regular file.
bool is_special_file(const struct stat& status) noexcept {
    return !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

atomic_file::atomic_file(std::string path, unsigned compressing_threads, bool is_hidden) : path_(std::move(path)) {
    if (path_.ends_with(".gz")) gzip_ = std::make_unique<gzip_stream>(compressing_threads);
    struct stat status {};
    const bool exists = stat(path_.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) fail("create", EISDIR);
    if (exists && is_special_file(status)) {
        descriptor_ = above_standard_streams(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        file_ = file_identity(descriptor_);
    } else {
        temporary_path_ = path_ + ".tmp-" + std::to_string(getpid());
        if (is_hidden) temporary_path_.insert(path_.rfind('/') + 1, ".");  // without a slash: at the beginning
        // A leftover of a killed process with the same pid. No other process uses this name.
        unlink(temporary_path_.c_str());
        descriptor_ = create_file(temporary_path_.c_str(), O_WRONLY, 0666, file_);
    }
    if (descriptor_ < 0) fail("create", errno);
}

atomic_file::~atomic_file() {
    if (descriptor_ < 0) return;
    if (file_.is_still(descriptor_)) close(descriptor_);
    if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

void atomic_file::fail(const char* what, int error_number) const {
    const std::string why =
        error_number == EBADF ? "the program closed it" : std::generic_category().message(error_number);
    throw file_error(std::string("cannot ") + what + " " + path_ + ": " + why, error_number);
}

void atomic_file::write(std::string_view bytes) {
    if (gzip_) {
        gzip_->compress(bytes, false, [this](std::string_view piece) { write_plain(piece); });
    } else {
        write_plain(bytes);
    }
}

void atomic_file::write_plain(std::string_view bytes) {
    const file_size_signal_guard guard;
    while (!bytes.empty()) {
        if (!file_.is_still(descriptor_)) fail("write", EBADF);
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            fail("write", errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void atomic_file::commit() {
    if (gzip_) {
        gzip_->compress({}, true, [this](std::string_view piece) { write_plain(piece); });
    }
    if (!file_.is_still(descriptor_)) fail("write", EBADF);
    const int descriptor = descriptor_;
    descriptor_ = -1;
    // A network file system may report a full disk only here.
    bool done = close(descriptor) == 0;
    if (temporary_path_.empty()) {
        if (!done) fail("write", errno);
        return;
    }
    done = done && rename(temporary_path_.c_str(), path_.c_str()) == 0;
    if (!done) {
        const int error_number = errno;
        unlink(temporary_path_.c_str());
        fail("write", error_number);
    }
}

}  // namespace prof
