// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/attribution.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/attribution/adoption.hpp"
#include "analysis/attribution/graph_ranges.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

constexpr std::size_t deepest_descent = 1000;

// The most ranges for which one piece of work may count by adoption, and under which another thread's range may hang.
// Real chains of threads that work for each other stay far below; a damaged capture may chain all its threads.
constexpr std::size_t longest_list = 4096;
// The limit for all lists made by adoption, in addition to some for each record.
constexpr std::size_t nodes_for_all = 1U << 20;
constexpr std::size_t nodes_a_record = 16;

class attributor {
public:
    attributor(const timeline& data, const attribution_options& options)
        : data_(data),
          domains_(options.domains),
          places_operators_(options.places_operators),
          rule_(data, options.adopt_pattern, out_.extra_nodes) {
        const bool any_outside = std::any_of(data.graph_nodes.begin(), data.graph_nodes.end(),
                                             [](const timeline_graph_node& node) { return node.outside_windows; });
        if (any_outside) context_rule_.emplace(data, options.adopt_pattern, out_.extra_nodes, true);
        out_.adopt_pattern = options.adopt_pattern;
    }

    attribution run() {
        place_own_ranges();
        find_first_work();
        place_adopted_ranges();
        out_.owner.assign(data_.ops.size(), owner_unmatched);
        out_.open.assign(data_.ops.size(), npos);
        out_.adopted_open.assign(data_.ops.size(), npos);
        out_.adopted.assign(data_.ops.size(), 0);
        out_.captured.assign(data_.ops.size(), npos);
        for (const timeline_api_call& call : data_.api_calls) {
            if (call.op_count != 0) attribute_call(call);
        }
        out_.hidden = hidden_domains{data_, domains_};
        if (out_.hidden.any()) pass_over_hidden_ranges();
        graph_ranges captured{data_, out_};
        captured.add([&](const timeline_graph_node& node, const gpu_op& first) {
            const target to =
                choose({node.open, node.thread, node.works_for, node.created_ns, node.outside_windows}, first);
            return captured_at{node.open, to.adopted_open, to.is_ambiguous};
        });
        return std::move(out_);
    }

private:
    // The place where a thread caused work, by a launch or by capturing one.
    struct order {
        open_node_id open = npos;  // the ranges open on the thread
        thread_id thread = npos;
        work_parent_id works_for = npos;
        std::int64_t time_ns = 0;
        bool outside_windows = false;  // while nothing was recorded
    };
    // The place to which the work goes.
    struct target {
        range_id owner = owner_no_range;
        open_node_id adopted_open = npos;
        bool adopted = false;
        bool is_ambiguous = false;  // several threads may have caused the work
    };

    const open_node& node(open_node_id index) const noexcept { return list_node(data_, out_, index); }
    range_id innermost(open_node_id head) const noexcept { return head == npos ? npos : node(head).range; }
    const gpu_op& first_op(const timeline_api_call& call) const noexcept {
        return data_.ops[data_.ops_by_launch[call.first_op]];
    }

    // Recorded work must not hang under a range from a time in which nothing was recorded.
    const adoption_rule& rule(bool outside_windows) const noexcept {
        return outside_windows && context_rule_ ? *context_rule_ : rule_;
    }

    // Builds the tree of each thread. Parents opened on the same thread, mostly before their children: a step that
    // begins in a range which has work of the step before in it is around that range, and begins later.
    void place_own_ranges() {
        out_.parent.resize(data_.ranges.size());
        out_.depth.resize(data_.ranges.size());
        root_.resize(data_.ranges.size());
        for (const range_id i : data_.ranges.ids()) {
            const timeline_range& range = data_.ranges[i];
            out_.parent[i] = range.parent;
            out_.depth[i] = range.depth;
            find_root(i);
        }
    }
    void find_root(range_id range) {
        const range_id parent = data_.ranges[range].parent;
        if (parent == npos || root_[parent] != npos) {
            root_[range] = parent == npos ? range : root_[parent];
            return;
        }
        std::vector<range_id> path;
        range_id above = range;
        for (; root_[above] == npos; above = data_.ranges[above].parent) {
            root_[above] = above;  // of a range without a parent, and the end of a circle in a damaged capture
            if (data_.ranges[above].parent == npos) break;
            path.push_back(above);
        }
        for (const range_id below : path) root_[below] = root_[above];
    }

