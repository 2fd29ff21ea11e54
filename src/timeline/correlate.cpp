// SPDX-License-Identifier: Apache-2.0
#include "timeline/correlate.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

struct keyed_call {
    std::uint64_t key = 0;
    std::uint32_t call = npos;
};

// Keys of records without times; such a record still shows that its launch was executed.
using untimed_keys = std::vector<std::uint64_t>;

template <typename TRecord>
bool has_times(const TRecord& r) noexcept {
    // Beyond it, differences of two times could overflow 64 bits.
    constexpr std::uint64_t latest_ns = 4'000'000'000'000'000'000;
    return r.start_ns != 0 && r.end_ns >= r.start_ns && r.end_ns < latest_ns;
}

constexpr op_kind kind_of(const kernel_record&) noexcept { return op_kind::kernel; }
constexpr op_kind kind_of(const transfer_record& r) noexcept {
    return r.kind == transfer_kind::memset ? op_kind::memset : op_kind::memcpy;
}

constexpr op_kind kind_of(const graph_record&) noexcept { return op_kind::graph; }

// Removes the records without times in place: a copy would double what is most of a capture.
template <typename TRecord>
void add_ops(timeline& out, std::vector<TRecord>& records, untimed_keys& untimed) {
    std::size_t kept = 0;
    for (const TRecord& r : records) {
        if (!has_times(r)) {
            ++out.quality.dropped[std::string{to_string(drop_cause::cupti_no_timestamp)}];
            untimed.push_back(r.correlation);
            continue;
        }
        out.ops.push_back({.start_ns = static_cast<std::int64_t>(r.start_ns),
                           .end_ns = static_cast<std::int64_t>(r.end_ns),
                           .correlation = r.correlation,
                           .device = r.device,
                           .context = r.context,
                           .stream = r.stream,
                           .detail = static_cast<std::uint32_t>(kept),
                           .kind = kind_of(r)});
        records[kept++] = r;
    }
    records.resize(kept);
}

// The latest call that began before the operation. [first, last) are all calls of one key, in order of time.
const keyed_call* nearest_earlier(const timeline& data, const keyed_call* first, const keyed_call* last,
                                  const gpu_op& op) {
    const keyed_call* after = std::upper_bound(first, last, op.start_ns, [&](std::int64_t t, const keyed_call& c) {
        return t < data.api_calls[c.call].start_ns;
    });
    // The clocks agree only to about a microsecond, so the first call's work may seem to begin before the call.
    return after == first ? first : after - 1;
}

void link_launches(timeline& out, const std::vector<keyed_call>& calls) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ops;
    ops.reserve(out.ops.size());
    for (std::uint32_t i = 0; i < out.ops.size(); ++i) ops.emplace_back(out.ops[i].correlation, i);
    sort_nearly_sorted(ops, std::less<>{});

    // Both sides are sorted by key; [first, last) are the calls of the present key.
    const keyed_call* const end = calls.data() + calls.size();
    const keyed_call* first = calls.data();
    const keyed_call* last = first;
    for (const auto& [key, op] : ops) {
        if (first == last || first->key != key) {
            while (first != end && first->key < key) ++first;
            last = first;
            while (last != end && last->key == key) ++last;
        }
        if (first != last) out.ops[op].launch = nearest_earlier(out, first, last, out.ops[op])->call;
    }
}

void group_by_launch(timeline& out) {
    for (const gpu_op& op : out.ops) {
        if (op.launch != npos) ++out.api_calls[op.launch].op_count;
    }
    std::uint32_t next = 0;
    for (timeline_api_call& call : out.api_calls) {
        if (call.op_count != 0) call.first_op = std::exchange(next, next + call.op_count);
    }
    out.ops_by_launch.resize(next);
    std::vector<std::uint32_t> filled(out.api_calls.size(), 0);
    for (std::uint32_t i = 0; i < out.ops.size(); ++i) {
        const std::uint32_t launch = out.ops[i].launch;
        if (launch != npos) out.ops_by_launch[out.api_calls[launch].first_op + filled[launch]++] = i;
    }
}

