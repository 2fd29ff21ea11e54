// SPDX-License-Identifier: Apache-2.0
#include "symbols/address_lookup.hpp"

#include <map>
#include <utility>

#include "symbols/object_file.hpp"
#include "symbols/symbolizer.hpp"

namespace prof {
namespace {

// The file to be asked for addresses of a module; "" if there is none.
std::string file_for(const std::string& build_id, const std::string& path) {
    if (const object_file file(path); file.is_good() && file.build_id() == build_id) return path;
    if (build_id.size() < 3) return {};
    const std::string debug = "/usr/lib/debug/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
    const object_file file(debug);
    return file.is_good() && file.build_id() == build_id ? debug : std::string{};
}

}  // namespace

std::vector<std::vector<code_place>> places_of(const std::vector<code_address>& addresses, bool may_run_programs) {
    std::vector<std::vector<code_place>> out(addresses.size());
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_module;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        by_module[{addresses[i].build_id, addresses[i].path}].push_back(i);
    }
    std::vector<code_address> asked;
    std::vector<std::size_t> of_asked;
    for (const auto& [module, indexes] : by_module) {
        const std::string path = file_for(module.first, module.second);
        if (path.empty()) continue;
        const object_file file(path);
        const bool may_have_lines = may_run_programs && file.may_have_lines();
        for (const std::size_t i : indexes) {
            std::string function = file.function_at(addresses[i].address);
            if (!function.empty()) out[i].push_back({std::move(function), {}, 0});
            if (!may_have_lines) continue;
            asked.push_back({module.first, path, addresses[i].address});
            of_asked.push_back(i);
        }
    }
    if (asked.empty()) return out;
    std::vector<std::vector<code_place>> found = ask_symbolizer(asked);
    for (std::size_t i = 0; i < found.size(); ++i) {
        // Without a line the table of symbols is as good.
        bool has_line = false;
        for (const code_place& place : found[i]) has_line = has_line || place.line != 0;
        if (has_line) out[of_asked[i]] = std::move(found[i]);
    }
    return out;
}

}  // namespace prof
