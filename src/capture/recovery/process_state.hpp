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

// A process that was started after `created_realtime_ns`, when the capture was made, is another one, and a zombie is
// gone. A container may not see the processes of another one.
process_state state_of_process(std::uint32_t pid, std::uint64_t created_realtime_ns, const std::string& host);

}  // namespace prof
