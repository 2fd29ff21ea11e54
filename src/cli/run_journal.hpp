// SPDX-License-Identifier: Apache-2.0
// What the processes of a command report to its `prof run`, which is on the same machine: a file in a temporary
// directory of the run's own, whose path they have in PROF_RUN_JOURNAL. Processes that could not write a capture append
// the reason (session/process/journal_notes.hpp). An inner `prof run` undoes there what the outer one changed in the
// environment, and notes where its captures are. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prof {

// A variable of the environment as a run found it and as it left it.
struct changed_variable {
    std::string name;
    std::string value;
    std::optional<std::string> before;  // none: it was not set
};

struct journal_entries {
    std::map<int, std::string> losses;        // by process: why it has no capture
    std::set<std::string> gpu_tools;          // tools among the processes that use the GPU's interfaces themselves
    std::vector<std::string> inner_captures;  // the directories of inner runs
};

class run_journal {
public:
    run_journal();  // without a temporary directory there is no journal
    ~run_journal();
    run_journal(const run_journal&) = delete;
    run_journal& operator=(const run_journal&) = delete;

    // "": there is none.
    const std::string& path() const noexcept { return path_; }
    void keep(const std::vector<changed_variable>& changed) const;
    journal_entries read() const;

private:
    std::string directory_;
    std::string path_;
    int lock_ = -1;  // held on the directory
};

// In an inner run: gives the variables of this process back their values from before the outer run, unless the program
// has changed them since. Returns the path of the outer run's journal; "": there is no outer run.
std::string undo_outer_run();

// Notes in the outer run's journal that this run has its captures in `directory`.
void note_inner_run(const std::string& outer_journal, const std::string& directory);

// Removes what runs of this user that were killed have left in the temporary directory.
void remove_left_journals();

}  // namespace prof
