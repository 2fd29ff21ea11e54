// SPDX-License-Identifier: Apache-2.0
// A signal that starts the recording, or stops it (option control_signal). The handler runs on any thread of the
// program; it only wakes the control thread (control_server::raise), which does the work.
#pragma once

#include "base/outcome.hpp"
#include "control/server.hpp"

namespace prof {

// From now on the signal makes `server` call its `signalled`. Fails if the program has a handler of its own for the
// signal, or ignores it. A handler that the program sets later replaces libprof's. REQUIRES: called once; `server`
// lives for ever.
outcome watch_signal(int signal, control_server& server);

// In a forked child: the signal has its default action again. Takes no lock.
void leave_signal_in_child() noexcept;

}  // namespace prof
