// SPDX-License-Identifier: Apache-2.0
#include "cli/run_processes.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/number.hpp"
#include "base/short_file.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

// Whether an environment that was read as empty is. Within execve() it is not: the process has a new address space, and
// the kernel has not noted yet where the environment is. A kernel's thread and a zombie have no address space.
bool is_without_environment(const std::string& directory) {
    constexpr std::size_t first_field = 3;  // the first one behind the name, which may contain spaces
    constexpr std::size_t address_space = 23 - first_field;
    constexpr std::size_t environment_begin = 50 - first_field;
    constexpr std::size_t environment_end = 51 - first_field;
    const std::string text = text_of_file(directory + "/stat");
    const std::size_t name_end = text.rfind(") ");
    if (name_end == std::string::npos) return true;
    std::vector<std::string_view> fields;
    const auto parts = split(std::string_view{text}.substr(name_end + 2), ' ');
    for (const std::string_view part : parts) fields.push_back(part);
    if (fields.size() <= environment_end || fields[address_space] == "0") return true;
    return fields[environment_end] != "0" && fields[environment_end] == fields[environment_begin];
}

// "" for a process of another user, and one that has ended.
std::string environment_of_process(const std::string& directory) {
    constexpr int most_looks = 50;
    constexpr std::chrono::milliseconds between_looks{1};
    for (int i = 1;; ++i) {
        std::ifstream file(directory + "/environ", std::ios::binary);
        std::string out(std::istreambuf_iterator<char>(file), {});
        if (!out.empty() || !file.is_open() || i == most_looks || is_without_environment(directory)) return out;
        std::this_thread::sleep_for(between_looks);
    }
}

std::vector<int> processes_of_run(const std::string& run_id) {
    const std::string variable = "PROF_RUN_ID=" + run_id;
    std::vector<int> out;
    std::error_code failed;
    // Not a range-for, whose step throws where the directory cannot be read any further.
    for (std::filesystem::directory_iterator at("/proc", failed), end; at != end && !failed; at.increment(failed)) {
        const auto pid = parse_number<int>(at->path().filename().native(), 1);
        if (!pid) continue;
        const std::string variables = environment_of_process(at->path().string());
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

// A scan may miss a process that executes another program just then.
std::vector<int> seen_processes_of_run(const std::string& run_id) {
    constexpr int most_scans = 3;
    std::vector<int> out;
    for (int i = 0; i < most_scans && out.empty(); ++i) out = processes_of_run(run_id);
    return out;
}

}  // namespace

std::vector<int> lasting_processes_of_run(const std::string& run_id) {
    constexpr int most_scans = 25;
    constexpr std::chrono::milliseconds between_scans{20};
    std::vector<int> out = seen_processes_of_run(run_id);
    for (int i = 1; i < most_scans && !out.empty(); ++i) {
        std::this_thread::sleep_for(between_scans);
        out = seen_processes_of_run(run_id);
    }
    return out;
}

}  // namespace prof
