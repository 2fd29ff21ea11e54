// SPDX-License-Identifier: Apache-2.0
// Control of the running process from outside, as docs/guide/control.md describes: `prof ctl` over a private socket
// (control/server.hpp), and a signal that starts and stops.
//
// Commands run on a thread of libprof's, one after the other; a status is answered at once. The program's threads wait
// for none of it.
#pragma once

#include "options/options.hpp"

namespace prof {

// At the process's first use of NVTX, of CUDA, or of prof_start; later calls do nothing. Setup code: a few system calls
// and a thread. Any thread.
void open_control() noexcept;
bool is_control_open() noexcept;  // or has been
// Whether control begins with the session. Otherwise it begins with the first record, or with the first step, watched
// range or use of CUDA of a recording whose plan has opened no window yet.
bool is_control_asked_for(const session_options& options) noexcept;

// At exit, in this order, before and after the recording is completed: no command begins any more; then answers that
// are ready are sent, and the socket is removed.
void refuse_control();
void close_control();
// Ends control's threads until wake_control(): clients wait. False, with nothing changed: a command is under way, or
// the user asked for control. Any thread.
bool rest_control() noexcept;
void wake_control() noexcept;
// As close_control(), but waits only if a command is under way.
void hurry_control();
// Instead, where a signal's handler exits: removes the socket, and answers nothing any more. Takes no lock.
void leave_control() noexcept;

// In a forked child, from pthread_atfork: the socket and the signal stay the parent's. The child has neither.
void abandon_control_in_child() noexcept;

}  // namespace prof
