// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_inputs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "analysis/projection/native_lines.hpp"
#include "base/display_text.hpp"
#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/captures.hpp"
#include "cli/cli.hpp"
#include "cli/stream_copy.hpp"
#include "options/options.hpp"
#include "report/make_reports.hpp"
#include "timeline/load.hpp"

namespace prof {
namespace {

void add_directory(capture_inputs& inputs, const std::string& directory) {
    inputs.are_listed = false;
    try {
        const directory_captures found = captures_in(directory);
        if (found.files.empty())
            throw error("there is no capture (*.prof) in the directory " + directory +
                        ", and no trace (*.json, *.json.gz)");
        inputs.files.insert(inputs.files.end(), found.files.begin(), found.files.end());
        inputs.runs = std::max(inputs.runs, found.runs);
    } catch (const error& failure) {
        complain(failure.what());
        inputs.all_found = false;
    }
}

// "2026-03-01 12:30:59" of a time in CLOCK_REALTIME's nanoseconds.
std::string local_time(std::uint64_t time_ns) {
    const auto seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
    std::tm parts{};
    std::array<char, 32> out{};
    if (localtime_r(&seconds, &parts) == nullptr) return "an unknown time on";
    return {out.data(), std::strftime(out.data(), out.size(), "%Y-%m-%d %H:%M:%S", &parts)};
}

std::string description_of(const std::vector<run_capture>& run, const std::string& directory) {
    const auto first = std::min_element(
        run.begin(), run.end(), [](const run_capture& a, const run_capture& b) { return a.created_ns < b.created_ns; });
    const std::string processes =
        run.size() == 1 ? run.front().path : fmt::format("{} captures in {}", with_thousands(run.size()), directory);
    return fmt::format("newest run: {} ({})", processes, local_time(first->created_ns));
}

// `text` with `name` wherever it has `path`.
std::string renamed(std::string text, const std::string& path, const std::string& name) {
    for (std::size_t place = text.find(path); place != std::string::npos;
         place = text.find(path, place + name.size())) {
        text.replace(place, path.size(), name);
    }
    return text;
}

// A file that is named several times, by one name or by several, is one capture: else it would be several processes.
void remove_repeated(std::vector<std::string>& files) {
    std::map<std::pair<dev_t, ino_t>, std::string> known;
    std::erase_if(files, [&](const std::string& file) {
        struct stat status {};
        if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
        const auto [first, is_new] = known.try_emplace({status.st_dev, status.st_ino}, file);
        if (is_new) return false;
        complain(first->second == file ? file + " is named more than once; it is read once"
                                       : file + " is the same file as " + first->second + "; it is read once");
        return true;
    });
}

}  // namespace

std::string directory_of_runs() {
    const char* const place = std::getenv("PROF_OUTPUT_DIR");  // NOLINT(concurrency-mt-unsafe): one thread
    return place != nullptr && *place != '\0' ? place : session_options{}.output_dir;
}

capture_inputs named_captures(const std::vector<std::string>& words) {
    capture_inputs out;
    for (const std::string& word : words) {
        std::error_code failed;
        if (std::filesystem::is_directory(word, failed)) {
            add_directory(out, word);
        } else {
            out.files.push_back(word);
        }
    }
    remove_repeated(out.files);
    return out;
}

capture_inputs captures_or_newest_run(const std::vector<std::string>& words) {
    if (!words.empty()) return named_captures(words);
    const std::string directory = directory_of_runs();
    const std::vector<run_capture> run = captures_of_newest_run(directory);
    if (run.empty()) {
        throw usage_error("FILE is required, since there is no capture in " + directory +
                          "; `prof run -- command...` records one there");
    }
    complain(description_of(run, directory));
    capture_inputs out{.are_listed = false};
    for (const run_capture& capture : run) out.files.push_back(capture.path);
    return out;
}

bool is_stream(const std::string& file) {
    struct stat status {};
    return file == standard_input || (stat(file.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
}

timeline load_input(const std::string& file, const progress_display& progress) {
    const std::string name = file == standard_input ? "standard input" : file;
    progress_line reading(progress, "reading " + name);
    const auto load = [&](const std::string& path) {
        timeline out = load_capture(path, &reading, reading_thread::own);
        resolve_native_lines(out);
        return out;
    };
    if (!is_stream(file)) return load(file);
    const stream_copy copy(file);
    try {
        return load(copy.path());
    } catch (const error& failure) {
        throw error(renamed(failure.what(), copy.path(), name));
    }
}

}  // namespace prof
