// SPDX-License-Identifier: Apache-2.0
#include "cli/run_processes.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/number.hpp"
#include "base/short_file.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

std::vector<int> processes_of_run(const std::string& run_id) {
    const std::string variable = "PROF_RUN_ID=" + run_id;
    std::vector<int> out;
    std::error_code failed;
    // Not a range-for, whose step throws where the directory cannot be read any further.
    for (std::filesystem::directory_iterator at("/proc", failed), end; at != end && !failed; at.increment(failed)) {
        const auto pid = parse_number<int>(at->path().filename().native(), 1);
        const std::string file = at->path().string() + "/environ";
        if (!pid || access(file.c_str(), R_OK) != 0) continue;
        const std::string variables = text_of_file(file);
        const auto parts = split(variables, '\0');
        for (const std::string_view part : parts) {
            if (part != variable) continue;
            out.push_back(*pid);
            break;
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

std::vector<int> lasting_processes_of_run(const std::string& run_id) {
    constexpr int most_scans = 25;
    constexpr std::chrono::milliseconds between_scans{20};
    std::vector<int> out = processes_of_run(run_id);
    for (int i = 1; i < most_scans && !out.empty(); ++i) {
        std::this_thread::sleep_for(between_scans);
        out = processes_of_run(run_id);
    }
    return out;
}

}  // namespace prof
