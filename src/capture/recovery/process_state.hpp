// SPDX-License-Identifier: Apache-2.0
// Whether the process of a capture is still running, judged by its process number. Reads /proc. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace prof {

enum class process_state : std::uint8_t {
    unknown,  // it was on another machine
    running,
    gone,
};

// "" is taken for this machine.
bool is_this_host(const std::string& name);

// When the process with this number was started, in a form that no other process with the number has: the boot of the
// machine, and the time since then. "" if there is no such process. Throws std::bad_alloc.
std::string start_of_process(std::uint32_t pid);

// A process with the number is the capture's if it has its `start` (the property `process_start`). In older captures
// that is "": then a process that was started after `created_realtime_ns`, when the capture was made, is another one;
// if the clock was set since, that may be wrong. A zombie is gone. A container may not see the processes of another
// one.
process_state state_of_process(std::uint32_t pid, const std::string& start, std::uint64_t created_realtime_ns,
                               const std::string& host);

}  // namespace prof
