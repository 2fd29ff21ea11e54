// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/chrome_trace.hpp"

#include <algorithm>
#include <vector>

#include "analysis/quality/capture_notes.hpp"
#include "base/json_text.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/trace_parts.hpp"

namespace prof {
namespace {

std::int64_t free_pid(std::set<std::int64_t>& taken, std::int64_t wanted) {
    while (!taken.insert(wanted).second) wanted += spill_row_step;
    return wanted;
}

// GPUs are processes numbered by their devices. In a container the host process's own pid may be as small.
void choose_pids(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu, std::set<std::int64_t>& taken) {
    std::set<std::uint32_t> devices;
    for (const device_record& device : to.data.devices) devices.insert(device.device);
    for (const gpu_stream_rows& stream : gpu) devices.insert(stream.device);
    for (const std::uint32_t device : devices) to.gpu_pids[device] = free_pid(taken, device);
    to.host_pid = free_pid(taken, to.data.number("pid").value_or(0));
}

std::uint64_t items_in(const std::vector<host_thread_rows>& host, const std::vector<gpu_stream_rows>& gpu) {
    std::uint64_t out = 0;
    for (const host_thread_rows& thread : host) out += thread.items.size();
    for (const gpu_stream_rows& stream : gpu) out += stream.ops.size();
    return out;
}

void write_window_edge(trace_sheet& to, std::string_view json_name, std::int64_t time_ns, std::uint64_t window,
                       std::string_view step_key, std::uint64_t step) {
    to.events.instant("libprof", json_name, {to.host_pid, to.host_pid}, std::max(time_ns, to.base_ns), 'p');
    to.events.arg("window", window);
    to.events.arg(step_key, step);
    to.events.end();
    ++to.counts.instants;
}

// Marks the windows if not everything was recorded, to explain the gaps between them.
void write_windows(trace_sheet& to) {
    if (windows_line(to.data).empty()) return;
    std::uint64_t number = 0;
    for (const timeline_window& window : to.data.windows) {
        ++number;
        write_window_edge(to, "\"recording begins\"", window.start_ns, number, "step", window.first_step);
        write_window_edge(to, "\"recording ends\"", window.end_ns, number, "last step", window.last_step);
    }
}

void write_track(trace_sheet& to, const trace_track& track) {
    // No thread has this number, and no spill row.
    const trace_row row{to.host_pid, spill_row_step - 1};
    to.events.metadata("thread_name", row);
    to.events.arg_text("name", json_string(track.name));
    to.events.end();
    to.events.metadata("thread_sort_index", row);
    to.events.arg("sort_index", -1);
    to.events.end();
    for (const trace_track::slice& slice : track.slices) {
        to.events.complete(track.category, json_string(slice.name), row, slice.start_ns, slice.end_ns);
        if (!slice.where.empty()) to.events.arg_text("where", json_string(slice.where));
        if (!slice.module.empty()) to.events.arg_text("module", json_string(slice.module));
        to.events.end();
        ++to.counts.track_slices;
    }
}

// Shows what is missing at the trace's end, where readers will notice it.
void write_losses(trace_sheet& to) {
    if (to.data.quality.dropped.empty()) return;
    to.events.instant("libprof", "\"records dropped\"", {to.host_pid, to.host_pid},
                      std::max(to.data.end_ns, to.base_ns), 'p');
    for (const auto& [cause, count] : to.data.quality.dropped) to.events.arg(cause, count);
    to.events.end();
    ++to.counts.instants;
}

}  // namespace

trace_counts& trace_counts::operator+=(const trace_counts& other) noexcept {
    host_ranges += other.host_ranges;
    api_calls += other.api_calls;
    gpu_ops += other.gpu_ops;
    projected_ranges += other.projected_ranges;
    process_ranges += other.process_ranges;
    instants += other.instants;
    counters += other.counters;
    flows += other.flows;
    track_slices += other.track_slices;
    member_flows += other.member_flows;
    return *this;
}

void chrome_trace::begin(std::span<const trace_heading> captures) {
    if (!captures.empty()) base_ns_ = captures.front().earliest_ns;
    for (const trace_heading& capture : captures) base_ns_ = std::min(base_ns_, capture.earliest_ns);
    is_shared_ = captures.size() > 1;
    events_.emplace(sink_, base_ns_);
    write_trace_header(*events_, captures, base_ns_, name_);
}

trace_counts chrome_trace::add(const timeline& data, const attribution& att, const trace_track* track,
                               const trace_member* member) {
    const numbered_steps steps = number_steps(data, att.hidden);
    const std::vector<host_thread_rows> host = lay_out_host(data, steps.steps, att.hidden);
    const std::vector<gpu_stream_rows> gpu = lay_out_gpu(data, att);
    const trace_clock clock = member == nullptr ? trace_clock{} : member->clock;
    events_->set_clock(clock);
    trace_sheet to(data, att, *events_, clock.to_own(base_ns_), used_, {progress_, items_in(host, gpu)});
    to.is_shared = is_shared_;
    to.member = member;
    choose_pids(to, gpu, used_.pids);
    write_trace_metadata(to, host, gpu);
    if (track != nullptr) write_track(to, *track);
    write_trace_host(to, host, steps);
    write_trace_gpu(to, gpu);
    write_windows(to);
    write_losses(to);
    used_.ranges += data.ranges.size() + att.replayed.size();
    used_.ops += data.ops.size();
    used_.correlations = to.largest_correlation + 1;
    used_.processes += 2 + (to.gpu_pids.empty() ? 0 : std::int64_t{to.gpu_pids.rbegin()->first});
    return to.counts;
}

void chrome_trace::end() {
    events_->raw("\n]}\n");
    events_->flush();
}

trace_counts write_chrome_trace(std::span<const traced_capture> captures, byte_sink& sink, std::string_view trace_name,
                                progress_observer* progress) {
    std::vector<trace_heading> headings;
    for (const traced_capture& capture : captures) headings.push_back(trace_heading_of(capture.data));
    chrome_trace trace(sink, trace_name, progress);
    trace.begin(headings);
    trace_counts counts;
    for (const traced_capture& capture : captures) counts += trace.add(capture.data, capture.att, capture.track);
    trace.end();
    return counts;
}

trace_counts write_chrome_trace(std::span<const traced_capture> captures, const std::string& path,
                                progress_observer* progress) {
    atomic_file file(path);
    const trace_counts counts = write_chrome_trace(captures, file, path, progress);
    file.commit();
    return counts;
}

trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name, progress_observer* progress, const trace_track* track) {
    const traced_capture capture{data, att, track};
    return write_chrome_trace({&capture, 1}, sink, trace_name, progress);
}

trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path,
                                progress_observer* progress, const trace_track* track) {
    const traced_capture capture{data, att, track};
    return write_chrome_trace({&capture, 1}, path, progress);
}

}  // namespace prof
