// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/part_of_timeline.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/steps/numbered_steps.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// Old index → new one; npos: not kept.
template <typename TIndex>
using index_map = row_values<TIndex, TIndex>;

template <typename TIndex>
index_map<TIndex> numbered(const row_values<TIndex, std::uint8_t>& kept) {
    index_map<TIndex> out(kept.size(), npos);
    TIndex next{0};
    for (const TIndex i : kept.ids()) {
        if (kept[i] != 0) out[i] = next++;
    }
    return out;
}

template <typename TIndex>
TIndex at(const index_map<TIndex>& map, TIndex index) noexcept {
    return index < map.size() ? map[index] : npos;
}

// Where lists of open ranges begin once the ranges that are not kept are taken out of them.
template <typename TNode>
struct list_heads {
    index_map<row_index<TNode>> below{};      // by old node
    index_map<row_index<TNode>> on_thread{};  // the same with what is set aside
};

class part_maker {
public:
    part_maker(const timeline& whole, attribution& att, const kept_entities& kept, const time_spans* times)
        : whole_(whole), att_(att), kept_(kept), times_(times) {}

    timeline run() {
        range_is_kept_ = kept_.ranges;
        keep_ranges_of_captures();
        range_ = numbered(range_is_kept_);
        call_ = numbered(kept_.calls);
        op_ = numbered(kept_.ops);
        copy_the_rest();
        copy_ranges();
        copy_lists();
        copy_marks();
        copy_ops();
        copy_calls();
        copy_waits();
        change_attribution();
        if (times_ != nullptr) cut_windows();
        return std::move(out_);
    }

private:
    // A captured range needs the one that was open at the capture. It is no instance of its own if it is not kept.
    void keep_ranges_of_captures() {
        for (const replayed_id i : att_.replayed.ids()) {
            if (kept_.replayed[i] != 0) range_is_kept_[att_.replayed[i].range] = 1;
        }
    }

    void copy_the_rest() {
        out_ = frame_of(whole_, times_ != nullptr);
        out_.work_parents = whole_.work_parents;
        out_.kernels = whole_.kernels;
        out_.transfers = whole_.transfers;
        out_.graphs = whole_.graphs;
        out_.graph_nodes = whole_.graph_nodes;
        out_.windows = whole_.windows;
        out_.start_ns = whole_.start_ns;
        out_.end_ns = whole_.end_ns;
        out_.name_table = whole_.name_table;
    }

    // The nearest range above that is kept, by `parents`; else the constant at the end of the chain.
    template <typename TParent>
    range_id kept_above(range_id range, TParent&& parent_of) const {
        range_id above = parent_of(range);
        while (is_range(above) && kept_.ranges[above] == 0) above = parent_of(above);
        return is_range(above) ? range_[above] : above;
    }

    void copy_ranges() {
        for (const range_id i : whole_.ranges.ids()) {
            if (range_is_kept_[i] == 0) continue;
            timeline_range& range = out_.ranges.emplace_back(whole_.ranges[i]);
            range.parent = kept_above(i, [&](range_id of) { return whole_.ranges[of].parent; });
            if (kept_.ranges[i] == 0) range.style = range_style::graph_context;
            if (times_ != nullptr && kept_.ranges[i] != 0) cut(range);
        }
        for (const range_id i : out_.ranges.ids()) out_.ranges[i].depth = depth_of(i);
        for (const numbered_step& step : number_steps(whole_, att_.hidden).steps) {
            if (step.phase != npos && kept_.ranges[step.phase] != 0) {
                out_.step_numbers[range_[step.phase]] = step.number;
            }
        }
    }

    // A step may begin after a range that it is around. REQUIRES: the depths of the ranges before are set.
    std::uint32_t depth_of(range_id range) const {
        const range_id parent = out_.ranges[range].parent;
        if (parent != npos && parent < range) return out_.ranges[parent].depth + 1;
        std::uint32_t depth = 0;
        for (range_id above = parent; above != npos && depth < out_.ranges.size(); ++depth) {
            above = out_.ranges[above].parent;
        }
        return depth;
    }

    void cut(timeline_range& range) const {
        const std::optional<time_span> inside = times_->cut(range.start_ns, range.end_ns);
        if (!inside) {
            range.start_ns = range.end_ns;
            return;
        }
        range.open_at_start = range.open_at_start || inside->start_ns > range.start_ns;
        range.start_ns = inside->start_ns;
        range.end_ns = inside->end_ns;
    }

    // `nodes`: of the timeline, or with indices that go on from it the attribution's own.
    template <typename TNode>
    void take_out(const std::vector<TNode>& nodes, std::vector<TNode>& to, list_heads<TNode>& heads,
                  std::size_t first = 0) const {
        using node_id = row_index<TNode>;
        for (const TNode& old : nodes) {
            const node_id index(heads.below.size());
            const node_id below = old.below < index ? old.below : npos;
            const node_id next = below != npos ? below : old.aside < index ? old.aside : npos;
            TNode node = old;
            node.below = below == npos ? npos : heads.below[below];
            const node_id on_thread = next == npos ? npos : heads.on_thread[next];
            node.aside = node.below == npos ? on_thread : npos;
            if (kept_.ranges[old.range] == 0) {
                heads.below.push_back(node.below);
                heads.on_thread.push_back(on_thread);
                continue;
            }
            node.range = range_[old.range];
            const node_id place(first + to.size());
            to.push_back(node);
            heads.below.push_back(place);
            heads.on_thread.push_back(place);
        }
    }

