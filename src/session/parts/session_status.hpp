// SPDX-License-Identifier: Apache-2.0
// The state of a process's recording, for people and scripts: `prof ctl PID status`. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prof {

// In the order in which they follow each other. `paused` is without a plan, `between_windows` with one. A recording
// that has been stopped is `completing` until its capture and its exports are complete.
enum class recording_state { idle, recording, paused, between_windows, warming_up, completing };

std::string_view to_string(recording_state state) noexcept;

struct session_status {
    std::uint64_t pid = 0;
    std::string hostname;
    std::string command;
    std::string version;
    std::uint64_t loaded_ns = 0;  // since control was opened in this process
    recording_state state = recording_state::idle;
    std::uint64_t state_ns = 0;  // for how long it has been in that state
    bool is_waiting = false;     // while a window is open: nothing was recorded yet
    std::uint64_t steps = 0;     // begun in the recording; those that libprof observes, if the program counts none
    std::uint64_t step_ns = 0;   // mean length of the observed ones; 0: not known
    std::uint64_t windows = 0;   // opened in the recording
    std::string plan;            // "": none
    std::string awaited;         // what the plan waits for, if it has opened no window; "": it has, or there is none
    std::string gpu;             // whether GPU work is recorded, and why not
    bool records_gpu = false;
    std::uint64_t memory = 0;  // bytes, the option
    std::string rings;         // their file; "": anonymous memory
    // Of the capture of this recording, or of the latest.
    std::string capture;  // "": there is none
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::vector<std::pair<std::string, std::uint64_t>> dropped;  // by cause
};

std::string status_text(const session_status& status);  // lines "name  value"
std::string status_json(const session_status& status);  // one object on one line; times in seconds
std::string status_line(const session_status& status);  // for a list of processes

}  // namespace prof
