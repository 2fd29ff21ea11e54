// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/time_slices.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/selection/part_of_timeline.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

// A set of indices, mostly in few runs, and the place of each in ascending order.
template <typename TIndex>
class index_set {
public:
    // REQUIRES: after all runs before, and before any add().
    void add_run(std::size_t first, std::size_t end) {
        if (first < end) runs_.push_back({TIndex(first), TIndex(end), TIndex(0)});
    }
    // Whether it is new.
    bool add(TIndex index) { return !is_in_run(index) && others_.insert(index).second; }

    // After this nothing is added, and place_of() and size() may be called.
    void close() {
        std::vector<TIndex> others(others_.begin(), others_.end());
        std::sort(others.begin(), others.end());
        std::vector<run> all;
        auto next = runs_.begin();
        const auto append = [&all](run of) {
            if (!all.empty() && all.back().end == of.first) {
                all.back().end = of.end;
            } else {
                all.push_back(of);
            }
        };
        for (const TIndex index : others) {
            for (; next != runs_.end() && next->first < index; ++next) append(*next);
            append({index, TIndex(index + 1), TIndex(0)});
        }
        for (; next != runs_.end(); ++next) append(*next);
        for (run& of : all) {
            of.place = TIndex(size_);
            size_ += of.end - of.first;
        }
        runs_ = std::move(all);
        latest_ = 0;
    }

    std::uint32_t size() const noexcept { return size_; }
    // npos: it is not in the set, or npos itself.
    TIndex place_of(TIndex index) const noexcept {
        return is_in_run(index) ? TIndex(runs_[latest_].place + (index - runs_[latest_].first)) : npos;
    }
    // Calls visit(first, end) for each run; after close() these are all of the set.
    template <typename TVisit>
    void for_each_run(TVisit&& visit) const {
        for (const run& of : runs_) visit(of.first, of.end);
    }
    template <typename TVisit>
    void for_each_in_runs(TVisit&& visit) const {
        for_each_run([&](TIndex first, TIndex end) {
            for (TIndex i = first; i < end; ++i) visit(i);
        });
    }

private:
    struct run {
        TIndex first;
        TIndex end;
        TIndex place;  // of the first
    };

    bool is_in_run(TIndex index) const noexcept {
        if (latest_ < runs_.size() && runs_[latest_].first <= index && index < runs_[latest_].end) return true;
        const auto after = std::upper_bound(runs_.begin(), runs_.end(), index,
                                            [](TIndex value, const run& of) { return value < of.first; });
        if (after == runs_.begin() || index >= after[-1].end) return false;
        latest_ = static_cast<std::size_t>(after - runs_.begin()) - 1;
        return true;
    }

    std::vector<run> runs_;  // in order, without overlap
    std::unordered_set<TIndex> others_;
    std::uint32_t size_ = 0;
    mutable std::size_t latest_ = 0;  // the run that was asked for last
};

class slicer {
public:
    slicer(const timeline& whole, std::span<const time_span> spans) : whole_(whole), spans_(spans) {}

    timeline run() {
        choose();
        const auto close = [](auto&... sets) { (sets.close(), ...); };
        close(ranges_, calls_, ops_, open_, torch_, parents_, nodes_, kernels_, transfers_, graphs_);
        copy_frame();
        copy_lists();
        copy_work();
        copy_waits();
        copy_names();
        return std::move(out_);
    }

private:
    void choose() {
        add_runs(whole_.ranges, ranges_);
        add_runs(whole_.api_calls, calls_);
        add_runs(whole_.ops, ops_);
        ranges_.for_each_in_runs([&](range_id range) { keep_around(range); });
        calls_.for_each_in_runs([&](call_id call) { keep_what_call_needs(call); });
        ops_.for_each_in_runs([&](op_id op) { keep_what_op_needs(op); });
        for_each_wait(whole_.host_waits, &host_wait::call, calls_, [&](const host_wait& wait) { keep_op(wait.op); });
        for_each_wait(whole_.stream_waits, &stream_wait::op, ops_,
                      [&](const stream_wait& wait) { keep_op(wait.waits_for); });
        while (!new_parents_.empty()) {
            const work_parent& parent = whole_.work_parents[new_parents_.back()];
            new_parents_.pop_back();
            keep_parent(parent.works_for);
            keep_list(whole_.open_nodes, open_, parent.open);
        }
    }

    // What begins in the spans.
    template <typename TEntity>
    void add_runs(const row_table<TEntity>& of, index_set<row_index<TEntity>>& to) const {
        const auto is_before = [](const TEntity& each, std::int64_t ns) { return each.start_ns < ns; };
        for (const time_span& span : spans_) {
            const auto first = std::lower_bound(of.begin(), of.end(), span.start_ns, is_before);
            const auto end = std::lower_bound(first, of.end(), span.end_ns, is_before);
            to.add_run(static_cast<std::size_t>(first - of.begin()), static_cast<std::size_t>(end - of.begin()));
        }
    }

