// SPDX-License-Identifier: Apache-2.0
// libprof as range_cost switches it: loaded at run time, after the module that must not reach it. One thread.
#pragma once

#include <prof/prof.h>

#include <cstdint>
#include <map>
#include <string>

namespace prof::bench {

class session_control {
public:
    // Loads `library` with its captures in `directory`, and makes it the tool of every NVTX initialised from now on.
    // Throws std::runtime_error.
    session_control(const std::string& library, const std::string& directory);

    void start() const;
    // Ends the recording and removes its capture. Throws if anything was dropped, or if the instances of a range differ
    // from `expected` (name → pairs).
    void stop(const std::map<std::string, std::uint64_t>& expected) const;

private:
    template <typename TFunction>
    void find(void* library, const char* name, TFunction*& out) const;
    void check(int result, const char* what) const;
    void check_counts(const std::map<std::string, std::uint64_t>& expected) const;

    decltype(prof_start)* start_ = nullptr;
    decltype(prof_stop)* stop_ = nullptr;
    decltype(prof_last_error)* last_error_ = nullptr;
    decltype(prof_capture_path)* capture_path_ = nullptr;
    decltype(prof_summary_open)* summary_open_ = nullptr;
    decltype(prof_summary_close)* summary_close_ = nullptr;
    decltype(prof_summary_row_count)* row_count_ = nullptr;
    decltype(prof_summary_get_row)* get_row_ = nullptr;
    decltype(prof_summary_dropped)* dropped_ = nullptr;
};

}  // namespace prof::bench
