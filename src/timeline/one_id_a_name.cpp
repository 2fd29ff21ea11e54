// SPDX-License-Identifier: Apache-2.0
#include "timeline/one_id_a_name.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/record_traits.hpp"

namespace prof {

name_doubles::name_doubles(const std::unordered_map<name_id, std::string>& names) {
    std::unordered_map<std::string_view, name_id> ids;
    ids.reserve(names.size());
    for (const auto& [id, text] : names) {
        const auto [known, is_new] = ids.try_emplace(text, id);
        if (!is_new) known->second = std::min(known->second, id);
    }
    if (ids.size() == names.size()) return;
    for (const auto& [id, text] : names) {
        if (const name_id first = ids.at(text); first != id) first_ids_.emplace(id, first);
    }
}

void name_doubles::replace(std::uint32_t& id) const {
    if (const auto found = first_ids_.find(name_id(id)); found != first_ids_.end()) id = found->second;
}

void name_doubles::replace(std::span<record> records) const {
    if (!any()) return;
    for (record& r : records) {
        if (has_name(r)) replace(r.name);
    }
}

name_doubles give_each_name_one_id(capture_contents& contents) {
    name_doubles doubles(contents.names);
    if (!doubles.any()) return doubles;
    for (record_run& run : contents.runs) doubles.replace(run.records);
    for (record_run& run : contents.graph_context) doubles.replace(run.records);
    contents.work.kernels.details.change_all([&](kernel_record& kernel) { doubles.replace(kernel.name); });
    for (device_record& device : contents.devices) doubles.replace(device.name);
    for (label& l : contents.labels) doubles.replace(l.name);
    for (const auto& [id, first] : doubles.first_ids()) contents.names.erase(id);
    return doubles;
}

}  // namespace prof
