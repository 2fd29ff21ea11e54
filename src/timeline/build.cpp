// SPDX-License-Identifier: Apache-2.0
#include "timeline/build.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "capture/payload.hpp"
#include "capture/recovery/recovery.hpp"
#include "timeline/call_stacks.hpp"
#include "timeline/captured_nodes.hpp"
#include "timeline/collectives.hpp"
#include "timeline/correlate.hpp"
#include "timeline/count_drops.hpp"
#include "timeline/cuda_memory.hpp"
#include "timeline/graph_bodies.hpp"
#include "timeline/labels.hpp"
#include "timeline/last_step.hpp"
#include "timeline/memory_order.hpp"
#include "timeline/nearly_sorted.hpp"
#include "timeline/one_id_a_name.hpp"
#include "timeline/start_end.hpp"
#include "timeline/stream_waits.hpp"
#include "timeline/thread_walk.hpp"
#include "timeline/tick_clock.hpp"
#include "timeline/walked_thread.hpp"
#include "timeline/warmup.hpp"
#include "timeline/windows.hpp"

namespace prof {
namespace {

void take_quality(timeline& out, const capture_contents& contents) {
    for (const auto& [cause, count] : contents.drops) {
        const auto known = to_string(static_cast<drop_cause>(cause));
        count_drops(out, cause < drop_cause_count ? std::string{known} : fmt::format("cause_{}", cause), count);
    }
    out.quality.died = contents.ended && contents.end.reason == format::end_reason::died;
    out.quality.ended = contents.ended && !out.quality.died;
    out.quality.has_exited = out.quality.ended && contents.end.reason == format::end_reason::exited;
    out.quality.how = out.quality.died ? contents.end.how : 0;
    out.quality.recovery = contents.recovery;
    if (out.quality.died && out.properties.contains("recovery")) out.quality.recovery = out.property("recovery");
    out.quality.is_recovered_whole = is_whole_recovery(out.quality.recovery);
    out.quality.process = contents.process;
    if (contents.begins) {
        out.quality.is_latest_part = true;
        out.quality.trimmed_records = contents.begins->records;
        out.quality.trimmed_gpu_records = contents.begins->gpu_records;
    }
    out.quality.damaged_bytes = contents.damage.bytes;
    if (!contents.damage.first.empty()) out.quality.damage.push_back(contents.damage.first);
    out.quality.damage.insert(out.quality.damage.end(), contents.warnings.begin(), contents.warnings.end());
    out.quality.notes = contents.notes;
    out.quality.cut_off_bytes = contents.damage.cut_off_bytes;
    if (out.quality.cut_off_bytes != 0) {
        out.quality.damage.push_back("the file ends inside a chunk: its last " +
                                     std::to_string(out.quality.cut_off_bytes) + " bytes are not whole and left out");
    }
}

// Sorted by uid. A thread whose entry was lost is known from its records only.
void take_threads(timeline& out, const capture_contents& contents) {
    std::map<std::uint64_t, timeline_thread> by_uid;
    for (const auto* runs : {&contents.runs, &contents.graph_context}) {
        for (const record_run& run : *runs) by_uid[run.thread_uid].name = fmt::format("thread {}", run.thread_uid);
    }
    for (const format::thread_entry& entry : contents.threads) {
        const std::string name{thread_name(entry)};
        by_uid[entry.uid] = {.uid = entry.uid, .tid = entry.tid, .name = name, .system_name = name};
    }
    for (auto& [uid, thread] : by_uid) {
        thread.uid = uid;
        if (const auto of = contents.processes.find(uid); of != contents.processes.end()) thread.process = of->second;
        out.threads.push_back(std::move(thread));
    }
}

// REQUIRES: there is a thread with this uid.
thread_id thread_of(const timeline& data, std::uint64_t uid) {
    const auto found = std::lower_bound(data.threads.begin(), data.threads.end(), uid,
                                        [](const timeline_thread& t, std::uint64_t wanted) { return t.uid < wanted; });
    return thread_id(found - data.threads.begin());
}

void take_multiplications(timeline& out, matrix_calls& found) {
    out.multiplications = std::move(found);
    for (matrix_call& call : out.multiplications.list) call.thread = thread_of(out, call.thread);
}

void take_devices(timeline& out, const std::vector<device_record>& devices) {
    std::map<std::uint32_t, device_record> by_index;
    for (const device_record& device : devices) by_index[device.device] = device;
    for (const auto& [index, device] : by_index) out.devices.push_back(device);
}

// Ranges that were open before the kept part of the capture begin with that part, but not after the next record of
// their own thread.
void place_open(capture_contents& contents) {
    if (!contents.begins) return;
    std::unordered_map<std::uint64_t, std::uint64_t> first_ticks;  // by thread
    for (const record_run& run : contents.runs) {
        if (run.is_open || run.size() == 0) continue;
        const auto [known, is_new] = first_ticks.try_emplace(run.thread_uid, run.front().ticks);
        if (!is_new) known->second = std::min(known->second, run.front().ticks);
    }
    for (record_run& run : contents.runs) {
        if (!run.is_open) continue;
        const auto next = first_ticks.find(run.thread_uid);
        for (record& r : run.records) {
            r.ticks = contents.begins->begin_ticks;
            if (next != first_ticks.end()) r.ticks = std::min(r.ticks, next->second);
        }
    }
}

// A first pass over all records, needed before any thread is walked.
struct survey {
    std::uint64_t earliest_ticks = UINT64_MAX;
    parent_places parents;  // complete, since a thread may work for one that is walked after it
    std::size_t ranges = 0;
    std::size_t api_calls = 0;
    std::size_t marks = 0;
};

// Places get indexes from `first_place` on.
survey survey_runs(const std::vector<record_run>& runs, std::size_t first_place = 0) {
    survey out;
    const auto add = [&](const record_survey& of) {
        out.earliest_ticks = std::min(out.earliest_ticks, of.earliest_ticks);
        out.ranges += of.ranges;
        out.api_calls += of.api_calls;
        out.marks += of.marks;
        for (const std::uint64_t place : of.places) {
            out.parents.try_emplace(place, first_place + out.parents.size());
        }
    };
    for (const record_run& run : runs) add(run.stored ? run.stored->found : survey_of(run.records));
    if (out.earliest_ticks == UINT64_MAX) out.earliest_ticks = 0;
    return out;
}

void sort_runs(std::vector<record_run>& runs) {
    // Several runs of open records may have the same number; they are already in order.
    std::stable_sort(runs.begin(), runs.end(), [](const record_run& a, const record_run& b) {
        return std::tuple{a.thread_uid, !a.is_open, a.first_number} <
               std::tuple{b.thread_uid, !b.is_open, b.first_number};
    });
}

// Walks what was observed before the windows. Each section contains its ranges from their beginning.
void walk_graph_context(timeline& out, std::vector<record_run>& runs, graph_node_events& nodes,
                        const tick_clock& clock) {
    sort_runs(runs);
    start_end_events none;
    std::vector<stream_sync> no_syncs;
    stack_collector no_stacks;
    collective_collector no_collectives;
    const parent_places parents = survey_runs(runs, out.work_parents.size()).parents;
    out.work_parents.resize(out.work_parents.size() + parents.size());
    std::optional<thread_walk> walk;
    std::uint64_t uid = 0;
    for (record_run& run : runs) {
        const bool begins_section = !run.records.empty() && run.records.front().kind == record_kind::window;
        if (walk && (begins_section || run.thread_uid != uid)) {
            walk->finish();
            walk.reset();
        }
        if (!walk && !begins_section) continue;  // its beginning was lost
        uid = run.thread_uid;
        if (!walk)
            walk.emplace(out, none, nodes, no_syncs, no_stacks, no_collectives, parents, clock, thread_of(out, uid));
        for (const record& r : run.records) walk->visit(r);
        run.records = {};
    }
    if (walk) walk->finish();
}

void walk_threads(timeline& out, capture_contents& contents, const name_doubles& doubles, const survey& found,
                  graph_node_events& nodes, std::vector<stream_sync>& syncs, stack_collector& stacks,
                  collective_collector& collectives, const tick_clock& clock) {
    sort_runs(contents.runs);
    start_end_events events;
    out.work_parents.resize(found.parents.size());
    out.ranges.reserve(found.ranges);
    out.open_nodes.reserve(found.ranges);
    out.api_calls.reserve(found.api_calls);
    out.marks.reserve(found.marks);
    std::vector<walked_thread> threads;
    for (auto first = contents.runs.begin(); first != contents.runs.end();) {
        const std::uint64_t uid = first->thread_uid;
        const auto last =
            std::find_if(first, contents.runs.end(), [&](const record_run& r) { return r.thread_uid != uid; });
        threads.emplace_back(
            thread_walk{out, events, nodes, syncs, stacks, collectives, found.parents, clock, thread_of(out, uid)},
            contents, doubles, first, last);
        first = last;
    }
    walk_in_order_of_time(out, threads);
    count_drops(out, "end_without_start", match_start_end(out.ranges, std::move(events), out.windows));
}

void sort_ranges(timeline& out) {
    const auto earlier = [](const timeline_range& a, const timeline_range& b) {
        return std::tie(a.start_ns, a.depth) < std::tie(b.start_ns, b.depth);  // a parent comes before its children
    };
    if (std::is_sorted(out.ranges.begin(), out.ranges.end(), earlier)) return;
    std::vector<range_id> order(out.ranges.ids().begin(), out.ranges.ids().end());
    sort_nearly_sorted(order, [&](range_id a, range_id b) { return earlier(out.ranges[a], out.ranges[b]); });
    row_values<range_id, range_id> place(order.size());
    std::vector<timeline_range> sorted;
    sorted.reserve(order.size());
    for (const range_id old : order) {
        place[old] = range_id(sorted.size());
        sorted.push_back(out.ranges[old]);
    }
    for (timeline_range& range : sorted) {
        if (range.parent != npos) range.parent = place[range.parent];
    }
    for (open_node& node : out.open_nodes) node.range = place[node.range];
    for (torch_node& node : out.torch_nodes) node.range = place[node.range];
    out.ranges = std::move(sorted);
}

template <typename TElement>
void sort_by(std::vector<TElement>& elements, std::int64_t TElement::*time) {
    sort_nearly_sorted(elements, [&](const TElement& a, const TElement& b) { return a.*time < b.*time; });
}

}  // namespace

timeline build_timeline(capture_contents contents) {
    timeline out;
    out.properties = std::move(contents.properties);
    if (const auto chosen = out.properties.find("activities"); chosen != out.properties.end()) {
        parse_activities(chosen->second, out.activities);  // the words of a newer libprof are ignored if any is unknown
    }
    collect_work(contents);
    const name_doubles doubles = give_each_name_one_id(contents);
    out.name_table = std::move(contents.names);
    take_quality(out, contents);
    take_threads(out, contents);
    take_labels(out, contents.labels);
    take_devices(out, contents.devices);
    take_multiplications(out, contents.multiplications);

    place_open(contents);
    const survey found = survey_runs(contents.runs);
    // The first that was written; later ones may be of before the recording, for the counter's rate.
    const std::optional<std::uint64_t> begin =
        contents.clocks.empty() ? std::nullopt : std::optional(contents.clocks.front().ticks);
    const std::vector<clock_snapshot> snapshots = contents.clocks;
    const tick_clock clock{std::move(contents.clocks), contents.ticks, found.earliest_ticks,
                           contents.created_realtime_ns};
    if (!contents.runs.empty()) {
        out.quality.notes.insert(out.quality.notes.end(), clock.notes().begin(), clock.notes().end());
    }
    for (const clock_snapshot& each : snapshots) {
        if (each.monotonic_ns == 0 || each.monotonic_ns > INT64_MAX) continue;
        out.monotonic.push_back({static_cast<std::int64_t>(each.monotonic_ns), clock.to_ns(each.ticks)});
    }
    std::sort(out.monotonic.begin(), out.monotonic.end(),
              [](const monotonic_point& a, const monotonic_point& b) { return a.monotonic_ns < b.monotonic_ns; });
    out.start_ns = begin ? clock.to_ns(*begin) : clock.first_snapshot_ns();
    out.end_ns = clock.last_snapshot_ns();
    if (contents.begins) {
        out.start_ns = clock.to_ns(contents.begins->begin_ticks);
        out.end_ns = std::max(out.start_ns, out.end_ns);
    }
    take_windows(out, contents, clock);
    graph_node_events nodes;
    std::vector<stream_sync> syncs;
    stack_collector stacks;
    collective_collector collectives;
    walk_threads(out, contents, doubles, found, nodes, syncs, stacks, collectives, clock);
    walk_graph_context(out, contents.graph_context, nodes, clock);
    nodes.sort();
    for (const timeline_range& range : out.ranges) grow_domains(out, range.domain);
    for (const timeline_mark& mark : out.marks) grow_domains(out, mark.domain);
    sort_by(out.marks, &timeline_mark::time_ns);
    settle_cuda_memory(out);
    order_memory(out);
    out.series = all_series_of(out);
    sort_by(out.api_calls, &timeline_api_call::start_ns);
    stacks.link(out);
    sort_by(out.capture_begins, &capture_begin::time_ns);
    sort_ranges(out);
    // A plan's last window ends with a step, and not with the program.
    const bool has_exited = contents.ended && contents.end.reason == format::end_reason::exited;
    if (has_exited && out.property("plan").empty()) end_last_step(out);
    find_launches_of_bodies(contents.work, out.api_calls, nodes.launches);
    out.quality.launched_before = leave_out_launched_before(contents, out);
    correlate(out, std::move(contents.work));
    link_graph_nodes(out, nodes);
    link_stream_waits(out, std::move(syncs));
    collectives.link(out);
    link_traced_collectives(out, std::move(contents.collectives));
    find_nvtx_collectives(out);
    for (const gpu_op& op : out.ops) {
        include(out, op.start_ns);
        include(out, op.end_ns);
    }
    end_open_ranges(out);
    return out;
}

}  // namespace prof
