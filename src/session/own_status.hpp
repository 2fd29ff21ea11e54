// SPDX-License-Identifier: Apache-2.0
// The status of this process: what `prof ctl PID status` and prof_get_status give.
#pragma once

#include "base/outcome.hpp"
#include "session/parts/session_status.hpp"

namespace prof {

// Control was opened: status counts the time from here.
void note_control_opened() noexcept;

// Reads the status. Waits for at most a second while a window is opened or ended, then fails. Any thread that holds no
// lock of the session.
result<session_status> read_own_status();

// Adds which process it is. Reads /proc. Any thread.
void add_process(session_status& status);

}  // namespace prof
