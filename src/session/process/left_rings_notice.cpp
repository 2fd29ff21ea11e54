// SPDX-License-Identifier: Apache-2.0
#include "session/process/left_rings_notice.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/directory_names.hpp"
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

std::string left_rings_notice(const std::string& own) {
    constexpr std::uint64_t block = 512;
    constexpr std::uint64_t bytes_of_a_megabyte = 1U << 20;
    if (own.empty()) return {};
    const std::string directory = own.substr(0, own.rfind('/'));
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    see_names_in(directory, [&](int descriptor, const char* name) {
        const auto pid = pid_in(name);
        struct stat status {};
        if (!pid || !is_dead(*pid) || fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return;
        ++files;
        bytes += static_cast<std::uint64_t>(status.st_blocks) * block;
    });
    if (files == 0) return {};
    return "processes that died have left " + std::to_string(files) + (files == 1 ? " file" : " files") +
           " of rings with " + std::to_string((bytes + bytes_of_a_megabyte - 1) / bytes_of_a_megabyte) + " MB in " +
           directory +
           ": `prof seal` of their captures writes them into these and frees the memory; without captures they can be "
           "deleted";
}

}  // namespace prof