    // Of what is in the runs of `of`. REQUIRES: `visit` adds no run.
    template <typename TWait, typename TIndex, typename TVisit>
    static void for_each_wait(const std::vector<TWait>& waits, TIndex TWait::*who, const index_set<TIndex>& of,
                              TVisit&& visit) {
        of.for_each_run([&](TIndex first, TIndex end) {
            auto at = std::lower_bound(waits.begin(), waits.end(), first,
                                       [&](const TWait& wait, TIndex index) { return wait.*who < index; });
            for (; at != waits.end() && (*at).*who < end; ++at) visit(*at);
        });
    }

    void keep_op(op_id op) {
        if (op != npos && ops_.add(op)) keep_what_op_needs(op);
    }

    void keep_what_call_needs(call_id index) {
        const timeline_api_call& call = whole_.api_calls[index];
        keep_list(whole_.open_nodes, open_, call.open);
        keep_list(whole_.open_nodes, open_, call.open_on_thread);
        keep_list(whole_.torch_nodes, torch_, call.torch_open);
        keep_parent(call.works_for);
        for (const op_id op : ops_of(whole_, call)) {
            if (ops_.add(op)) keep_details(op);
        }
    }

    void keep_what_op_needs(op_id op) {
        keep_details(op);
        const call_id launch = whole_.ops[op].launch;
        if (launch != npos && calls_.add(launch)) keep_what_call_needs(launch);
    }

    void keep_details(op_id index) {
        const gpu_op& op = whole_.ops[index];
        visit_details(op, [](auto& details, auto detail) { details.add(detail); });
        if (op.graph_node >= whole_.graph_nodes.size() || !nodes_.add(op.graph_node)) return;
        const timeline_graph_node& node = whole_.graph_nodes[op.graph_node];
        keep_list(whole_.open_nodes, open_, node.open);
        keep_parent(node.works_for);
    }

    // Calls visit(set, index in it) with the details of the operation's kind.
    template <typename TVisit>
    void visit_details(const gpu_op& op, TVisit&& visit) {
        if (is_transfer(op.kind)) {
            visit(transfers_, row_index<transfer_record>(op.detail));
        } else if (op.kind == op_kind::kernel) {
            visit(kernels_, row_index<kernel_record>(op.detail));
        } else {
            visit(graphs_, row_index<graph_record>(op.detail));
        }
    }

    template <typename TNode>
    void keep_list(const row_table<TNode>& nodes, index_set<row_index<TNode>>& to, row_index<TNode> head) {
        for (row_index<TNode> i = head; i != npos && to.add(i); i = nodes[i].below_on_thread()) {
            if (ranges_.add(nodes[i].range)) keep_around(nodes[i].range);
        }
    }

    // The ranges around one that is kept.
    void keep_around(range_id range) {
        keep_parent(whole_.ranges[range].works_for);
        for (range_id at = whole_.ranges[range].parent; at != npos && ranges_.add(at); at = whole_.ranges[at].parent) {
            keep_parent(whole_.ranges[at].works_for);
        }
    }

    void keep_parent(work_parent_id parent) {
        if (parent != npos && parents_.add(parent)) new_parents_.push_back(parent);
    }

    void copy_frame() {
        out_ = frame_of(whole_, true);
        for (const time_span& span : spans_) {
            timeline_window& window = out_.windows.emplace_back();
            window.start_ns = span.start_ns;
            window.end_ns = span.end_ns;
            window.epoch = whole_.windows.front().epoch;
        }
        out_.start_ns = spans_.front().start_ns;
        out_.end_ns = spans_.back().end_ns;
    }

    void copy_lists() {
        out_.ranges = copied(whole_.ranges, ranges_, [&](timeline_range& range) {
            range.parent = ranges_.place_of(range.parent);
            range.works_for = parents_.place_of(range.works_for);
        });
        out_.open_nodes = copied(whole_.open_nodes, open_, [&](open_node& node) { change(node, open_); });
        out_.torch_nodes = copied(whole_.torch_nodes, torch_, [&](torch_node& node) { change(node, torch_); });
        out_.work_parents = copied(whole_.work_parents, parents_, [&](work_parent& parent) {
            parent.open = open_.place_of(parent.open);
            parent.works_for = parents_.place_of(parent.works_for);
        });
        out_.graph_nodes = copied(whole_.graph_nodes, nodes_, [&](timeline_graph_node& node) {
            node.open = open_.place_of(node.open);
            node.works_for = parents_.place_of(node.works_for);
        });
    }

    template <typename TNode>
    void change(TNode& node, const index_set<row_index<TNode>>& nodes) const {
        node.range = ranges_.place_of(node.range);
        node.below = nodes.place_of(node.below);
        node.aside = nodes.place_of(node.aside);
    }

