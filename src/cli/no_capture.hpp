// SPDX-License-Identifier: Apache-2.0
// Why a run has left no capture, in one line. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/child.hpp"
#include "cli/executable.hpp"
#include "cli/run_journal.hpp"

namespace prof {

struct run_facts {
    std::string directory;  // of the captures
    child_end end;
    executable program;
    journal_entries journal;
    std::vector<int> running;     // processes of the run that have not ended
    std::string without_window;   // no_window_text
    std::string python_isolated;  // python_isolation_text
};

// "no capture: …"
std::string no_capture_text(const run_facts& facts);

// "" unless the command is Python with -I, -E or -S.
std::string python_isolation_text(std::span<const std::string> command);

// "process 12 still runs …", "processes 12, 13 and 7 more still run …"; "" without any.
std::string still_runs_text(const run_facts& facts);

}  // namespace prof
