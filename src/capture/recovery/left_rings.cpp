// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/left_rings.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/own_descriptor.hpp"
#include "capture/recovery/process_state.hpp"
#include "capture/recovery/seal.hpp"
#include "ring/region_layout.hpp"

namespace prof {
namespace {

// Who started the process may be about to seal its capture, and knows how it ended.
constexpr std::time_t left_after_seconds = 10;

struct left_file {
    std::uint32_t pid = 0;
    std::string capture;  // "": none was made
    std::uint64_t bytes = 0;
};

bool is_dead(std::uint32_t pid) noexcept { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

// Fills `out` if the file is of this user, of a process that is gone, and of this version.
bool read_left_file(const std::string& path, left_file& out) {
    constexpr std::uint64_t block = 512;
    own_descriptor file;
    file.take(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const int number = file.get();
    struct stat status {};
    std::array<char, 8> magic{};
    std::array<char, region_capture_path_bytes> capture{};
    std::uint32_t version = 0;
    const auto get = [&](auto& to, std::size_t offset) {
        return pread(number, &to, sizeof to, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof to);
    };
    const bool is_left = number >= 0 && fstat(number, &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_uid == geteuid() && get(magic, offsetof(region_header, magic)) &&
                         magic == region_magic && get(version, offsetof(region_header, version)) &&
                         version == region_version && get(out.pid, offsetof(region_header, pid)) &&
                         get(capture, offsetof(region_header, capture_path)) && capture.back() == '\0' &&
                         out.pid != 0 && is_dead(out.pid) && flock(number, LOCK_EX | LOCK_NB) == 0;
    file.close();
    out.capture = capture.data();
    out.bytes = static_cast<std::uint64_t>(status.st_blocks) * block;
    return is_left;
}

// The path may be one that only the process could see, in a container: its file would have that machine's name.
bool is_gone_for_good(const left_file& left) {
    char host[256] = {};
    if (gethostname(host, sizeof host - 1) != 0) return false;
    const std::string own = std::string(".").append(host).append("-") + std::to_string(left.pid) + ".";
    const std::filesystem::path path(left.capture);
    std::error_code failed;
    return path.filename().string().find(own) != std::string::npos &&
           std::filesystem::exists(path.parent_path().parent_path(), failed);
}

// True if the file is not needed any more.
bool clean(const std::string& path, const left_file& left, cleaned_rings& out) {
    struct stat capture {};
    const bool has_capture = !left.capture.empty() && lstat(left.capture.c_str(), &capture) == 0;
    if (!has_capture) {
        if (!left.capture.empty() && (errno != ENOENT || !is_gone_for_good(left))) return false;
        ++out.removed;
        return unlink(path.c_str()) == 0;
    }
    if (capture.st_mtime > std::time(nullptr) - left_after_seconds) return false;
    const sealing done = seal_capture(left.capture, 0);
    if (done.result == seal_result::is_running) return false;
    if (done.result == seal_result::was_closed) remove_rings(left.capture);
    const bool is_sealed = done.result == seal_result::sealed;
    is_sealed ? ++out.sealed : ++out.removed;
    return true;
}

}  // namespace

cleaned_rings clean_left_rings(const std::string& directory) {
    cleaned_rings out;
    std::error_code failed;
    std::filesystem::directory_iterator at(directory, failed);
    for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
        const std::string name = at->path().filename().string();
        left_file left;
        if (!name.starts_with("libprof-") || !name.ends_with(".rings")) continue;
        if (!read_left_file(at->path().string(), left)) continue;
        try {
            if (clean(at->path().string(), left, out)) out.bytes += left.bytes;
        } catch (const error&) {
            // The capture is damaged or cannot be written: prof seal says why.
        }
    }
    return out;
}

}  // namespace prof
