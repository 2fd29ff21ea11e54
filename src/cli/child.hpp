// SPDX-License-Identifier: Apache-2.0
// Runs the user's command as if `prof run` were not there: the same terminal, standard streams and process group. The
// command gets the signals that are sent to `prof run`, and its end is reported exactly.
//
// One command at a time, from the main thread. What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, hang-up) reaches the
// whole process group by itself and is not passed on a second time.
#pragma once

#include <string>
#include <vector>

namespace prof {

struct child_end {
    int pid = 0;
    int start_error = 0;  // errno if it could not be started at all, else 0
    int status = 0;       // its exit status, if it exited
    int signal = 0;       // the signal that killed it, else 0
    // INT, TERM, HUP or QUIT came meanwhile: what was to follow is not wanted any more.
    bool is_unwanted = false;
};

using environment = std::vector<std::string>;  // NAME=value

child_end run_child(const std::vector<std::string>& command, const environment& variables);

// Ends this process by the signal that ended the child, so that the caller of `prof run` gets the command's own status.
// Returns only if the signal cannot kill.
void die_by(int signal);

}  // namespace prof
