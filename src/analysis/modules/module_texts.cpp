// SPDX-License-Identifier: Apache-2.0
#include "analysis/modules/module_texts.hpp"

#include <optional>
#include <unordered_set>

namespace prof {

module_texts::module_texts(const timeline& data, const attribution& att, const timeline& original)
    : data_(data), finder_(data, att, original) {
    // Which names are alike is known when all are.
    std::unordered_set<name_id> names;
    for (const timeline_range& range : data.ranges) {
        if (!range.is_module || range.style != range_style::push_pop) continue;
        const name_id name = range.name;
        if (names.insert(name).second) tree_.node_of(data.name(name));
    }
    for (const std::string& path : finder_.paths()) tree_.node_of_scopes(path);
    tree_.fold();
}

void module_texts::look_at(std::int64_t from_ns, std::int64_t to_ns) {
    const auto first_at = [&](std::int64_t ns) {
        const auto found =
            std::lower_bound(data_.ranges.begin(), data_.ranges.end(), ns,
                             [](const timeline_range& range, std::int64_t at) { return range.start_ns < at; });
        return static_cast<std::size_t>(found - data_.ranges.begin());
    };
    finder_.look_at(first_at(from_ns), first_at(to_ns));
}

const std::string& module_texts::of_op(op_id index) {
    if (const std::optional<module_scopes> scopes = finder_.scopes_of_op(index)) {
        return tree_.folded_path(tree_.node_of_scopes(finder_.paths()[scopes->path]));
    }
    return text_of(finder_.maker_of_op(index));
}

const std::string& module_texts::at(thread_id thread, std::int64_t time_ns) {
    return finder_.calls().empty() ? outside_ : text_of(finder_.at(thread, time_ns));
}

const std::string& module_texts::text_of(const maker_of_node& made) {
    switch (made.where) {
        case made_in::module:
            break;
        case made_in::no_module:
            return outside_;
        case made_in::accumulation:
            return accumulation_;
        case made_in::unknown:
            return unknown_;
    }
    const name_id name = data_.ranges[made.call].name;
    const auto [known, is_new] = texts_.try_emplace(name);
    if (is_new) known->second = tree_.folded_path(tree_.node_of(data_.name(name)));
    return known->second;
}

}  // namespace prof
