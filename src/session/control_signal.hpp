// A signal that starts the recording, or stops it (option control_signal).
#pragma once

#include <string>

#include "control/server.hpp"

namespace prof {

// From now on the signal makes `server` call its `signalled`. Refused if the program has a handler of its own for it,
// or ignores it; one that it sets later takes the signal away from us. Returns "" or one line. Once; `server` stays.
std::string watch_signal(int signal, control_server& server);

// The signal does again what it did before.
void leave_signal_in_child() noexcept;

}  // namespace prof