    // Finds the first work inside each root of the threads that match the pattern: its stream decides the adoption.
    void find_first_work() {
        first_work_.assign(data_.ranges.size(), nullptr);
        for (const timeline_api_call& call : data_.api_calls) {
            if (call.op_count == 0 || !rule_.works_for_others(call.thread)) continue;
            if (call.open != npos) add_first_work(innermost(call.open), first_op(call));
            if (places_operators_ && call.torch_open != npos) {
                add_first_work(data_.torch_nodes[call.torch_open].range, first_op(call));
            }
        }
        // Captured work ran later, on some stream.
        for (const gpu_op& op : data_.ops) {
            if (op.graph_node >= data_.graph_nodes.size()) continue;
            const timeline_graph_node& node = data_.graph_nodes[op.graph_node];
            if (op.launch == npos || node.open == npos || !rule_.works_for_others(node.thread)) continue;
            add_first_work(innermost(node.open), op);
        }
    }
    void add_first_work(range_id range, const gpu_op& op) {
        const gpu_op*& first = first_work_[root_[range]];
        if (first == nullptr) first = &op;
    }

    bool may_be_adopted(const timeline_range& range) const noexcept {
        return range.style != range_style::start_end && (places_operators_ || range.takes_part()) &&
               (range.works_for != npos || rule_.works_for_others(range.thread));
    }

    // Hangs the roots of adopted threads under their adopters, as of the moment they opened. In order of time, together
    // with the places that threads declared to work for: so each decision precedes those that depend on it.
    void place_adopted_ranges() {
        std::vector<work_parent_id> places(data_.work_parents.ids().begin(), data_.work_parents.ids().end());
        std::sort(places.begin(), places.end(), [&](work_parent_id a, work_parent_id b) {
            return data_.work_parents[a].time_ns < data_.work_parents[b].time_ns;
        });
        auto place = places.begin();
        for (const range_id i : data_.ranges.ids()) {
            for (; place != places.end() && data_.work_parents[*place].time_ns < data_.ranges[i].start_ns; ++place) {
                open_at_place(*place);
            }
            if (may_be_adopted(data_.ranges[i]) && root_[i] == i) hang(i, adoption_of_root(i));
        }
        for (; place != places.end(); ++place) open_at_place(*place);

        row_values<range_id, std::uint8_t> has_depth(data_.ranges.size());
        for (const range_id i : data_.ranges.ids()) has_depth[i] = may_be_adopted(data_.ranges[i]) ? 0 : 1;
        for (const range_id i : data_.ranges.ids()) set_depth(i, has_depth);
    }

    void hang(range_id root, const adoption& choice) {
        if (choice.kind == adoption::outcome::ambiguous) out_.parent[root] = owner_ambiguous;
        if (choice.kind != adoption::outcome::adopted) return;
        const range_id parent = innermost(choice.open);
        std::size_t above = 0;
        for (range_id at = parent; is_range(at); at = out_.parent[at]) {
            if (at != root && ++above <= longest_list) continue;
            adopted_roots_[root] = {};  // a damaged capture: the range would hang under itself, or too deep
            return;
        }
        out_.parent[root] = parent;
    }

    // An adopter may be adopted itself, and in the same nanosecond it may come after what it adopts.
    void set_depth(range_id range, row_values<range_id, std::uint8_t>& has_depth) {
        std::vector<range_id> path;
        range_id at = range;
        for (; is_range(at) && has_depth[at] == 0; at = out_.parent[at]) path.push_back(at);
        std::uint32_t depth = is_range(at) ? out_.depth[at] + 1 : 0;
        for (auto r = path.rbegin(); r != path.rend(); ++r) {
            out_.depth[*r] = depth++;
            has_depth[*r] = 1;
        }
    }

    // The adoption of the ranges below a root, decided when the root opened.
    adoption adoption_of_root(range_id root) {
        const timeline_range& range = data_.ranges[root];
        if (!may_be_adopted(range)) return {};
        const auto [found, is_new] = adopted_roots_.try_emplace(root);
        if (!is_new) return found->second;  // a cycle of places (a damaged capture) counts as "not adopted"
        const bool outside_windows = range.style == range_style::graph_context;
        adoption choice;
        if (range.works_for != npos) {
            choice = declared(range.works_for, range.start_ns);
        } else if (first_work_[root] == nullptr) {
            choice = rule(outside_windows).decide(range.start_ns, range.thread);
        } else {
            choice = rule(outside_windows).decide(range.start_ns, range.thread, *first_work_[root]);
        }
        return adopted_roots_[root] = choice;
    }

    // The ranges of a declared place that are still open at `time_ns`.
    adoption declared(work_parent_id place, std::int64_t time_ns) {
        adoption choice = open_at_place(place);
        if (choice.kind == adoption::outcome::adopted) {
            choice.open = still_open(choice.open, time_ns);
            if (choice.open == npos) choice = {};
        }
        return choice;
    }

