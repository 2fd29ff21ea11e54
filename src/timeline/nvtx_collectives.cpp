// SPDX-License-Identifier: Apache-2.0
// Where NCCL did not call libprof as its plugin: collectives by the NVTX ranges that NCCL makes around its functions,
// with the size of the message. A launch inside the range is its kernel. Calls without one are of a group: they have
// the launch that comes before the thread's next call, if there is one alone.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/collectives.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

constexpr auto range_names = std::to_array<std::pair<std::string_view, collective_function>>({
    {"ncclAllReduce", collective_function::all_reduce},
    {"AllReduce", collective_function::all_reduce},
    {"ncclAllGather", collective_function::all_gather},
    {"AllGather", collective_function::all_gather},
    {"ncclReduceScatter", collective_function::reduce_scatter},
    {"ReduceScatter", collective_function::reduce_scatter},
    {"ncclBroadcast", collective_function::broadcast},
    {"ncclBcast", collective_function::broadcast},
    {"Broadcast", collective_function::broadcast},
    {"ncclReduce", collective_function::reduce},
    {"Reduce", collective_function::reduce},
    {"ncclSend", collective_function::send},
    {"Send", collective_function::send},
    {"ncclRecv", collective_function::recv},
    {"Recv", collective_function::recv},
    {"ncclAlltoAll", collective_function::all_to_all},
    {"AlltoAll", collective_function::all_to_all},
    {"ncclGather", collective_function::gather},
    {"Gather", collective_function::gather},
    {"ncclScatter", collective_function::scatter},
    {"Scatter", collective_function::scatter},
});

class nvtx_collectives {
public:
    explicit nvtx_collectives(timeline& out) : out_(out) {}

    void run() {
        find_ranges();
        if (calls_.empty()) return;
        find_launches();
        for (auto& [thread, indexes] : calls_) place(indexes, launches_[thread]);
        std::stable_sort(out_.collectives.begin(), out_.collectives.end(),
                         [](const collective_call& a, const collective_call& b) { return a.time_ns < b.time_ns; });
    }

private:
    struct called {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        range_id range = npos;
        collective_function function = collective_function::other;
    };

    void find_ranges() {
        const auto found = std::find_if(out_.domains.begin(), out_.domains.end(),
                                        [](const timeline_domain& each) { return each.name == "NCCL"; });
        if (found == out_.domains.end()) return;
        const auto domain = static_cast<std::uint16_t>(found - out_.domains.begin());
        for (const range_id i : out_.ranges.ids()) {
            const timeline_range& range = out_.ranges[i];
            if (range.domain != domain || range.payload_kind != payload_type::bytes) continue;
            if (range.style != range_style::push_pop || range.open_at_start) continue;
            const std::string_view name = out_.name(range.name);
            const auto known = std::find_if(range_names.begin(), range_names.end(),
                                            [&](const auto& each) { return each.first == name; });
            if (known == range_names.end()) continue;
            calls_[range.thread].push_back({range.start_ns, range.end_ns, i, known->second});
        }
    }

    void find_launches() {
        std::unordered_map<name_id, bool> is_of_nccl;  // by name
        for (const call_id i : out_.api_calls.ids()) {
            const timeline_api_call& call = out_.api_calls[i];
            if (call.kernel_name == 0 || call.kind != api_class::launch || !calls_.contains(call.thread)) continue;
            const auto [known, is_new] = is_of_nccl.try_emplace(call.kernel_name, false);
            if (is_new) known->second = out_.name(call.kernel_name).find("nccl") != std::string_view::npos;
            if (known->second) launches_[call.thread].push_back(i);
        }
    }

    // The one launch of the thread from `from_ns` to before `to_ns`; npos: there is none, or several.
    call_id one_launch(const std::vector<call_id>& launches, std::int64_t from_ns, std::int64_t to_ns) const {
        const auto first =
            std::lower_bound(launches.begin(), launches.end(), from_ns,
                             [&](call_id call, std::int64_t ns) { return out_.api_calls[call].start_ns < ns; });
        if (first == launches.end() || out_.api_calls[*first].start_ns >= to_ns) return npos;
        const auto second = std::next(first);
        return second != launches.end() && out_.api_calls[*second].start_ns < to_ns ? npos : *first;
    }

    void place(const std::vector<called>& calls, const std::vector<call_id>& launches) {
        for (std::size_t i = 0; i < calls.size();) {
            call_id launch = one_launch(launches, calls[i].start_ns, calls[i].end_ns);
            std::size_t end = i + 1;
            if (launch == npos) {
                while (end < calls.size() && one_launch(launches, calls[end - 1].end_ns, calls[end].end_ns) == npos)
                    ++end;
                const std::int64_t until_ns = end == calls.size() ? INT64_MAX : calls[end].start_ns;
                launch = one_launch(launches, calls[i].start_ns, until_ns);
            }
            for (; i < end; ++i) add(calls[i], launch);
        }
    }

    void add(const called& from, call_id launch) {
        const timeline_range& range = out_.ranges[from.range];
        collective_call call;
        call.time_ns = range.start_ns;
        call.function = from.function;
        call.bytes = range.payload;
        call.thread = range.thread;
        call.source = collective_source::nvtx;
        call.call = launch;
        call.is_unplaced = launch == npos;
        if (launch != npos) {
            call.in_graph = out_.api_calls[launch].is_captured;
            const auto ops = ops_of(out_, out_.api_calls[launch]);
            if (!ops.empty()) call.op = ops.front();
        }
        out_.collectives.push_back(call);
    }

    timeline& out_;
    std::unordered_map<thread_id, std::vector<called>> calls_;      // by thread, in order of time
    std::unordered_map<thread_id, std::vector<call_id>> launches_;  // likewise: of NCCL's kernels
};

}  // namespace

void find_nvtx_collectives(timeline& out) {
    if (out.collectives.empty() && out.communicators.empty()) nvtx_collectives(out).run();
}

}  // namespace prof
