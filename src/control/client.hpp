// The asking side of the control socket. One thread; may wait.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "control/protocol.hpp"

namespace prof {

inline constexpr std::chrono::milliseconds no_time_limit = std::chrono::milliseconds::max();

// Asks the process `pid` of the user's (of any user's, for root) and waits for the answer. Throws prof::error, one
// line, if there is none: no such process, no socket, no answer within `longest`, or the process ended.
control_answer ask_process(pid_t pid, const control_request& request, std::chrono::milliseconds longest);

// Processes of the calling user's that may have a socket, in order. Sockets of processes that are gone are removed.
std::vector<pid_t> controlled_processes();

}  // namespace prof