    void copy_lists() {
        take_out<open_node>(whole_.open_nodes, out_.open_nodes, open_);
        take_out<torch_node>(whole_.torch_nodes, out_.torch_nodes, torch_);
        for (work_parent& parent : out_.work_parents) parent.open = at(open_.below, parent.open);
        for (timeline_graph_node& node : out_.graph_nodes) node.open = at(open_.below, node.open);
    }

    void copy_waits() {
        for (const stream_wait& wait : whole_.stream_waits) {
            if (kept_.ops[wait.op] != 0 && kept_.ops[wait.waits_for] != 0) {
                out_.stream_waits.push_back({op_[wait.op], op_[wait.waits_for]});
            }
        }
        for (const host_wait& wait : whole_.host_waits) {
            if (kept_.calls[wait.call] != 0) out_.host_waits.push_back({call_[wait.call], at(op_, wait.op)});
        }
        for (const call_stack& each : whole_.call_stacks) {
            if (kept_.calls[each.call] != 0)
                out_.call_stacks.push_back({call_[each.call], each.stack, each.role, each.position});
        }
        out_.communicators = whole_.communicators;
        for (const collective_call& each : whole_.collectives) {
            collective_call copy = each;
            copy.call = at(call_, each.call);
            copy.op = at(op_, each.op);
            if (copy.call != npos || copy.op != npos) out_.collectives.push_back(copy);
        }
        for (const call_account& each : whole_.call_accounts) {
            if (kept_.calls[each.call] == 0) continue;
            out_.call_accounts.push_back(each);
            out_.call_accounts.back().call = call_[each.call];
        }
    }

    void copy_marks() {
        for (const mark_id i : whole_.marks.ids()) {
            if (kept_.marks[i] != 0) out_.marks.push_back(whole_.marks[i]);
        }
        for (const memory_event& each : whole_.memory) {
            if (times_ != nullptr && !times_->contains(each.time_ns)) continue;
            memory_event& copy = out_.memory.emplace_back(each);
            copy.open = at(open_.below, each.open);
            copy.torch_open = at(torch_.below, each.torch_open);
        }
        out_.is_memory_of_cuda = whole_.is_memory_of_cuda;
        // All of it: what is there at a moment was had before.
        for (const cuda_memory_event& each : whole_.cuda_memory) {
            cuda_memory_event& copy = out_.cuda_memory.emplace_back(each);
            copy.of.open = at(open_.below, each.of.open);
            copy.of.torch_open = at(torch_.below, each.of.torch_open);
        }
        out_.series = all_series_of(out_);
    }

    void copy_ops() {
        for (const op_id i : whole_.ops.ids()) {
            if (kept_.ops[i] == 0) continue;
            gpu_op& op = out_.ops.emplace_back(whole_.ops[i]);
            op.launch = at(call_, op.launch);
        }
    }

    void copy_calls() {
        for (const call_id i : whole_.api_calls.ids()) {
            if (kept_.calls[i] == 0) continue;
            const timeline_api_call& old = whole_.api_calls[i];
            timeline_api_call& call = out_.api_calls.emplace_back(old);
            call.open = at(open_.below, old.open);
            call.open_on_thread = at(open_.on_thread, old.open_on_thread);
            call.torch_open = at(torch_.below, old.torch_open);
            const auto first = static_cast<std::uint32_t>(out_.ops_by_launch.size());
            for (const op_id op : ops_of(whole_, old)) {
                if (op_[op] != npos) out_.ops_by_launch.push_back(op_[op]);
            }
            call.op_count = static_cast<std::uint32_t>(out_.ops_by_launch.size()) - first;
            call.first_op = call.op_count == 0 ? npos : first;
        }
    }

    void change_attribution() {
        attribution to;
        to.hidden = att_.hidden;
        take_out<open_node>(att_.extra_nodes, to.extra_nodes, open_, out_.open_nodes.size());
        change_places(to);
        change_replayed(to);
        for (const op_id i : whole_.ops.ids()) {
            if (kept_.ops[i] == 0) continue;
            to.owner.push_back(changed_owner(i));
            to.open.push_back(at(open_.below, att_.open[i]));
            to.adopted_open.push_back(at(open_.below, att_.adopted_open[i]));
            to.adopted.push_back(att_.adopted[i]);
            to.captured.push_back(at(replayed_, att_.captured[i]));
            if (whole_.ops[i].graph_node == graph_capture_unseen) ++to.ops_of_unseen_captures;
        }
        if (to.owner.size() == whole_.ops.size()) to.ops_of_ambiguous_captures = att_.ops_of_ambiguous_captures;
        att_ = std::move(to);
    }