    // All ranges for which work at the place counted: those open there, and those under which these hang in turn.
    adoption open_at_place(work_parent_id place) {
        const auto [found, is_new] = places_.try_emplace(place);
        if (!is_new) return found->second;
        // In order of time nothing needs a descent; only a capture with damaged times gets deep.
        if (descent_ == deepest_descent) return {};
        ++descent_;
        const work_parent& parent = data_.work_parents[place];
        adoption whole;
        if (parent.open != npos) {
            const adoption above = adoption_of_root(root_[innermost(parent.open)]);
            whole = {adoption::outcome::adopted, parent.open};
            if (above.kind == adoption::outcome::adopted) {
                whole.open = joined(parent.open, still_open(above.open, parent.time_ns));
            }
        } else if (parent.works_for != npos) {
            whole = declared(parent.works_for, parent.time_ns);
        } else if (parent.thread != npos && rule_.works_for_others(parent.thread)) {
            whole = rule(parent.outside_windows).decide(parent.time_ns, parent.thread);
        }
        --descent_;
        return places_[place] = whole;
    }

    // `first`: the first operation of the order.
    target choose(const order& given, const gpu_op& first) {
        if (given.open != npos) return choose_by_root(innermost(given.open), given);
        adoption choice;
        if (given.works_for != npos) {
            choice = declared(given.works_for, given.time_ns);
        } else if (rule_.works_for_others(given.thread)) {
            choice = rule(given.outside_windows).decide(given.time_ns, given.thread, first);
        }
        switch (choice.kind) {
            case adoption::outcome::none:
                break;
            case adoption::outcome::ambiguous:
                return {.owner = owner_ambiguous, .is_ambiguous = true};
            case adoption::outcome::adopted:
                return {.owner = innermost(choice.open),
                        .adopted_open = choice.open,
                        .adopted = is_of_another(choice.open, given.thread)};
        }
        return {};
    }

    // Work inside a range goes where the range hangs, as far as the ranges above are still open.
    target choose_by_root(range_id owner, const order& given) {
        const range_id root = root_[owner];
        if (!may_be_adopted(data_.ranges[root])) return {.owner = owner};
        const auto found = adopted_roots_.find(root);
        if (found == adopted_roots_.end()) return {.owner = owner};
        if (found->second.kind != adoption::outcome::adopted) {
            return {.owner = owner, .is_ambiguous = found->second.kind == adoption::outcome::ambiguous};
        }
        const bool adopted = is_of_another(found->second.open, given.thread);
        return {.owner = owner, .adopted_open = still_open(found->second.open, given.time_ns), .adopted = adopted};
    }

    // False if all ranges are the thread's own: a thread may declare to work for a place of its own.
    bool is_of_another(open_node_id head, thread_id thread) const noexcept {
        for (open_node_id at = head; at != npos; at = node(at).below) {
            if (data_.ranges[node(at).range].thread != thread) return true;
        }
        return false;
    }

    // The ranges of `head` on top of the ranges of `tail`.
    open_node_id joined(open_node_id head, open_node_id tail) {
        std::vector<range_id> above;  // innermost first
        for (open_node_id at = head; at != npos; at = node(at).below) above.push_back(node(at).range);
        std::size_t length = above.size();
        for (open_node_id at = tail; at != npos; at = node(at).below) ++length;
        const std::size_t records = data_.ranges.size() + data_.work_parents.size();
        const bool too_much = out_.extra_nodes.size() > nodes_for_all + nodes_a_record * records;
        return length > longest_list || too_much ? head : on_top(above, tail);
    }

    open_node_id on_top(const std::vector<range_id>& above, open_node_id tail) {
        for (auto range = above.rbegin(); range != above.rend(); ++range) {
            out_.extra_nodes.push_back({.range = *range, .below = tail});
            tail = open_node_id(data_.open_nodes.size() + out_.extra_nodes.size() - 1);
        }
        return tail;
    }

    bool is_open(range_id range, std::int64_t time_ns) const noexcept {
        return time_ns < data_.ranges[range].inside_until_ns();
    }

    // The ranges of the list `head` that are open at `time_ns`, as a list. This is nearly always the list itself or its
    // tail.
    open_node_id still_open(open_node_id head, std::int64_t time_ns) {
        open_node_id tail = head;  // the part below the last closed range, kept as it is
        for (open_node_id at = head; at != npos; at = node(at).below) {
            if (!is_open(node(at).range, time_ns)) tail = node(at).below;
        }
        std::vector<range_id> above;  // innermost first
        for (open_node_id at = head; at != tail; at = node(at).below) {
            if (is_open(node(at).range, time_ns)) above.push_back(node(at).range);
        }
        return on_top(above, tail);
    }

