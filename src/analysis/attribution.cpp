#include "analysis/attribution.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/adoption.hpp"

namespace prof {
namespace {

class attributor {
public:
    attributor(const timeline& data, const attribution_options& options)
        : data_(data), domains_(options.domains), rule_(data, options.adopt_pattern, out_.extra_nodes) {}

    attribution run() {
        place_own_ranges();
        place_adopted_ranges();
        out_.owner.assign(data_.ops.size(), owner_unmatched);
        out_.open.assign(data_.ops.size(), npos);
        out_.adopted_open.assign(data_.ops.size(), npos);
        out_.adopted.assign(data_.ops.size(), 0);
        for (const timeline_api_call& call : data_.api_calls) {
            if (call.op_count != 0) attribute_call(call);
        }
        out_.hidden = hidden_domains{data_, domains_};
        if (out_.hidden.any()) pass_over_hidden_ranges();
        return std::move(out_);
    }

private:
    // Where the operations of a call go.
    struct target {
        std::uint32_t owner = owner_no_range;
        std::uint32_t adopted_open = npos;
        bool adopted = false;
    };

    const open_node& node(std::uint32_t index) const noexcept {
        const std::size_t own = data_.open_nodes.size();
        return index < own ? data_.open_nodes[index] : out_.extra_nodes[index - own];
    }
    std::uint32_t innermost(std::uint32_t head) const noexcept { return head == npos ? npos : node(head).range; }
    const gpu_op& first_op(const timeline_api_call& call) const noexcept {
        return data_.ops[data_.ops_by_launch[call.first_op]];
    }

    // The tree of each thread by itself. A parent opened on the same thread, before its child.
    void place_own_ranges() {
        out_.parent.resize(data_.ranges.size());
        out_.depth.resize(data_.ranges.size());
        root_.resize(data_.ranges.size());
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            out_.parent[i] = range.parent;
            out_.depth[i] = range.depth;
            root_[i] = range.parent == npos ? i : root_[range.parent];
        }
    }

