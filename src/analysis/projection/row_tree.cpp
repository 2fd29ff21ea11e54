// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/row_tree.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/projection/compilation_stages.hpp"
#include "analysis/projection/same_things.hpp"

namespace prof {

row_tree::row_tree(const timeline& data, const attribution& att, const fold_rule& rule)
    : data_(data), att_(att), rule_(rule), segment_of_(data) {
    const bool is_decided = !att.keeps_name.empty() && rule_.mode == fold_mode::counters;
    if (is_decided) {
        keeps_name_ = att.keeps_name;
        replayed_keeps_name_ = att.replayed_keeps_name;
    }
    if (rule_.mode != fold_mode::none) join_stages();
    build();
    if (join_same_things()) build();
    if (rule_.mode == fold_mode::none) return;
    count_names();
    if (rule_.mode == fold_mode::counters && !is_decided) keep_different_things_apart();
}

void row_tree::build() {
    nodes_.clear();
    ambiguous_.clear();
    children_.clear();
    node_of_.assign(data_.ranges.size(), npos);
    node_of_replayed_.assign(att_.replayed.size(), npos);
    for (const std::string_view text : {no_range_text, ambiguous_text, unmatched_text}) {
        nodes_.push_back({.text = text, .segment = text});
        ambiguous_.push_back(0);
    }
    ambiguous_[ambiguous] = 1;
    for (const range_id i : data_.ranges.ids()) {
        const timeline_range& range = data_.ranges[i];
        if (range.style == range_style::push_pop && range.takes_part() && !att_.hidden.contains(range)) place(i);
    }
    for (const range_id i : is_inner_.ids()) {
        if (is_inner_[i] != 0) node_of_[i] = npos;
    }
    for (const op_id op : data_.ops.ids()) {
        if (att_.captured[op] != npos) place_replayed(att_.owner[op], att_.captured[op]);
    }
}

void row_tree::join_stages() {
    const row_values<range_id, range_id> stages = compilation_stages(data_);
    for (const range_id i : stages.ids()) {
        if (stages[i] == npos || att_.hidden.contains(data_.ranges[stages[i]])) continue;
        is_in_stage_.resize(data_.ranges.size());
        is_in_stage_[i] = 1;
    }
    is_inner_ = is_in_stage_;
}

// Whether a row is now shared.
bool row_tree::join_same_things() {
    const row_values<node_id, node_id> outer_of = same_things(data_, att_, *this);
    if (outer_of.empty()) return false;
    is_inner_ = is_in_stage_;
    is_inner_.resize(data_.ranges.size());
    named_by_.resize(data_.ranges.size());
    for (const range_id i : named_by_.ids()) named_by_[i] = i;
    row_values<node_id, range_id> name_of(nodes_.size(), npos);  // by node of the outer ones: an inner range
    for (const range_id i : data_.ranges.ids()) {
        const node_id at = node_of_[i];
        if (at == npos || outer_of[at] == npos) continue;
        is_inner_[i] = 1;
        if (nodes_[at].is_observed) continue;
        name_of[outer_of[at]] = i;
        if (is_range(att_.parent[i])) named_by_[att_.parent[i]] = i;
    }
    for (const range_id i : data_.ranges.ids()) {
        const node_id at = node_of_[i];
        if (at != npos && name_of[at] != npos && named_by_[i] == i) named_by_[i] = name_of[at];
    }
    return true;
}

// Thread by thread, as merged_names requires.
void row_tree::count_names() {
    row_values<thread_id, std::vector<std::pair<node_id, name_id>>> by_thread(data_.threads.size());  // node, name
    const auto add = [&](node_id at, const timeline_range& range) {
        if (at != npos && nodes_[at].has_number) by_thread[range.thread].emplace_back(at, range.name);
    };
    for (const range_id i : node_of_.ids()) add(node_of_[i], data_.ranges[named_by(i)]);
    for (const replayed_id i : node_of_replayed_.ids()) {
        add(node_of_replayed_[i], data_.ranges[att_.replayed[i].range]);
    }
    for (const thread_id thread : by_thread.ids()) {
        for (const auto& [at, name] : by_thread[thread]) nodes_[at].names.add(name, thread);
    }
}

void row_tree::keep_different_things_apart() {
    row_values<node_id, std::uint8_t> is_apart(nodes_.size());  // by node
    std::transform(nodes_.begin(), nodes_.end(), is_apart.begin(),
                   [](const node& of) { return std::uint8_t{of.names.are_different_things()}; });
    if (std::find(is_apart.begin(), is_apart.end(), 1) == is_apart.end()) return;
    const auto of_nodes = [&]<typename TId>(const row_values<TId, node_id>& nodes) {
        row_values<TId, std::uint8_t> out(nodes.size());
        std::transform(nodes.begin(), nodes.end(), out.begin(),
                       [&](node_id at) { return at == npos ? std::uint8_t{0} : is_apart[at]; });
        return out;
    };
    keeps_name_ = of_nodes(node_of_);
    replayed_keeps_name_ = of_nodes(node_of_replayed_);
    build();
    count_names();
}

// The adopting range may have opened in the same nanosecond and come later in order, so parents are placed first.
void row_tree::place(range_id range) {
    std::vector<range_id> waiting{range};
    while (!waiting.empty()) {
        const auto next = waiting.back();
        const range_id parent = att_.parent[next];
        if (node_of_[next] == npos && is_range(parent) && node_of_[parent] == npos) {
            waiting.push_back(parent);
            continue;
        }
        waiting.pop_back();
        if (node_of_[next] != npos) continue;
        node_of_[next] =
            is_inner(next) ? above(parent) : child(above(parent), next, !keeps_name_.empty() && keeps_name_[next] != 0);
    }
}

// The node of a range, or of the constant in place of a range.
auto row_tree::above(range_id parent) const noexcept -> node_id {
    while (is_range(parent) && is_inner(parent)) parent = att_.parent[parent];
    return is_range(parent) ? node_of_[parent] : parent == owner_ambiguous ? ambiguous : npos;
}

// `owner`: the place of the launch's self time. Placed outermost first: if a range was placed before, so were all above
// it.
void row_tree::place_replayed(range_id owner, replayed_id index) {
    std::vector<replayed_id> waiting;
    for (; index != npos && node_of_replayed_[index] == npos; index = att_.replayed[index].parent) {
        waiting.push_back(index);
    }
    node_id parent = index == npos ? above(owner) : node_of_replayed_[index];
    for (auto next = waiting.rbegin(); next != waiting.rend(); ++next) {
        const replayed_range& replayed = att_.replayed[*next];
        const bool keeps_name = !replayed_keeps_name_.empty() && replayed_keeps_name_[*next] != 0;
        parent = child(parent, replayed.range, keeps_name, &data_.api_calls[replayed.launch]);
        node_of_replayed_[*next] = parent;
    }
}

const row_tree::segment& row_tree::segment_for(const timeline_range& range, bool keeps_name) {
    const auto [found, is_new] = segments_of_name_.try_emplace(range.name_key());
    segments_of_name& known = found->second;
    if (is_new) known.is_folded = folds(rule_, data_, range);
    const bool folded = known.is_folded && !keeps_name;
    const segment*& wanted = folded ? known.folded : known.as_named;
    if (wanted == nullptr) {
        segment_entry entry{segment_text(data_, range, folded), static_cast<std::uint32_t>(segments_.size())};
        wanted = &*segments_.try_emplace(segment_of_(range, folded), std::move(entry)).first;
    }
    return *wanted;
}

// `launch`: that of the graph, if the range was open when the graph was captured.
auto row_tree::child(node_id parent, range_id range_index, bool keeps_name, const timeline_api_call* launch)
    -> node_id {
    const timeline_range& range = data_.ranges[range_index];
    const timeline_range& named = data_.ranges[named_by(range_index)];
    const auto& [in_path, entry] = segment_for(named, keeps_name);
    const bool is_captured = launch != nullptr && !range.is_replayed_alike;
    const bool is_observed = is_phase(data_, named);
    const std::uint64_t child_key =
        std::uint64_t{parent} << 32 | std::uint64_t{entry.id} << 2 | (is_observed ? 2U : 0U) | (is_captured ? 1U : 0U);
    const auto [found, added] = children_.emplace(child_key, nodes_.end_id());
    if (added) {
        nodes_.push_back({.text = entry.text,
                          .segment = in_path,
                          .parent = parent,
                          .first_ns = INT64_MAX,
                          .captured_ns = INT64_MAX,
                          .is_captured = is_captured,
                          .is_observed = is_observed,
                          .is_execution = range.is_execution,
                          .has_number = entry.text.find('#') != std::string::npos});
        ambiguous_.push_back(parent == npos ? std::uint8_t{0} : ambiguous_[parent]);
    }
    node& n = nodes_[found->second];
    n.first_ns = std::min(n.first_ns, launch != nullptr ? launch->start_ns : range.start_ns);
    n.captured_ns = std::min(n.captured_ns, launch != nullptr ? range.start_ns : 0);
    return found->second;
}

auto row_tree::self_of(op_id op) const noexcept -> node_id {
    if (att_.captured[op] != npos) return node_of_replayed_[att_.captured[op]];
    const range_id owner = att_.owner[op];
    if (is_range(owner)) return above(owner);
    if (owner == owner_ambiguous) return ambiguous;
    return owner == owner_no_range ? no_range : unmatched;
}

row_values<range_id, std::int64_t> row_tree::host_time_inside() const {
    row_values<range_id, std::int64_t> out(data_.ranges.size());
    for (const range_id i : data_.ranges.ids()) {
        if (node_of_[i] == npos) continue;
        const timeline_range& range = data_.ranges[i];
        range_id around = range.parent;
        while (around != npos && node_of_[around] == npos) around = data_.ranges[around].parent;
        if (around == npos) continue;
        // Pops of two domains may interleave: the inner range may end last.
        const std::int64_t end_ns = std::min(range.inside_until_ns(), data_.ranges[around].inside_until_ns());
        out[around] += std::max<std::int64_t>(end_ns - range.start_ns, 0);
    }
    return out;
}

auto row_tree::fixed_of(op_id op) const noexcept -> node_id {
    const node_id self = self_of(op);
    if (ambiguous_[self] != 0) return ambiguous;
    return self == no_range || self == unmatched ? self : npos;
}

row_kind row_tree::kind_of(node_id node) noexcept {
    switch (node) {
        case no_range:
            return row_kind::no_range;
        case ambiguous:
            return row_kind::ambiguous;
        case unmatched:
            return row_kind::unmatched;
        default:
            return row_kind::range;
    }
}

auto row_tree::preorder() const -> std::vector<node_id> {
    std::vector<node_id> by_parent;
    for (node_id i(unmatched + 1); i < nodes_.size(); ++i) by_parent.push_back(i);
    // Siblings in reverse order, since the last one pushed is visited first. Roots (npos) come after all others.
    std::sort(by_parent.begin(), by_parent.end(), [&](node_id a, node_id b) {
        const node& x = nodes_[a];
        const node& y = nodes_[b];
        return std::tie(x.parent, y.first_ns, y.captured_ns, y.text) <
               std::tie(y.parent, x.first_ns, x.captured_ns, x.text);
    });
    const auto push_children = [&](std::vector<node_id>& to, node_id parent) {
        auto at = std::lower_bound(by_parent.begin(), by_parent.end(), parent,
                                   [&](node_id n, node_id p) { return nodes_[n].parent < p; });
        for (; at != by_parent.end() && nodes_[*at].parent == parent; ++at) to.push_back(*at);
    };

    std::vector<node_id> order;
    std::vector<node_id> waiting{unmatched, ambiguous, no_range};
    push_children(waiting, npos);
    while (!waiting.empty()) {
        const auto next = waiting.back();
        waiting.pop_back();
        order.push_back(next);
        push_children(waiting, next);
    }
    return order;
}

}  // namespace prof
