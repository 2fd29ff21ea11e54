#include "export/chrome/chrome_trace.hpp"

#include <algorithm>

#include "analysis/reports/capture_notes.hpp"
#include "analysis/steps/capture_start.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/trace_header.hpp"
#include "export/chrome/trace_parts.hpp"

namespace prof {
namespace {

// GPUs are processes numbered by their devices. In a container the host process's own pid may be as small.
std::int64_t choose_host_pid(const trace_sheet& to, const std::vector<gpu_stream_rows>& gpu) {
    const std::int64_t pid = to.data.number("pid").value_or(0);
    const bool taken =
        to.devices.contains(static_cast<std::uint32_t>(pid)) ||
        std::any_of(gpu.begin(), gpu.end(), [&](const gpu_stream_rows& stream) { return stream.device == pid; });
    return taken ? pid + spill_row_step : pid;
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

trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name) {
    trace_sheet to(data, att, sink, earliest_moment(data));
    const numbered_steps steps = number_steps(data, att.hidden);
    const std::vector<host_thread_rows> host = lay_out_host(data, steps.steps, att.hidden);
    const std::vector<gpu_stream_rows> gpu = lay_out_gpu(data, att);
    to.host_pid = choose_host_pid(to, gpu);
    write_trace_header(to.events, data, to.base_ns, trace_name);
    write_trace_metadata(to, host, gpu);
    write_trace_host(to, host, steps);
    write_trace_gpu(to, gpu);
    write_windows(to);
    write_losses(to);
    to.events.raw("\n]}\n");
    to.events.flush();
    return to.counts;
}

trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path) {
    atomic_file file(path);
    const trace_counts counts = write_chrome_trace(data, att, file, path);
    file.commit();
    return counts;
}

}  // namespace prof
