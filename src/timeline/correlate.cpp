// SPDX-License-Identifier: Apache-2.0
#include "timeline/correlate.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/near_search.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

// Keys of records without times; such a record still shows that its launch was executed.
using untimed_keys = std::vector<std::uint64_t>;

bool has_times(const gpu_op& op) noexcept {
    // Beyond it, differences of two times could overflow 64 bits. A time of the record's 64 bits may be negative here.
    constexpr std::uint64_t latest_ns = 4'000'000'000'000'000'000;
    const auto start_ns = static_cast<std::uint64_t>(op.start_ns);
    const auto end_ns = static_cast<std::uint64_t>(op.end_ns);
    return start_ns != 0 && end_ns >= start_ns && end_ns < latest_ns;
}

void add_ops(timeline& out, std::vector<gpu_op>& ops, untimed_keys& untimed) {
    std::erase_if(ops, [&](const gpu_op& op) {
        if (has_times(op)) return false;
        ++out.quality.dropped[std::string{to_string(drop_cause::cupti_no_timestamp)}];
        untimed.push_back(op.correlation);
        return true;
    });
    if (out.ops.empty()) {
        out.ops = std::move(ops);
    } else {
        out.ops.insert(out.ops.end(), ops.begin(), ops.end());
        ops = {};
    }
}

// Operations that are alike in all of this stay in the order of their records.
bool comes_first(const timeline& data, const gpu_op& a, const gpu_op& b) noexcept {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
    if (a.correlation != b.correlation) return a.correlation < b.correlation;
    if (a.place != b.place) return data.place_of(a) < data.place_of(b);
    return a.kind < b.kind;
}

// The calls by correlation key. Calls of one key are in order of time.
class calls_by_key {
public:
    explicit calls_by_key(const row_table<timeline_api_call>& calls) : calls_(calls) {
        order_.reserve(calls.size());
        for (const call_id i : calls.ids()) {
            if (calls[i].correlation != 0) order_.push_back(i);
        }
        sort_nearly_sorted(order_, [&](call_id a, call_id b) {
            return std::tie(calls[a].correlation, a) < std::tie(calls[b].correlation, b);
        });
    }

    // The latest call of the key that began before the operation; npos if no call has the key. Fast if the operations
    // are asked for nearly in the order of their keys.
    call_id launch_of(const gpu_op& op) {
        place_ = partition_point_near(order_.size(), place_,
                                      [&](std::size_t place) { return key_at(place) < op.correlation; });
        if (place_ == order_.size() || key_at(place_) != op.correlation) return npos;
        // The clocks agree only to about a microsecond, so the first call's work may seem to begin before the call.
        const auto is_earlier = [&](call_id call) {
            return calls_[call].correlation == op.correlation && calls_[call].start_ns <= op.start_ns;
        };
        const auto second = order_.begin() + static_cast<std::ptrdiff_t>(place_) + 1;
        if (second == order_.end() || !is_earlier(*second)) return order_[place_];
        return std::partition_point(second, order_.end(), is_earlier)[-1];
    }

private:
    std::uint64_t key_at(std::size_t place) const noexcept { return calls_[order_[place]].correlation; }

    const row_table<timeline_api_call>& calls_;
    std::vector<call_id> order_;
    std::size_t place_ = 0;  // where the latest key was found
};

void link_launches(timeline& out) {
    calls_by_key calls(out.api_calls);
    for (gpu_op& op : out.ops) {
        if (op.correlation == 0) continue;
        op.launch = calls.launch_of(op);
        if (op.launch != npos) ++out.api_calls[op.launch].op_count;
    }
}

void group_by_launch(timeline& out) {
    std::uint32_t next = 0;
    for (timeline_api_call& call : out.api_calls) {
        if (call.op_count != 0) call.first_op = std::exchange(next, next + call.op_count);
    }
    out.ops_by_launch.resize(next);
    for (const op_id i : out.ops.ids()) {
        const call_id launch = out.ops[i].launch;
        if (launch != npos) out.ops_by_launch[out.api_calls[launch].first_op++] = i;
    }
    for (timeline_api_call& call : out.api_calls) {
        if (call.op_count != 0) call.first_op -= call.op_count;
    }
}

