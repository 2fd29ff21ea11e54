// SPDX-License-Identifier: Apache-2.0
// The requesting side of the control socket. Used by one thread, which may block.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "control/protocol.hpp"

namespace prof {

inline constexpr std::chrono::milliseconds no_time_limit = std::chrono::milliseconds::max();

// Sends the request to process `pid`, which must be the user's own (for root, anyone's), and waits for the answer.
// Throws prof::error (one line) if there is none: no such process, no socket, no answer within `longest`, or the
// process ended.
control_answer ask_process(pid_t pid, const control_request& request, std::chrono::milliseconds longest);

// The calling user's processes that may have a socket, in ascending order. Removes the sockets of dead processes.
std::vector<pid_t> controlled_processes();

}  // namespace prof