// A kernel record recovered from a CUPTI buffer has no name, since the name was in the dead process's memory. The name
// comes from the kernel's launch; for a graph's node, from another launch of the same node.
void name_the_nameless(timeline& out) {
    std::unordered_map<std::uint64_t, std::uint32_t> nodes;
    for (const kernel_record& kernel : out.kernels) {
        if (kernel.name != 0 && kernel.graph_node_id != 0) nodes.emplace(kernel.graph_node_id, kernel.name);
    }
    for (const gpu_op& op : out.ops) {
        if (op.kind != op_kind::kernel || out.kernels[op.detail].name != 0) continue;
        kernel_record& kernel = out.kernels[op.detail];
        if (kernel.graph_node_id != 0) {
            if (const auto node = nodes.find(kernel.graph_node_id); node != nodes.end()) kernel.name = node->second;
        } else if (op.launch != npos) {
            kernel.name = out.api_calls[op.launch].kernel_name;
        }
    }
}

// Whether launches may have been captured into graphs without a trace. Such a launch leaves no GPU record either; only
// the graph's node records reveal it. If graph work ran and no node is known, CUPTI did not give node ids.
bool may_be_captured_unseen(const timeline& data) {
    const bool is_known =
        data.activities.has(activity::graph_nodes) &&
        (!data.graph_nodes.empty() || std::none_of(data.kernels.begin(), data.kernels.end(),
                                                   [](const kernel_record& k) { return k.graph_node_id != 0; }));
    return !is_known && std::any_of(data.api_calls.begin(), data.api_calls.end(), [](const timeline_api_call& call) {
        return call.kind == api_class::begins_graph_capture;
    });
}

// Which calls launch kernels: those with a kernel's name. Where names were lost (names_full), the same function's other
// calls decide it as well: a function launches kernels always or never.
class kernel_launches {
public:
    explicit kernel_launches(const timeline& data) {
        if (!data.quality.dropped.contains(std::string{to_string(drop_cause::names_full)})) return;
        for (const timeline_api_call& call : data.api_calls) {
            if (call.kernel_name != 0) functions_.insert(key(call));
        }
    }
    bool contains(const timeline_api_call& call) const {
        return call.kernel_name != 0 || (!functions_.empty() && functions_.contains(key(call)));
    }

private:
    static std::uint64_t key(const timeline_api_call& call) {
        return std::uint64_t{static_cast<std::uint32_t>(call.domain)} << 32 | call.cbid;
    }
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

void correlate(timeline& out) {
    untimed_keys untimed;
    out.ops.reserve(out.kernels.size() + out.transfers.size() + out.graphs.size());
    add_ops(out, out.kernels, untimed);
    add_ops(out, out.transfers, untimed);
    add_ops(out, out.graphs, untimed);
    sort_nearly_sorted(out.ops, [](const gpu_op& a, const gpu_op& b) {
        return std::tie(a.start_ns, a.end_ns, a.correlation, a.device, a.context, a.stream, a.kind, a.detail) <
               std::tie(b.start_ns, b.end_ns, b.correlation, b.device, b.context, b.stream, b.kind, b.detail);
    });

    std::vector<keyed_call> calls;
    calls.reserve(out.api_calls.size());
    for (std::uint32_t i = 0; i < out.api_calls.size(); ++i) {
        if (out.api_calls[i].correlation != 0) calls.push_back({out.api_calls[i].correlation, i});
    }
    sort_nearly_sorted(calls, [](const keyed_call& a, const keyed_call& b) {
        return std::tie(a.key, a.call) < std::tie(b.key, b.call);
    });
    link_launches(out, calls);
    group_by_launch(out);
    name_the_nameless(out);
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
    for (gpu_op& op : out.ops) {
        const std::uint64_t id = id_of(op);
        if (id == 0) continue;
        op.graph_node = nodes.find_origin(id, op.launch == npos ? op.start_ns : out.api_calls[op.launch].start_ns);
    }
}

}  // namespace prof
