// SPDX-License-Identifier: Apache-2.0
// The processes of a run that have not ended. Reads /proc. One thread.
#pragma once

#include <string>
#include <vector>

namespace prof {

// Those of this user that were started with the run's PROF_RUN_ID, and their forked children, by number. Helpers that
// end with the command, as those of Python's multiprocessing, are given a moment for that.
std::vector<int> lasting_processes_of_run(const std::string& run_id);

}  // namespace prof