    // Hangs the roots of the threads that work for others where they belong, at the moment they opened, judged by the
    // stream of the first launch inside.
    void place_adopted_ranges() {
        std::vector<std::uint32_t> first_launch(data_.ranges.size(), npos);
        for (std::uint32_t i = 0; i < data_.api_calls.size(); ++i) {
            const timeline_api_call& call = data_.api_calls[i];
            if (call.op_count == 0 || call.open == npos || !rule_.works_for_others(call.thread)) continue;
            std::uint32_t& first = first_launch[root_[innermost(call.open)]];
            first = std::min(first, i);
        }
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.style != range_style::push_pop || !rule_.works_for_others(range.thread)) continue;
            if (root_[i] == i) {
                const adoption choice = first_launch[i] == npos
                                            ? rule_.decide(range.start_ns)
                                            : rule_.decide(range.start_ns, first_op(data_.api_calls[first_launch[i]]));
                if (choice.kind == adoption::outcome::ambiguous) out_.parent[i] = owner_ambiguous;
                if (choice.kind == adoption::outcome::adopted) out_.parent[i] = innermost(choice.open);
                adopted_roots_.emplace(i, choice);
            }
            // Its root was placed before it, and the adopter's depth is final: adopters are not adopted themselves.
            const std::uint32_t parent = out_.parent[i];
            out_.depth[i] = is_range(parent) ? out_.depth[parent] + 1 : 0;
        }
    }

    target choose(const timeline_api_call& call) {
        if (call.open != npos) return choose_by_root(innermost(call.open), call.start_ns);
        if (!rule_.works_for_others(call.thread)) return {};
        const adoption choice = rule_.decide(call.start_ns, first_op(call));
        switch (choice.kind) {
            case adoption::outcome::none:
                break;
            case adoption::outcome::ambiguous:
                return {.owner = owner_ambiguous};
            case adoption::outcome::adopted:
                return {.owner = innermost(choice.open), .adopted_open = choice.open, .adopted = true};
        }
        return {};
    }

    // Work inside a range goes where the range hangs, as far as what it hangs under is still open.
    target choose_by_root(std::uint32_t owner, std::int64_t time_ns) {
        const auto found = adopted_roots_.find(root_[owner]);
        if (found == adopted_roots_.end() || found->second.kind != adoption::outcome::adopted) return {.owner = owner};
        return {.owner = owner, .adopted_open = still_open(found->second.open, time_ns), .adopted = true};
    }

    bool is_open(std::uint32_t range, std::int64_t time_ns) const noexcept {
        return time_ns < data_.ranges[range].end_ns;
    }

    // The ranges of the list `head` that are open at `time_ns`, as a list: nearly always the list itself or its tail.
    std::uint32_t still_open(std::uint32_t head, std::int64_t time_ns) {
        std::uint32_t tail = head;  // below the last closed one: kept as it is
        for (std::uint32_t at = head; at != npos; at = node(at).below) {
            if (!is_open(node(at).range, time_ns)) tail = node(at).below;
        }
        std::vector<std::uint32_t> above;  // innermost first
        for (std::uint32_t at = head; at != tail; at = node(at).below) {
            if (is_open(node(at).range, time_ns)) above.push_back(node(at).range);
        }
        for (auto range = above.rbegin(); range != above.rend(); ++range) {
            out_.extra_nodes.push_back({.range = *range, .below = tail});
            tail = static_cast<std::uint32_t>(data_.open_nodes.size() + out_.extra_nodes.size() - 1);
        }
        return tail;
    }

    // All operations of one call go the same way: a graph is one piece of work.
    void attribute_call(const timeline_api_call& call) {
        const target to = choose(call);
        for (std::uint32_t i = 0; i < call.op_count; ++i) {
            const std::uint32_t op = data_.ops_by_launch[call.first_op + i];
            out_.owner[op] = to.owner;
            out_.open[op] = call.open;
            out_.adopted_open[op] = to.adopted_open;
            out_.adopted[op] = to.adopted ? 1 : 0;
        }
    }

    // What hidden ranges had goes to the next range outside them, as if they had never been opened.
    void pass_over_hidden_ranges() {
        const auto is_hidden = [&](std::uint32_t range) { return out_.hidden.contains(data_.ranges[range]); };
        for (std::size_t op = 0; op < out_.owner.size(); ++op) {
            if (out_.adopted_open[op] != npos && !any_kept(out_.adopted_open[op])) out_.adopted[op] = 0;
            std::uint32_t& owner = out_.owner[op];
            if (!is_range(owner) || !is_hidden(owner)) continue;
            const std::uint32_t former = owner;
            owner = npos;
            for_each_open_range(data_, out_, op, [&](std::uint32_t range) {
                if (owner == npos) owner = range;
            });
            if (owner != npos) continue;
            owner = out_.parent[root_[former]] == owner_ambiguous ? owner_ambiguous : owner_no_range;
            out_.adopted[op] = 0;
        }
        std::vector<std::uint32_t> parent(out_.parent.size());
        for (std::uint32_t i = 0; i < parent.size(); ++i) {
            std::uint32_t above = out_.parent[i];
            // Of the ranges above a hidden one those count that were still open when this one was opened.
            bool passed = false;
            while (is_range(above) && (is_hidden(above) || (passed && !is_open(above, data_.ranges[i].start_ns)))) {
                above = out_.parent[above];
                passed = true;
            }
            parent[i] = above;
        }
        out_.parent = std::move(parent);
        for (std::uint32_t i = 0; i < out_.depth.size(); ++i) {
            out_.depth[i] = 0;
            for (std::uint32_t above = out_.parent[i]; is_range(above); above = out_.parent[above]) ++out_.depth[i];
        }
    }

    bool any_kept(std::uint32_t head) const noexcept {
        while (head != npos && out_.hidden.contains(data_.ranges[node(head).range])) head = node(head).below;
        return head != npos;
    }

    const timeline& data_;
    const domain_filter& domains_;
    attribution out_;
    adoption_rule rule_;
    std::vector<std::uint32_t> root_;  // per range: the root above it on its own thread
    std::unordered_map<std::uint32_t, adoption> adopted_roots_;
};

}  // namespace

attribution attribute(const timeline& data, const attribution_options& options) {
    return attributor{data, options}.run();
}

}  // namespace prof