// A kernel record recovered from a CUPTI buffer has no name, since the name was in the dead process's memory. The name
// comes from the kernel's launch; for a graph's node, from another launch of the same node.
void name_the_nameless(timeline& out, distinct_records<kernel_record>& kernels) {
    std::unordered_map<std::uint64_t, std::uint32_t> nodes;
    bool has_nameless = false;
    for (const kernel_record& kernel : kernels.records()) {
        has_nameless = has_nameless || kernel.name == 0;
        if (kernel.name != 0 && kernel.graph_node_id != 0) nodes.emplace(kernel.graph_node_id, kernel.name);
    }
    if (!has_nameless) return;
    for (gpu_op& op : out.ops) {
        if (op.kind != op_kind::kernel || kernels[op.detail].name != 0) continue;
        kernel_record named = kernels[op.detail];
        if (named.graph_node_id != 0) {
            if (const auto node = nodes.find(named.graph_node_id); node != nodes.end()) named.name = node->second;
        } else if (op.launch != npos) {
            named.name = out.api_calls[op.launch].kernel_name;
        }
        op.set_detail(kernels.index_of(named));
    }
}

// Whether launches may have been captured into graphs without a trace. Such a launch leaves no GPU record either; only
// the graph's node records reveal it. If graph work ran and no node is known, CUPTI did not give node ids.
bool may_be_captured_unseen(const timeline& data) {
    if (data.capture_begins.empty()) return false;
    const bool any_capture =
        std::any_of(data.api_calls.begin(), data.api_calls.end(),
                    [](const timeline_api_call& call) { return call.kind == api_class::begins_graph_capture; });
    if (!any_capture) return false;
    const bool is_known =
        data.activities.has(activity::graph_nodes) &&
        (!data.graph_nodes.empty() || std::none_of(data.ops.begin(), data.ops.end(), [&](const gpu_op& op) {
            return op.kind == op_kind::kernel && data.kernels[op.detail].graph_node_id != 0;
        }));
    return !is_known;
}

// Which calls launch kernels: those with a kernel's name. Where names were lost (names_full), the same function's other
// calls decide it as well: a function launches kernels always or never.
class kernel_launches {
public:
    explicit kernel_launches(const timeline& data) {
        if (!data.quality.dropped.contains(std::string{to_string(drop_cause::names_full)})) return;
        for (const timeline_api_call& call : data.api_calls) {
            if (call.kernel_name != 0) functions_.insert(call.function_key());
        }
    }
    bool contains(const timeline_api_call& call) const {
        return call.kernel_name != 0 || (!functions_.empty() && functions_.contains(call.function_key()));
    }

private:
    std::unordered_set<std::uint64_t> functions_;
};

void count_unfinished(timeline& out, untimed_keys untimed) {
    if (may_be_captured_unseen(out)) return;
    std::sort(untimed.begin(), untimed.end());
    const kernel_launches launches(out);
    for (timeline_api_call& call : out.api_calls) {
        const bool launches_kernel = launches.contains(call);
        call.is_unfinished = launches_kernel && call.op_count == 0 && !call.is_captured &&
                             !std::binary_search(untimed.begin(), untimed.end(), call.correlation);
        if (call.is_unfinished) ++out.quality.launches_without_completion;
    }
}

}  // namespace

void correlate(timeline& out, gpu_work work) {
    untimed_keys untimed;
    out.places = work.places();
    work.for_each([&](auto& of) { add_ops(out, of.ops, untimed); });
    sort_nearly_sorted(out.ops, [&](const gpu_op& a, const gpu_op& b) { return comes_first(out, a, b); });
    link_launches(out);
    group_by_launch(out);
    name_the_nameless(out, work.kernels.details);
    out.kernels = work.kernels.details.take();
    out.transfers = work.transfers.details.take();
    out.graphs = work.graphs.details.take();
    count_unfinished(out, std::move(untimed));
}

void link_graph_nodes(timeline& out, const graph_node_events& nodes) {
    const auto id_of = [&](const gpu_op& op) -> std::uint64_t {
        switch (op.kind) {
            case op_kind::kernel:
                return out.kernels[op.detail].graph_node_id;
            case op_kind::memcpy:
            case op_kind::memset:
                return out.transfers[op.detail].graph_node_id;
            case op_kind::graph:
                break;
        }
        return 0;
    };
    const auto is_of_node = [](const auto& r) { return r.graph_node_id != 0; };
    if (std::none_of(out.kernels.begin(), out.kernels.end(), is_of_node) &&
        std::none_of(out.transfers.begin(), out.transfers.end(), is_of_node)) {
        return;
    }
    for (gpu_op& op : out.ops) {
        const std::uint64_t id = id_of(op);
        if (id == 0) continue;
        op.graph_node = nodes.find_origin(id, op.launch == npos ? op.start_ns : out.api_calls[op.launch].start_ns);
    }
}

}  // namespace prof
