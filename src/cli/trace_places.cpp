// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_places.hpp"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "cli/capture_inputs.hpp"

namespace prof {
namespace {

bool is_directory(const std::string& output) {
    std::error_code failed;
    return output.ends_with('/') || std::filesystem::is_directory(output, failed);
}

std::string place_of(const std::string& capture, const std::string& output, const std::string& extension) {
    if (is_one_trace(output)) return output;
    if (is_stream(capture)) {
        throw usage_error("the trace of " + capture + " has no name; give one (-o trace.json.gz), or -o -");
    }
    const std::filesystem::path folder =
        output.empty() ? std::filesystem::path(capture).parent_path() : std::filesystem::path(output);
    return (folder / trace_file_name(capture, extension)).string();
}

}  // namespace

bool is_one_trace(const std::string& output) { return !output.empty() && !is_directory(output); }

accepted_values trace_outputs() {
    return {"a name that ends in .json or .json.gz, by which viewers know a trace, a directory (DIR/), or -",
            [](const std::string& name) {
                return name == to_standard_output || name.ends_with(".json") || name.ends_with(".json.gz") ||
                       is_directory(name);
            }};
}

std::string trace_file_name(const std::string& capture, const std::string& extension) {
    std::string name = std::filesystem::path(capture).filename().string();
    for (const std::string_view ending : {".prof", ".gz", ".json"}) {
        if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    }
    return name + ".trace." + extension;
}

std::vector<std::string> trace_places(const std::vector<std::string>& captures, const std::string& output,
                                      const std::string& extension) {
    std::vector<std::string> out;
    std::set<std::string> taken;
    for (const std::string& capture : captures) {
        out.push_back(place_of(capture, output, extension));
        if (!taken.insert(out.back()).second) {
            throw usage_error("two of the captures have the trace " + out.back() +
                              "; export them one by one, or into different directories");
        }
    }
    return out;
}

}  // namespace prof
