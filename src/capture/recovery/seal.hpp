// SPDX-License-Identifier: Apache-2.0
// Seals the capture of a process that died: appends what its rings and CUPTI's buffers still hold, and an end chunk.
// Then it removes the rings' file, unless that belongs to a later capture of the process, and unfinished copies, dumps
// and traces beside the capture. Afterwards the capture needs nothing else: it can be copied, and the machine may be
// switched off. Of a capture that is closed already only these files are removed.
//
// Works on dead processes only: a running process holds a lock on its rings' file and is found in /proc. A lock on the
// capture admits one sealer at a time. Sealing may be killed at any point and repeated: chunks that were already
// appended are recognised.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

// Values of format::end_entry::how; 0: unknown.
constexpr std::uint32_t ended_by_signal(int signal) noexcept { return static_cast<std::uint32_t>(signal); }
constexpr std::uint32_t ended_with_status(int status) noexcept { return 256U + static_cast<std::uint32_t>(status); }

enum class seal_result : std::uint8_t {
    sealed,
    was_closed,  // closed by its process, or sealed before
    is_running,  // its process is running, or another process is sealing it
};

struct sealing {
    seal_result result = seal_result::was_closed;
    std::string outcome;  // one line: what was recovered, or which process is running
};

// Throws prof::error if the file is no capture or cannot be written; then it is unchanged.
sealing seal_capture(const std::string& path, std::uint32_t how);

// Removes the rings, and unfinished files beside the captures, of a process that died between two recordings or during
// an export. `path`: one of its captures. Does nothing if the process is running. REQUIRES: each capture of the process
// is closed; what the rings hold for an open one is lost. Throws prof::error.
void remove_rings(const std::string& path);

}  // namespace prof