    void copy_work() {
        const auto as_it_is = [](const auto&) {};
        out_.kernels = copied(whole_.kernels, kernels_, as_it_is);
        out_.transfers = copied(whole_.transfers, transfers_, as_it_is);
        out_.graphs = copied(whole_.graphs, graphs_, as_it_is);
        out_.ops = copied(whole_.ops, ops_, [&](gpu_op& op) {
            op.launch = calls_.place_of(op.launch);
            visit_details(op, [&op](const auto& details, auto detail) { op.set_detail(details.place_of(detail)); });
            if (op.graph_node < whole_.graph_nodes.size()) op.graph_node = nodes_.place_of(op.graph_node);
        });
        out_.ops_by_launch.reserve(out_.ops.size());
        out_.api_calls = copied(whole_.api_calls, calls_, [&](timeline_api_call& call) {
            call.open = open_.place_of(call.open);
            call.open_on_thread = open_.place_of(call.open_on_thread);
            call.torch_open = torch_.place_of(call.torch_open);
            call.works_for = parents_.place_of(call.works_for);
            const std::uint32_t first = call.first_op;
            if (call.op_count != 0) call.first_op = static_cast<std::uint32_t>(out_.ops_by_launch.size());
            for (std::uint32_t i = 0; i < call.op_count; ++i) {
                out_.ops_by_launch.push_back(ops_.place_of(whole_.ops_by_launch[first + i]));
            }
        });
    }

    void copy_waits() {
        for_each_wait(whole_.host_waits, &host_wait::call, calls_, [&](const host_wait& wait) {
            out_.host_waits.push_back({calls_.place_of(wait.call), ops_.place_of(wait.op)});
        });
        for_each_wait(whole_.call_stacks, &call_stack::call, calls_, [&](const call_stack& each) {
            out_.call_stacks.push_back({calls_.place_of(each.call), each.stack, each.role, each.position});
        });
        for_each_wait(whole_.call_accounts, &call_account::call, calls_, [&](const call_account& each) {
            out_.call_accounts.push_back(each);
            out_.call_accounts.back().call = calls_.place_of(each.call);
        });
        for_each_wait(whole_.stream_waits, &stream_wait::op, ops_, [&](const stream_wait& wait) {
            const op_id waits_for = ops_.place_of(wait.waits_for);
            if (waits_for != npos) out_.stream_waits.push_back({ops_.place_of(wait.op), waits_for});
        });
        copy_collectives();
    }

    // Those whose call or kernel is there.
    void copy_collectives() {
        out_.communicators = whole_.communicators;
        for (const collective_call& each : whole_.collectives) {
            collective_call copy = each;
            if (each.call != npos) copy.call = calls_.place_of(each.call);
            if (each.op != npos) copy.op = ops_.place_of(each.op);
            if (copy.call == npos && copy.op == npos) continue;
            out_.collectives.push_back(copy);
        }
    }

    template <typename TEntity, typename TChange>
    static row_table<TEntity> copied(const row_table<TEntity>& from, const index_set<row_index<TEntity>>& kept,
                                     TChange&& change) {
        row_table<TEntity> out;
        out.reserve(kept.size());
        kept.for_each_in_runs([&](row_index<TEntity> i) { change(out.emplace_back(from[i])); });
        return out;
    }

    void copy_names() {
        for (const timeline_range& range : out_.ranges) copy_name(range.name);
        for (const timeline_api_call& call : out_.api_calls) copy_name(call.kernel_name);
        for (const kernel_record& kernel : out_.kernels) copy_name(name_id(kernel.name));
        for (const device_record& device : out_.devices) copy_name(name_id(device.name));
        for (const code_line& each : out_.code_lines) copy_name(each.name);
        for (const call_account& each : out_.call_accounts) copy_name(each.blocked_in);
        for (const auto& [key, name] : out_.category_names) copy_name(name);
        for (const auto& [key, name] : out_.stream_names) copy_name(name);
    }

    void copy_name(name_id id) {
        const auto found = whole_.name_table.find(id);
        if (found != whole_.name_table.end()) out_.name_table.try_emplace(id, found->second);
    }

    const timeline& whole_;
    std::span<const time_span> spans_;
    timeline out_;
    index_set<range_id> ranges_;
    index_set<call_id> calls_;
    index_set<op_id> ops_;
    index_set<open_node_id> open_;
    index_set<torch_node_id> torch_;
    index_set<work_parent_id> parents_;
    index_set<graph_node_id> nodes_;
    index_set<row_index<kernel_record>> kernels_;
    index_set<row_index<transfer_record>> transfers_;
    index_set<row_index<graph_record>> graphs_;
    std::vector<work_parent_id> new_parents_;  // whose own places are not yet kept
};

}  // namespace

timeline slices_of(const timeline& whole, std::span<const time_span> spans) { return slicer(whole, spans).run(); }

}  // namespace prof
