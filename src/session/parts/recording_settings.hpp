// SPDX-License-Identifier: Apache-2.0
// The options of the session and facts about its process: what the environment contained at first, what was set since,
// and what the present recording uses.
//
// Options are immutable snapshots: a thread that has one keeps it while another thread changes options. A change
// replaces the snapshot. So no lock is held while options are read, and the background threads need none.
//
// Any thread. Its lock is one of the last (lock_order.hpp) and is held for a few copies at most.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"
#include "options/options.hpp"
#include "session/process/process.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

struct heritage;

// What can no longer change in this process.
struct fixed_settings {
    bool rings = false;  // they are made: their size and place
    bool cupti = false;  // a libcupti is loaded
};

class recording_settings {
public:
    using snapshot = std::shared_ptr<const session_options>;

    // From the environment, or in a forked child from its parent.
    recording_settings(const heritage* inherited, bool may_use_gpu);

    // Of recordings that are started without options.
    snapshot environment() PROF_EXCLUDES(mutex_);
    // prof_autostart was called. Returns environment() after it.
    snapshot note_autostart() PROF_EXCLUDES(mutex_);
    // Of this recording, or of the latest.
    snapshot options() PROF_EXCLUDES(mutex_);
    process_facts facts() PROF_EXCLUDES(mutex_);
    // Directories in which CUDA may be installed.
    std::vector<std::string> toolkits() PROF_EXCLUDES(mutex_);

    // Reads the environment's facts. REQUIRES: a thread of the program calls it (process.hpp).
    void read_environment() PROF_EXCLUDES(mutex_);
    // A recording begins with these options.
    void begin(const session_options& options) PROF_EXCLUDES(mutex_);
    // A forked child's recording begins, with the options that it has already. `directory`: where the parent's
    // recording began; "": not known.
    void begin_in_child(const std::string& directory) PROF_EXCLUDES(mutex_);

    // Applies "name=value" settings to `out`. Refuses an option that this process cannot change any more.
    static outcome merge(std::span<const std::string> settings, const fixed_settings& fixed, session_options& out);
    // Sets them for the next recording, all or none. While one runs (`is_recording`) only options that are read at its
    // end are accepted, and set for that too.
    outcome set(std::span<const std::string> settings, const fixed_settings& fixed, bool is_recording)
        PROF_EXCLUDES(mutex_);

private:
    environment_facts facts_of_environment() PROF_EXCLUDES(mutex_);

    session_mutex mutex_;
    snapshot environment_ PROF_GUARDED_BY(mutex_);
    snapshot options_ PROF_GUARDED_BY(mutex_);
    environment_facts environment_facts_ PROF_GUARDED_BY(mutex_);
    process_facts facts_ PROF_GUARDED_BY(mutex_);
};

}  // namespace prof
