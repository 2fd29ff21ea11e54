// SPDX-License-Identifier: Apache-2.0
#include "timeline/stream_waits.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "record/label.hpp"
#include "timeline/launched_ops.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

// Goes through calls and syncs in order of time, and knows the latest operation of each stream.
class stream_walk {
public:
    explicit stream_walk(timeline& out)
        : out_(out),
          latest_(out.places.size(), npos),
          pending_(out.places.size()),
          latest_call_(out.threads.size(), npos),
          calls_(out.threads.size(), 0) {
        for (const place_id i : out.places.ids()) {
            place_of_[stream_key(out.places[i].context, out.places[i].stream)] = i;
        }
    }

    void visit(call_id index) {
        const timeline_api_call& call = out_.api_calls[index];
        latest_call_[call.thread] = index;
        ++calls_[call.thread];
        for (const op_id op : ops_of(out_, call)) add_op(op);
    }

    bool is_before(const timeline_api_call& call, const stream_sync& sync) const {
        if (call.start_ns != sync.time_ns) return call.start_ns < sync.time_ns;
        return call.thread != sync.thread || calls_[call.thread] < sync.calls_before;
    }

    void visit(const stream_sync& sync) {
        const auto place = place_of_.find(sync.stream);
        const place_id stream = place == place_of_.end() ? npos : place->second;
        switch (sync.kind) {
            case sync_kind::event_record:
                events_[sync.event] = stream == npos ? npos : latest_[stream];
                break;
            case sync_kind::stream_wait:
                if (const op_id op = work_of(sync.event); stream != npos && op != npos) {
                    pending_[stream].push_back(op);
                }
                break;
            case sync_kind::host_event:
                add_host_wait(sync, work_of(sync.event));
                break;
            case sync_kind::host_stream:
                add_host_wait(sync, stream == npos ? npos : latest_[stream]);
                break;
        }
    }

private:
    op_id work_of(std::uint64_t event) const {
        const auto found = events_.find(event);
        return found == events_.end() ? npos : found->second;
    }

    void add_op(op_id op) {
        const place_id place = out_.ops[op].place;
        for (const op_id before : pending_[place]) {
            if (out_.ops[before].place != place) out_.stream_waits.push_back({op, before});
        }
        pending_[place].clear();
        op_id& latest = latest_[place];
        if (latest == npos || out_.ops[op].start_ns >= out_.ops[latest].start_ns) latest = op;
    }

    void add_host_wait(const stream_sync& sync, op_id op) {
        const call_id call = latest_call_[sync.thread];
        if (call == npos || out_.api_calls[call].correlation != sync.correlation) return;
        out_.host_waits.push_back({call, op});
    }

    timeline& out_;
    std::unordered_map<std::uint64_t, place_id> place_of_;  // by stream_key()
    row_values<place_id, op_id> latest_;                    // operation of each place
    row_values<place_id, std::vector<op_id>> pending_;      // by place: what its next operation waits for
    row_values<thread_id, call_id> latest_call_;            // by thread
    row_values<thread_id, std::uint32_t> calls_;            // number of, by thread
    std::unordered_map<std::uint64_t, op_id> events_;       // the operation that it stands for; npos: none
};

}  // namespace

void link_stream_waits(timeline& out, std::vector<stream_sync> syncs) {
    if (syncs.empty()) return;
    sort_nearly_sorted(syncs, [](const stream_sync& a, const stream_sync& b) { return a.time_ns < b.time_ns; });
    stream_walk walk(out);
    call_id call{0};
    for (const stream_sync& sync : syncs) {
        while (call < out.api_calls.size() && walk.is_before(out.api_calls[call], sync)) walk.visit(call++);
        walk.visit(sync);
    }
    while (call < out.api_calls.size()) walk.visit(call++);
    std::stable_sort(out.stream_waits.begin(), out.stream_waits.end(),
                     [](const stream_wait& a, const stream_wait& b) { return a.op < b.op; });
    std::stable_sort(out.host_waits.begin(), out.host_waits.end(),
                     [](const host_wait& a, const host_wait& b) { return a.call < b.call; });
}

}  // namespace prof
