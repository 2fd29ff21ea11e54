// SPDX-License-Identifier: Apache-2.0
// On which file systems the rings may lie, and whether there is room.
#pragma once

#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace prof {

// Whether, on file systems of this kind (f_type of statfs(2)), a page that fallocate() has given storage can always be
// written. On others such a write raises SIGBUS once the disk is full: because each write goes to new blocks (btrfs,
// ZFS, bcachefs), or because the blocks are on a server. The file system below an overlay is unknown. So a directory on
// an overlay is used only if the user named it.
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
