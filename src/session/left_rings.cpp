// SPDX-License-Identifier: Apache-2.0
#include "session/left_rings.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/number.hpp"

namespace prof {
namespace {

// The PID in libprof-PID-XXXXXXXX.rings (ring/region.cpp).
std::optional<pid_t> pid_in(std::string_view name) {
    constexpr std::string_view prefix = "libprof-";
    if (!name.starts_with(prefix) || !name.ends_with(".rings")) return std::nullopt;
    name.remove_prefix(prefix.size());
    const auto pid = take_number<std::int32_t>(name);
    return pid && *pid > 0 && name.starts_with('-') ? std::optional<pid_t>(*pid) : std::nullopt;
}

bool is_dead(pid_t pid) noexcept { return kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

// Not by std::filesystem's iterator, which ends the process where there is no memory for a path.
std::string left_rings_notice(const std::string& own) {
    constexpr std::uint64_t block = 512;
    constexpr std::uint64_t bytes_of_a_megabyte = 1U << 20;
    if (own.empty()) return {};
    const std::string directory = own.substr(0, own.rfind('/'));
    const std::unique_ptr<DIR, int (*)(DIR*)> open_directory{opendir(directory.c_str()), closedir};
    if (open_directory == nullptr) return {};
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    while (const dirent* const entry = readdir(open_directory.get())) {
        const auto pid = pid_in(entry->d_name);
        struct stat status {};
        if (!pid || !is_dead(*pid)) continue;
        if (fstatat(dirfd(open_directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) continue;
        ++files;
        bytes += static_cast<std::uint64_t>(status.st_blocks) * block;
    }
    if (files == 0) return {};
    return "processes that died have left " + std::to_string(files) + (files == 1 ? " file" : " files") +
           " of rings with " + std::to_string((bytes + bytes_of_a_megabyte - 1) / bytes_of_a_megabyte) + " MB in " +
           directory + ": the next `prof run`, or `prof seal` of their captures, puts them there and frees the memory";
}

}  // namespace prof
