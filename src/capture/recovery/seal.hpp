// Closes the capture of a process that died: appends what its rings and CUPTI's buffers still hold and an end chunk,
// then removes the rings' file, and copies, dumps and traces that the process had begun beside the capture. Afterwards
// the capture stands alone: it may be copied, and the machine switched off.
//
// Only for the dead: a process that still runs keeps a lock on its rings' file, and is found in /proc. One sealer at a
// time (a lock on the capture). May be killed at any point and run again: what was appended is known to be there.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

// format::end_entry::how; 0: not known.
constexpr std::uint32_t ended_by_signal(int signal) noexcept { return static_cast<std::uint32_t>(signal); }
constexpr std::uint32_t ended_with_status(int status) noexcept { return 256U + static_cast<std::uint32_t>(status); }

enum class seal_result : std::uint8_t {
    sealed,
    was_closed,  // in good order, or sealed before
    is_running,  // its process is, or somebody else is sealing it
};

struct sealing {
    seal_result result = seal_result::was_closed;
    std::string outcome;  // one line: what was recovered, or who is running
};

// Throws prof::error when the file is no capture, or cannot be written: then it is as it was.
sealing seal_capture(const std::string& path, std::uint32_t how);

// Removes what a process left that died between two recordings, or while it made an export: it has closed captures and
// rings. REQUIRES: each of its
// captures is closed, or what its rings hold for that is lost. A living process's stay. Throws prof::error.
void remove_rings(const std::string& path);

}  // namespace prof
