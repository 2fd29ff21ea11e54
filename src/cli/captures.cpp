// SPDX-License-Identifier: Apache-2.0
#include "cli/captures.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "capture/opening.hpp"
#include "capture/reader.hpp"
#include "timeline/kineto/read_trace.hpp"

namespace prof {
namespace {

constexpr std::uint64_t start_of_ranks_ns = 120'000'000'000;  // within this time the ranks of a job begin

std::string text(const property_map& properties, const std::string& key) {
    const auto found = properties.find(key);
    return found == properties.end() ? std::string() : found->second;
}

std::uint64_t number(const property_map& properties, const std::string& key) {
    return parse_number<std::uint64_t>(text(properties, key)).value_or(0);
}

// Nullopt if it cannot be read.
std::optional<run_capture> capture_at(const std::string& path) {
    try {
        capture_reader reader(path);
        const property_map properties = opening_properties(reader);
        return run_capture{.path = path,
                           .host = text(properties, "hostname"),
                           .run_id = text(properties, "run_id"),
                           .rank = number(properties, "rank"),
                           .world_size = number(properties, "world_size"),
                           .pid = number(properties, "pid"),
                           .created_ns = reader.header().created_realtime_ns,
                           .forked_from = number(properties, "forked_from")};
    } catch (const error&) {
        return std::nullopt;
    }
}

// The regular files whose path `is_wanted` accepts.
template <typename TIsWanted>
std::vector<std::string> files_in(const std::string& directory, std::error_code& failed, TIsWanted&& is_wanted) {
    std::vector<std::string> out;
    // Not a range-for, whose step throws where the directory cannot be read any further.
    for (std::filesystem::directory_iterator at(directory, failed), end; at != end && !failed; at.increment(failed)) {
        std::error_code unknown;
        std::string path = at->path().string();
        // A link to nothing is named when it is read, as a file that is damaged is.
        const bool is_lost = at->is_symlink(unknown) && !at->exists(unknown);
        if ((at->is_regular_file(unknown) || is_lost) && is_wanted(path)) out.push_back(std::move(path));
    }
    return out;
}

std::vector<std::string> capture_files_in(const std::string& directory, std::error_code& failed) {
    return files_in(directory, failed, [](const std::string& path) { return path.ends_with(".prof"); });
}

// Numbers in the names in the order of their values: the ranks' traces have them. Beside traces those that are no JSON
// at all are damaged ones, and last; other JSON is something else's. Alone they are none.
std::vector<std::string> trace_files_in(const std::string& directory) {
    std::error_code failed;
    std::vector<std::string> out = files_in(directory, failed, [](const std::string& path) {
        return path.ends_with(".json") || path.ends_with(".json.gz");
    });
    std::sort(out.begin(), out.end(),
              [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
    std::erase_if(out, [](const std::string& path) { return may_be_trace(path) && !begins_like_trace(path); });
    const auto damaged = std::stable_partition(out.begin(), out.end(), begins_like_trace);
    if (damaged == out.begin()) out.clear();
    return out;
}

bool comes_before(const run_capture& a, const run_capture& b) {
    // Of one process the further ones have longer names (NAME.prof, NAME.2.prof, …, NAME.10.prof).
    const std::size_t lengths[] = {a.path.size(), b.path.size()};
    return std::tie(a.rank, a.pid, lengths[0], a.path) < std::tie(b.rank, b.pid, lengths[1], b.path);
}

// The captures of `files` that can be read and that `belongs` accepts, in order.
template <typename TBelongs>
std::vector<run_capture> captures_among(const std::vector<std::string>& files, TBelongs&& belongs) {
    std::vector<run_capture> out;
    for (const std::string& file : files) {
        if (auto capture = capture_at(file); capture && belongs(*capture)) out.push_back(std::move(*capture));
    }
    std::sort(out.begin(), out.end(), comes_before);
    return out;
}

bool are_of_one_run(const run_capture& a, const run_capture& b) {
    if (!a.run_id.empty() || !b.run_id.empty()) return a.run_id == b.run_id;
    const auto family = [](const run_capture& capture) {
        return capture.is_forked_childs() ? capture.forked_from : capture.pid;
    };
    if (a.host == b.host && family(a) == family(b)) return true;
    const std::uint64_t apart = std::max(a.created_ns, b.created_ns) - std::min(a.created_ns, b.created_ns);
    return a.world_size > 1 && a.world_size == b.world_size && apart <= start_of_ranks_ns;
}

}  // namespace

directory_captures captures_in(const std::string& directory) {
    std::error_code failed;
    std::vector<std::string> files = capture_files_in(directory, failed);
    if (failed) throw error("cannot read the directory " + directory + ": " + failed.message());
    directory_captures out;
    if (files.empty()) {
        out.files = trace_files_in(directory);
        return out;
    }
    std::set<std::string> runs;
    const bool has_readable =
        std::any_of(files.begin(), files.end(), [](const std::string& file) { return capture_at(file).has_value(); });
    // Where no capture can be read, there may be traces.
    if (!has_readable) out.files = trace_files_in(directory);
    for (const run_capture& capture : captures_among(files, [](const run_capture&) { return true; })) {
        out.files.push_back(capture.path);
        if (!capture.run_id.empty()) runs.insert(capture.run_id);
    }
    out.runs = runs.size();
    std::sort(files.begin(), files.end());
    std::vector<std::string> readable = out.files;
    std::sort(readable.begin(), readable.end());
    std::set_difference(files.begin(), files.end(), readable.begin(), readable.end(), std::back_inserter(out.files));
    return out;
}

std::vector<run_capture> captures_of_run(const std::string& directory, const std::string& run_id) {
    std::error_code failed;
    return captures_among(capture_files_in(directory, failed),
                          [&](const run_capture& one) { return one.run_id == run_id; });
}

std::vector<run_capture> captures_of_newest_run(const std::string& directory) {
    std::error_code failed;
    std::vector<run_capture> all =
        captures_among(capture_files_in(directory, failed), [](const run_capture&) { return true; });
    const auto newest = std::max_element(
        all.begin(), all.end(), [](const run_capture& a, const run_capture& b) { return a.created_ns < b.created_ns; });
    if (newest == all.end()) return all;
    const run_capture reference = *newest;
    std::erase_if(all, [&](const run_capture& one) { return !are_of_one_run(one, reference); });
    return all;
}

}  // namespace prof
