// On which file systems the rings may lie, and whether there is room.
#pragma once

#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace prof {

// Whether a page that fallocate() has given storage can always be written to, on file systems of this kind (statfs(2),
// f_type). Elsewhere that is a SIGBUS once the disk is full: where each write goes to new blocks (btrfs, ZFS,
// bcachefs), or the blocks are a server's. What lies below an overlay is not known: there a directory is used only if
// it was asked for by name.
constexpr bool keeps_allocated_blocks(std::int64_t file_system, bool is_asked_for) noexcept {
    constexpr std::int64_t tmpfs = 0x01021994;
    constexpr std::int64_t ext4 = 0xEF53;
    constexpr std::int64_t xfs = 0x58465342;
    constexpr std::int64_t overlay = 0x794C7630;
    return file_system == tmpfs || file_system == ext4 || file_system == xfs ||
           (file_system == overlay && is_asked_for);
}

inline bool has_room(const struct statfs& status, std::size_t bytes) noexcept {
    if (status.f_blocks == 0) return true;  // a tmpfs without a limit
    return static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize) >= bytes;
}

inline bool has_room(const std::string& directory, std::size_t bytes) noexcept {
    struct statfs status {};
    return statfs(directory.c_str(), &status) == 0 && has_room(status, bytes);
}

}  // namespace prof
