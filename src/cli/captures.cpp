// SPDX-License-Identifier: Apache-2.0
#include "cli/captures.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "base/error.hpp"
#include "base/number.hpp"
#include "capture/opening.hpp"
#include "capture/reader.hpp"

namespace prof {
namespace {

std::uint64_t number(const property_map& properties, const std::string& key) {
    const auto found = properties.find(key);
    return found == properties.end() ? 0 : parse_number<std::uint64_t>(found->second).value_or(0);
}

std::optional<run_capture> if_of_run(const std::string& path, const std::string& run_id) {
    try {
        capture_reader reader(path);
        const property_map properties = opening_properties(reader);
        const auto found = properties.find("run_id");
        if (found == properties.end() || found->second != run_id) return std::nullopt;
        const auto activities = properties.find("activities");
        return run_capture{path, number(properties, "rank"), number(properties, "pid"),
                           properties.contains("forked_from"),
                           activities == properties.end() || activities->second != "none"};
    } catch (const error&) {
        return std::nullopt;
    }
}

}  // namespace

std::vector<run_capture> captures_of_run(const std::string& directory, const std::string& run_id) {
    std::vector<run_capture> out;
    std::error_code failed;
    // Not a range-for, whose step throws where the directory cannot be read any further.
    for (std::filesystem::directory_iterator at(directory, failed), end; at != end && !failed; at.increment(failed)) {
        std::error_code unknown;
        if (at->path().extension() != ".prof" || !at->is_regular_file(unknown)) continue;
        if (auto capture = if_of_run(at->path().string(), run_id)) out.push_back(std::move(*capture));
    }
    std::sort(out.begin(), out.end(), [](const run_capture& a, const run_capture& b) {
        // Of one process the further ones have longer names (NAME.prof, NAME.2.prof, …, NAME.10.prof).
        const std::size_t lengths[] = {a.path.size(), b.path.size()};
        return std::tie(a.rank, a.pid, lengths[0], a.path) < std::tie(b.rank, b.pid, lengths[1], b.path);
    });
    return out;
}

}  // namespace prof
