// SPDX-License-Identifier: Apache-2.0
#include "session/parts/export_bound.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "base/short_file.hpp"
#include "export/capture_files/exports.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t megabyte = 1U << 20;

// Some five seconds of one processor for a trace and a summary.
constexpr std::uint64_t largest_capture = 256 * megabyte;
// Measured: 2.2 bytes of memory for a byte of the capture. A compressed capture has a ninth of its bytes.
constexpr std::uint64_t memory_for_two_bytes = 5;
constexpr std::uint64_t bytes_for_a_compressed_one = 10;
constexpr std::uint64_t share_of_memory = 4;  // a quarter

std::optional<std::uint64_t> number_in(const std::string& path) {
    std::istringstream in(text_of_file(path));
    std::uint64_t number = 0;
    if (!(in >> number)) return std::nullopt;  // no such file, or "max"
    return number;
}

// The number in the line that begins with the word. Lines have a word, perhaps a colon, and a number.
std::optional<std::uint64_t> number_after(const std::string& path, const std::string& word) {
    std::istringstream in(text_of_file(path));
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string first;
        std::uint64_t number = 0;
        if (words >> first >> number && first == word) return number;
    }
    return std::nullopt;
}

struct group_files {
    const char* limit;
    const char* usage;
    const char* reclaimable;  // in memory.stat: pages of files, which are freed where memory is short
};
constexpr group_files unified = {"/memory.max", "/memory.current", "inactive_file"};
constexpr group_files separate = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};

std::uint64_t left_in_group(const std::string& directory, const group_files& files) {
    const auto limit = number_in(directory + files.limit);
    const auto usage = number_in(directory + files.usage);
    if (!limit || !usage) return unlimited;
    const std::uint64_t reclaimable =
        std::min(*usage, number_after(directory + "/memory.stat", files.reclaimable).value_or(0));
    const std::uint64_t used = *usage - reclaimable;
    return *limit > used ? *limit - used : 0;
}

// In the group and in all groups around it. A container may not see the beginning of the group's name: then the mount
// is the group.
std::uint64_t left_in_groups(const std::string& mount, std::string group, const group_files& files) {
    std::uint64_t left = left_in_group(mount, files);
    while (!group.empty() && group != "/") {
        left = std::min(left, left_in_group(mount + group, files));
        group.resize(group.rfind('/'));
    }
    return left;
}

}  // namespace

std::uint64_t memory_left(const std::string& root) {
    constexpr std::uint64_t kilobyte = 1024;
    std::uint64_t left = unlimited;
    if (const auto available = number_after(root + "/proc/meminfo", "MemAvailable:")) left = *available * kilobyte;
    std::istringstream in(text_of_file(root + "/proc/self/cgroup"));
    for (std::string line; std::getline(in, line);) {
        // number:controllers:group
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const std::string group = line.substr(second + 1);
        const std::string mounts = root + "/sys/fs/cgroup";
        if (controllers == ",,") left = std::min(left, left_in_groups(mounts, group, unified));
        if (controllers.find(",memory,") != std::string::npos) {
            left = std::min(left, left_in_groups(mounts + "/memory", group, separate));
        }
    }
    return left;
}

outcome check_size_to_read(std::uint64_t stored_bytes, bool is_compressed, std::uint64_t left) {
    const std::uint64_t bytes = is_compressed ? stored_bytes * bytes_for_a_compressed_one : stored_bytes;
    const std::uint64_t wanted = bytes / 2 * memory_for_two_bytes;
    const std::string size = std::to_string(stored_bytes / megabyte) + " MB";
    if (bytes > largest_capture) return outcome::failed("it has " + size);
    if (wanted <= left / share_of_memory) return {};
    return outcome::failed("it has " + size + ", and " + std::to_string(left / megabyte) + " MB of memory are left");
}

// By its blocks: a capture of which only the latest part is kept has a hole.
outcome check_size_to_read(const std::string& capture_path, bool is_compressed) {
    constexpr std::uint64_t block = 512;
    struct stat status {};
    if (stat(capture_path.c_str(), &status) != 0) return {};
    return check_size_to_read(static_cast<std::uint64_t>(status.st_blocks) * block, is_compressed, memory_left());
}

outcome write_bounded_exports(const session_options& options, const std::string& capture_path, std::string* refusal) {
    if (!options.exports.any_of_process()) return {};
    const outcome fits = check_size_to_read(capture_path, options.compress);
    if (fits.ok()) return write_exports(options, capture_path);
    std::string line = capture_path + ": exports are skipped inside the program: " + fits.message() +
                       "; `prof export` and `prof report` make them";
    warn_once(line);
    if (refusal != nullptr) *refusal = std::move(line);
    return {};
}

}  // namespace prof