    // Adopters may come after what they adopt, so depths are counted for each range by itself.
    void change_places(attribution& to) const {
        for (const range_id i : whole_.ranges.ids()) {
            if (range_is_kept_[i] == 0) continue;
            to.parent.push_back(kept_above(i, [&](range_id of) { return att_.parent[of]; }));
            std::uint32_t depth = 0;
            for (range_id above = att_.parent[i]; is_range(above); above = att_.parent[above]) {
                depth += kept_.ranges[above];
            }
            to.depth.push_back(depth);
            if (!att_.keeps_name.empty()) to.keeps_name.push_back(att_.keeps_name[i]);
        }
    }

    // The ranges that are not kept are taken out of the chains of captured ones.
    void change_replayed(attribution& to) {
        replayed_.assign(att_.replayed.size(), npos);
        for (const replayed_id i : att_.replayed.ids()) {
            const replayed_range& old = att_.replayed[i];
            const replayed_id parent = at(replayed_, old.parent);
            replayed_[i] = parent;
            if (kept_.replayed[i] == 0 || call_[old.launch] == npos) continue;
            replayed_range of = old;
            of.range = range_[old.range];
            of.launch = call_[old.launch];
            of.parent = parent;
            of.depth = parent == npos ? 0 : to.replayed[parent].depth + 1;
            if (parent == npos) {
                const timeline_api_call& call = whole_.api_calls[old.launch];
                const range_id owner = changed_owner(whole_.ops_by_launch[call.first_op]);
                if (is_range(owner)) of.depth = to.depth[owner] + 1;
            }
            replayed_[i] = to.replayed.end_id();
            to.replayed.push_back(of);
            if (!att_.replayed_keeps_name.empty()) to.replayed_keeps_name.push_back(att_.replayed_keeps_name[i]);
        }
    }

    // The innermost range that is kept of those for which an operation counts.
    range_id changed_owner(op_id op) const {
        const range_id owner = att_.owner[op];
        if (!is_range(owner)) return owner;
        if (kept_.ranges[owner] != 0) return range_[owner];
        range_id changed = npos;
        for_each_open_range(whole_, att_, op, [&](range_id range) {
            if (changed == npos) changed = range_[range] != npos && kept_.ranges[range] != 0 ? range_[range] : npos;
        });
        if (changed != npos) return changed;
        // Its ranges are gone, and what they hung under is not.
        range_id above = owner;
        while (is_range(above)) above = att_.parent[above];
        return above == owner_ambiguous ? owner_ambiguous : owner_no_range;
    }

    void cut_windows() {
        out_.windows.clear();
        for (const timeline_window& window : whole_.windows) {
            const std::optional<time_span> inside = times_->cut(window.start_ns, window.end_ns);
            if (!inside) continue;
            timeline_window& of = out_.windows.emplace_back(window);
            of.ends_with_step = window.ends_with_step && inside->end_ns == window.end_ns;
            of.start_ns = inside->start_ns;
            of.end_ns = inside->end_ns;
        }
        if (out_.windows.empty()) {
            timeline_window& of = out_.windows.emplace_back();
            if (!whole_.windows.empty()) of.epoch = whole_.windows.front().epoch;
            // Steps of a damaged trace may have no length.
            of.start_ns = times_->is_empty() ? whole_.start_ns : times_->list().front().start_ns;
            of.end_ns = times_->is_empty() ? whole_.start_ns : times_->list().back().end_ns;
        }
        out_.start_ns = out_.windows.front().start_ns;
        out_.end_ns = out_.windows.back().end_ns;
    }

    const timeline& whole_;
    attribution& att_;
    const kept_entities& kept_;
    const time_spans* times_;
    timeline out_;
    row_values<range_id, std::uint8_t> range_is_kept_;  // as kept_.ranges, and those that only captured ranges need
    index_map<range_id> range_;
    index_map<call_id> call_;
    index_map<op_id> op_;
    index_map<replayed_id> replayed_;  // of one that is not kept: the nearest above that is
    list_heads<open_node> open_;
    list_heads<torch_node> torch_;
};

}  // namespace

timeline frame_of(const timeline& whole, bool is_cut) {
    timeline out;
    out.properties = whole.properties;
    if (is_cut) out.properties.erase("last_step_on_gpu_ns");  // the whole's
    out.activities = whole.activities;
    out.threads = whole.threads;
    out.domains = whole.domains;
    out.category_names = whole.category_names;
    out.stream_names = whole.stream_names;
    out.places = whole.places;
    out.capture_begins = whole.capture_begins;
    out.code_lines = whole.code_lines;
    out.code_stacks = whole.code_stacks;
    out.devices = whole.devices;
    out.quality = whole.quality;
    return out;
}

timeline part_of(const timeline& whole, attribution& att, const kept_entities& kept, const time_spans* times) {
    return part_maker(whole, att, kept, times).run();
}

}  // namespace prof
