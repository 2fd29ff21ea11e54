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
#include "base/mount_namespace.hpp"
#include "base/own_descriptor.hpp"
#include "capture/format.hpp"
#include "capture/recovery/seal.hpp"
#include "ring/region_layout.hpp"

namespace prof {
namespace {

// Who started the process may be about to seal its capture, and knows how it ended.
constexpr std::time_t left_after_seconds = 10;
// A capture that is not where it was may have been moved, and needs its rings there.
constexpr std::time_t missed_after_seconds = 86'400;  // a day
// The owner's right to execute the file, which has no other use here. The time of the change is when it was set.
constexpr mode_t has_no_capture = S_IXUSR;

struct left_file {
    std::uint32_t pid = 0;
    std::array<std::uint8_t, 16> id{};
    std::string capture;  // "": none was made
    std::uint64_t mount_namespace = 0;
    struct stat status {};
};

bool is_dead(std::uint32_t pid) noexcept { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

// Fills `out` if the file is of this user, of a process that is gone, and of this version.
bool read_left_file(const std::string& path, left_file& out) {
    own_descriptor file;
    file.take(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const int number = file.get();
    std::array<char, 8> magic{};
    std::array<char, region_capture_path_bytes> capture{};
    std::uint32_t version = 0;
    const auto get = [&](auto& field, std::size_t offset) {
        return pread(number, &field, sizeof field, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof field);
    };
    const bool is_left = number >= 0 && fstat(number, &out.status) == 0 && S_ISREG(out.status.st_mode) &&
                         out.status.st_uid == geteuid() && get(magic, offsetof(region_header, magic)) &&
                         magic == region_magic && get(version, offsetof(region_header, version)) &&
                         version == region_version && get(out.pid, offsetof(region_header, pid)) &&
                         get(out.id, offsetof(region_header, id)) &&
                         get(out.mount_namespace, offsetof(region_header, mount_namespace)) &&
                         get(capture, offsetof(region_header, capture_path)) && capture.back() == '\0' &&
                         out.pid != 0 && is_dead(out.pid) && flock(number, LOCK_EX | LOCK_NB) == 0;
    file.close();
    if (is_left) out.capture = capture.data();
    return is_left;
}

bool is_its_capture(const left_file& left, struct stat& found) {
    if (left.capture.front() != '/' || lstat(left.capture.c_str(), &found) != 0 || !S_ISREG(found.st_mode))
        return false;
    std::array<std::uint8_t, 16> id{};
    own_descriptor file;
    file.take(open(left.capture.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const bool has_id = file.get() >= 0 && pread(file.get(), &id, sizeof id, offsetof(format::file_header, id)) ==
                                               static_cast<ssize_t>(sizeof id);
    file.close();
    return has_id && id == left.id;
}

// True if the capture has been missing for long, in the only place where it can be looked for.
bool is_missed(const std::string& path, const left_file& left, std::time_t now) {
    if (left.mount_namespace == 0 || left.mount_namespace != mount_namespace()) return false;
    const bool is_marked = (left.status.st_mode & has_no_capture) != 0;
    if (!is_marked) (void)chmod(path.c_str(), S_IRUSR | S_IWUSR | has_no_capture);
    return is_marked && left.status.st_ctime < now - missed_after_seconds;
}

// True if the file is not needed any more.
bool clean(const std::string& path, const left_file& left, std::time_t now, cleaned_rings& out) {
    struct stat capture {};
    if (left.capture.empty() || !is_its_capture(left, capture)) {
        if (!left.capture.empty() && !is_missed(path, left, now)) return false;
        ++out.removed;
        return unlink(path.c_str()) == 0;
    }
    if (capture.st_mtime > now - left_after_seconds) return false;
    const sealing done = seal_capture(left.capture, 0);
    if (done.result == seal_result::is_running) return false;
    if (done.result == seal_result::was_closed) remove_rings(left.capture);
    const bool is_sealed = done.result == seal_result::sealed;
    is_sealed ? ++out.sealed : ++out.removed;
    return true;
}

}  // namespace

cleaned_rings clean_left_rings(const std::string& directory, std::time_t now) {
    constexpr std::uint64_t block = 512;
    cleaned_rings out;
    std::error_code failed;
    std::filesystem::directory_iterator at(directory, failed);
    for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
        const std::string name = at->path().filename().string();
        left_file left;
        if (!name.starts_with("libprof-") || !name.ends_with(".rings")) continue;
        if (!read_left_file(at->path().string(), left)) continue;
        try {
            if (clean(at->path().string(), left, now, out)) {
                out.bytes += static_cast<std::uint64_t>(left.status.st_blocks) * block;
            }
        } catch (const error&) {
            // The capture is damaged or cannot be written: prof seal says why.
        }
    }
    return out;
}

}  // namespace prof
