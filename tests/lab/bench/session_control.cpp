// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/session_control.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace prof::bench {

template <typename TFunction>
void session_control::find(void* library, const char* name, TFunction*& out) const {
    out = reinterpret_cast<TFunction*>(dlsym(library, name));
    if (out == nullptr) throw std::runtime_error(dlerror());
}

session_control::session_control(const std::string& library, const std::string& directory) {
    setenv("PROF_AUTOSTART", "0", 1);
    setenv("PROF_EXPORT", "none", 1);
    setenv("PROF_OUTPUT_DIR", directory.c_str(), 1);
    setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
    void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (loaded == nullptr) throw std::runtime_error(dlerror());
    find(loaded, "prof_start", start_);
    find(loaded, "prof_stop", stop_);
    find(loaded, "prof_last_error", last_error_);
    find(loaded, "prof_capture_path", capture_path_);
    find(loaded, "prof_summary_open", summary_open_);
    find(loaded, "prof_summary_close", summary_close_);
    find(loaded, "prof_summary_row_count", row_count_);
    find(loaded, "prof_summary_get_row", get_row_);
    find(loaded, "prof_summary_dropped", dropped_);
}

void session_control::check(int result, const char* what) const {
    if (result != PROF_OK) throw std::runtime_error(std::string(what) + ": " + last_error_());
}

void session_control::start() const { check(start_(nullptr), "prof_start"); }

void session_control::stop(const std::map<std::string, std::uint64_t>& expected) const {
    check_counts(expected);
    check(stop_(), "prof_stop");
    std::string path(capture_path_(nullptr, 0), '\0');
    capture_path_(path.data(), path.size() + 1);
    std::filesystem::remove(path);
}

void session_control::check_counts(const std::map<std::string, std::uint64_t>& expected) const {
    const std::unique_ptr<prof_summary, decltype(summary_close_)> summary(summary_open_(), summary_close_);
    if (summary == nullptr) throw std::runtime_error(std::string("prof_summary_open: ") + last_error_());
    if (const std::uint64_t dropped = dropped_(summary.get()); dropped != 0) {
        throw std::runtime_error(std::to_string(dropped) + " records were dropped: the figures would be too low");
    }
    std::map<std::string, std::uint64_t> found;
    for (std::size_t i = 0; i < row_count_(summary.get()); ++i) {
        prof_summary_row row{};
        check(get_row_(summary.get(), i, &row, sizeof row), "prof_summary_get_row");
        if (row.instances != 0) found[row.path] += row.instances;
    }
    if (found == expected) return;
    std::string line = "the recording does not have the ranges that were made; it has";
    for (const auto& [path, instances] : found) line += " " + path + " " + std::to_string(instances);
    throw std::runtime_error(line);
}

}  // namespace prof::bench
