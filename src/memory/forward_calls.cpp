// SPDX-License-Identifier: Apache-2.0
#include "memory/forward_calls.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace prof {

forward_calls::forward_calls(const timeline& data, const attribution& att, const timeline& original)
    : data_(data), finder_(data, att, original) {
    if (finder_.calls().empty()) return;
    add_calls();
    find_backward();
}

void forward_calls::add_calls() {
    module_tree tree;
    std::unordered_map<name_id, module_node_id> node_of_name;
    for (const range_id range : finder_.calls().calls()) {
        const name_id name = data_.ranges[range].name;
        if (!node_of_name.contains(name)) node_of_name[name] = tree.node_of(data_.name(name));
    }
    tree.fold();
    std::map<std::pair<std::string, std::string>, std::uint32_t> modules;
    std::vector<std::uint32_t> open;  // calls
    for (const range_id range : finder_.calls().calls()) {
        const timeline_range& of = data_.ranges[range];
        while (!open.empty() &&
               (calls_[open.back()].thread != of.thread || calls_[open.back()].end_ns <= of.start_ns)) {
            open.pop_back();
        }
        const module_node_id node = node_of_name[of.name];
        const auto [known, is_new] = modules.try_emplace({tree.folded_path(node), tree.at(node).class_name},
                                                         static_cast<std::uint32_t>(paths_.size()));
        if (is_new) {
            paths_.push_back(known->first.first);
            classes_.push_back(known->first.second);
        }
        by_range_[range] = static_cast<std::uint32_t>(calls_.size());
        calls_.push_back({.range = range,
                          .thread = of.thread,
                          .start_ns = of.start_ns,
                          .end_ns = of.end_ns,
                          .around = open.empty() ? npos : open.back(),
                          .module = known->second});
        open.push_back(static_cast<std::uint32_t>(calls_.size() - 1));
    }
}

// What a checkpoint computes again is in a node, and no forward. A node may run more than once, as with retain_graph.
void forward_calls::find_backward() {
    for (const range_id node : finder_.calls().nodes()) {
        const timeline_range& of = data_.ranges[node];
        node_starts_.push_back(of.start_ns);
        for (std::uint32_t call = maker_of(node); call != npos; call = calls_[call].around) {
            forward_call& made = calls_[call];
            if (of.start_ns < made.end_ns || of.start_ns >= made.backward_ns) continue;
            if (finder_.calls().node_at(made.thread, made.start_ns) != npos) continue;
            made.backward_ns = of.start_ns;
            made.backward_thread = of.thread;
        }
    }
    std::sort(node_starts_.begin(), node_starts_.end());
}

std::int64_t forward_calls::next_node_ns(std::int64_t ns) const {
    const auto next = std::lower_bound(node_starts_.begin(), node_starts_.end(), ns);
    return next == node_starts_.end() ? INT64_MAX : *next;
}

std::uint32_t forward_calls::maker_of(range_id node) const {
    const maker_of_node made = finder_.calls().maker_of(node);
    if (made.where != made_in::module) return npos;
    const auto found = by_range_.find(made.call);
    return found == by_range_.end() ? npos : found->second;
}

std::uint32_t forward_calls::at(thread_id thread, std::int64_t ns) const {
    const range_id range = finder_.calls().call_at(thread, ns);
    const auto found = by_range_.find(range);
    return range == npos || found == by_range_.end() ? npos : found->second;
}

std::uint32_t forward_calls::whose_node_at(thread_id thread, std::int64_t ns) const {
    const range_id node = finder_.calls().latest_node_at(thread, ns);
    return node == npos ? npos : maker_of(node);
}

bool forward_calls::is_within(std::uint32_t call, std::uint32_t outer) const {
    while (call != npos && call != outer) call = calls_[call].around;
    return call != npos;
}

bool forward_calls::is_repeated_within(std::uint32_t call) const {
    for (std::uint32_t at = calls_[call].around; at != npos; at = calls_[at].around) {
        if (calls_[at].module == calls_[call].module) return true;
    }
    return false;
}

}  // namespace prof