    // All operations of a call count for the same open ranges, since a graph is one piece of work.
    void attribute_call(const timeline_api_call& call) {
        const target to = choose({call.open, call.thread, call.works_for, call.start_ns}, first_op(call));
        for (const op_id op : ops_of(data_, call)) {
            out_.owner[op] = to.owner;
            out_.open[op] = call.open;
            out_.adopted_open[op] = to.adopted_open;
            out_.adopted[op] = to.adopted ? 1 : 0;
        }
    }

    // Gives what hidden ranges had to the next range outside, as if the hidden ones had never been opened.
    void pass_over_hidden_ranges() {
        const auto is_hidden = [&](range_id range) { return out_.hidden.contains(data_.ranges[range]); };
        for (const op_id op : out_.owner.ids()) {
            if (out_.adopted[op] != 0) out_.adopted[op] = is_adopted_without_hidden(op) ? 1 : 0;
            range_id& owner = out_.owner[op];
            if (!is_range(owner) || !is_hidden(owner)) continue;
            const range_id former = owner;
            owner = npos;
            for_each_open_range(data_, out_, op, [&](range_id range) {
                if (owner == npos) owner = range;
            });
            if (owner != npos) continue;
            owner = out_.parent[root_[former]] == owner_ambiguous ? owner_ambiguous : owner_no_range;
        }
        row_values<range_id, range_id> parent(out_.parent.size());
        for (const range_id i : parent.ids()) {
            range_id above = out_.parent[i];
            // Of the ranges above a hidden one, those count that were still open when this range was opened.
            bool passed = false;
            while (is_range(above) && (is_hidden(above) || (passed && !is_open(above, data_.ranges[i].start_ns)))) {
                above = out_.parent[above];
                passed = true;
            }
            parent[i] = above;
        }
        out_.parent = std::move(parent);
        for (const range_id i : out_.depth.ids()) {
            out_.depth[i] = 0;
            for (range_id above = out_.parent[i]; is_range(above); above = out_.parent[above]) ++out_.depth[i];
        }
    }

    // Whether a range of another thread was open when the outermost kept range of the operation's own thread was
    // opened, or at the launch if there is no such range. REQUIRES: the operation is adopted.
    bool is_adopted_without_hidden(op_id op) const {
        const timeline_api_call& call = data_.api_calls[data_.ops[op].launch];
        const range_id own = innermost(call.open);
        const open_node_id others = own == npos ? out_.adopted_open[op] : adopted_roots_.at(root_[own]).open;
        std::int64_t since_ns = call.start_ns;
        for (range_id at = out_.hidden.innermost_kept(data_, call.open); at != npos; at = data_.ranges[at].parent) {
            const bool encloses = !out_.hidden.contains(data_.ranges[at]) && is_open(at, since_ns);
            if (encloses) since_ns = data_.ranges[at].start_ns;
        }
        for (open_node_id at = others; at != npos; at = node(at).below) {
            const timeline_range& range = data_.ranges[node(at).range];
            const bool counts = range.thread != call.thread && !out_.hidden.contains(range);
            if (counts && is_open(node(at).range, since_ns)) return true;
        }
        return false;
    }

    const timeline& data_;
    const domain_filter& domains_;
    bool places_operators_;
    attribution out_;
    adoption_rule rule_;
    std::optional<adoption_rule> context_rule_;       // for graph nodes that were captured while nothing was recorded
    row_values<range_id, range_id> root_;             // by range: its root on its own thread
    row_values<range_id, const gpu_op*> first_work_;  // by root; null: none
    std::unordered_map<range_id, adoption> adopted_roots_;
    std::unordered_map<work_parent_id, adoption> places_;
    std::size_t descent_ = 0;  // depth of nested open_at_place() calls
};

}  // namespace

attribution attribute(const timeline& data, const attribution_options& options) {
    return attributor{data, options}.run();
}

row_values<thread_id, thread_id> home_threads(const timeline& data, const attribution& att) {
    row_values<thread_id, thread_id> out(data.threads.size());
    for (const thread_id i : out.ids()) out[i] = i;
    for (const op_id op : data.ops.ids()) {
        const call_id launch = data.ops[op].launch;
        if (launch == npos) continue;
        const thread_id home = adopting_thread(data, att, op);
        if (home != npos) out[data.api_calls[launch].thread] = home;
    }
    return out;
}

}  // namespace prof
