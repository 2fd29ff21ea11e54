// SPDX-License-Identifier: Apache-2.0
#include "timeline/one_id_a_name.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record_traits.hpp"

namespace prof {
namespace {

using id_map = std::unordered_map<std::uint32_t, std::uint32_t>;

// Maps each duplicate id to the smallest id of the same text.
id_map find_doubles(const std::unordered_map<std::uint32_t, std::string>& names) {
    std::unordered_map<std::string_view, std::uint32_t> ids;
    ids.reserve(names.size());
    for (const auto& [id, text] : names) {
        const auto [known, is_new] = ids.try_emplace(text, id);
        if (!is_new) known->second = std::min(known->second, id);
    }
    id_map doubles;
    if (ids.size() == names.size()) return doubles;
    for (const auto& [id, text] : names) {
        if (const std::uint32_t first = ids.at(text); first != id) doubles.emplace(id, first);
    }
    return doubles;
}

void replace(std::uint32_t& id, const id_map& doubles) {
    if (const auto found = doubles.find(id); found != doubles.end()) id = found->second;
}

void replace(std::vector<record_run>& runs, const id_map& doubles) {
    for (record_run& run : runs) {
        for (record& r : run.records) {
            if (has_name(r)) replace(r.name, doubles);
        }
    }
}

}  // namespace

void give_each_name_one_id(capture_contents& contents) {
    const id_map doubles = find_doubles(contents.names);
    if (doubles.empty()) return;
    replace(contents.runs, doubles);
    replace(contents.graph_context, doubles);
    contents.work.kernels.details.change_all([&](kernel_record& kernel) { replace(kernel.name, doubles); });
    for (device_record& device : contents.devices) replace(device.name, doubles);
    for (label& l : contents.labels) replace(l.name, doubles);
    for (const auto& [id, first] : doubles) contents.names.erase(id);
}

}  // namespace prof
