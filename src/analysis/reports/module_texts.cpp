// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/module_texts.hpp"

#include <optional>
#include <unordered_set>

namespace prof {

module_texts::module_texts(const timeline& data, const attribution& att) : data_(data), finder_(data, att) {
    // Which names are alike is known when all are.
    std::unordered_set<std::uint32_t> names;
    for (const std::uint32_t call : finder_.calls().calls()) {
        const std::uint32_t name = data.ranges[call].name;
        if (names.insert(name).second) tree_.node_of(data.name(name));
    }
    for (const std::string& path : finder_.paths()) tree_.node_of_scopes(path);
    tree_.fold();
}

std::string module_texts::of_op(std::uint32_t index) {
    if (const std::optional<module_scopes> scopes = finder_.scopes_of_op(index)) {
        return tree_.folded_path(tree_.node_of_scopes(finder_.paths()[scopes->path]));
    }
    const gpu_op& op = data_.ops[index];
    if (op.launch == npos || finder_.calls().empty()) return {};
    const module_phase phase = finder_.phase_of(index);
    if (phase.range != npos || op.graph_node != npos) return text_of(finder_.of_op(index, phase));
    return text_of(finder_.of_launch(index).made);
}

std::string module_texts::at(std::uint32_t thread, std::int64_t time_ns) {
    return finder_.calls().empty() ? std::string() : text_of(finder_.at(thread, time_ns));
}

std::string module_texts::text_of(const maker_of_node& made) {
    switch (made.where) {
        case made_in::module:
            break;
        case made_in::no_module:
            return {};
        case made_in::accumulation:
            return std::string(accumulation_text);
        case made_in::unknown:
            return std::string(unknown_module_text);
    }
    const std::uint32_t name = data_.ranges[made.call].name;
    const auto [known, is_new] = texts_.try_emplace(name);
    if (is_new) known->second = tree_.folded_path(tree_.node_of(data_.name(name)));
    return known->second;
}

}  // namespace prof
