// SPDX-License-Identifier: Apache-2.0
// The metadata of a Chrome trace: names, labels and order of its processes and rows.
#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "base/json_text.hpp"
#include "export/chrome/trace_header.hpp"
#include "export/chrome/trace_parts.hpp"

namespace prof {
namespace {

void describe(trace_events& events, std::string_view what, trace_row row, std::string_view key, std::string_view text) {
    events.metadata(what, row);
    events.arg_text(key, json_string(text));
    events.end();
}

void sort(trace_events& events, std::string_view what, trace_row row, std::int64_t index) {
    events.metadata(what, row);
    events.arg("sort_index", index);
    events.end();
}

void describe_processes(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu) {
    const trace_row host{to.host_pid, 0};
    const std::string& rank = to.data.property("rank");
    std::string process = process_name(to.data);
    const std::string label = to.member == nullptr ? std::string() : to.member->label;
    if (!label.empty()) {
        process = label + ": " + process;
    } else if (to.is_shared && !rank.empty()) {
        process += ", rank " + rank;
    }
    describe(to.events, "process_name", host, "name", process);
    describe(to.events, "process_labels", host, "labels", "CPU");
    sort(to.events, "process_sort_index", host, to.first_process);
    std::optional<std::uint32_t> described;
    for (const gpu_stream_rows& stream : gpu) {
        if (described == stream.device) continue;
        described = stream.device;
        const std::string gpu_label = "GPU " + std::to_string(stream.device);
        const device_record* const known = to.device(stream.device);
        std::string name = gpu_label;
        if (known != nullptr) name.append(" ").append(to.data.name(name_id(known->name)));
        if (!label.empty()) {
            name = label + ": " + name;
        } else if (to.is_shared) {
            name += " of " + process;
        }
        const trace_row row{to.gpu_pid(stream.device), 0};
        describe(to.events, "process_name", row, "name", name);
        describe(to.events, "process_labels", row, "labels", gpu_label);
        sort(to.events, "process_sort_index", row, to.first_process + 1 + stream.device);
    }
}

void describe_threads(trace_sheet& to, const std::vector<host_thread_rows>& host) {
    std::int64_t order = 0;
    for (const host_thread_rows& thread : host) {
        std::string name;
        constexpr std::size_t most_names = 16;  // of threads with the same tid
        const std::size_t shown = std::min(thread.threads.size(), most_names);
        for (const std::uint32_t index : std::span{thread.threads}.first(shown)) {
            const std::string& part = to.data.threads[index].name;
            if (name.find(part) == std::string::npos) name.append(name.empty() ? "" : ", ").append(part);
        }
        if (shown < thread.threads.size()) name += ", …";
        if (name.empty()) name = "thread " + std::to_string(thread.tid);
        const auto describe_row = [&](std::size_t row, const std::string& suffix) {
            describe(to.events, "thread_name", to.host_row(thread.tid, row), "name", name + suffix);
            sort(to.events, "thread_sort_index", to.host_row(thread.tid, row), order++);
        };
        for (std::size_t row = 0; row < thread.phase_row_count; ++row) {
            describe_row(thread.row_count + row, row == 0 ? " (phases)" : " (phases " + std::to_string(row + 1) + ")");
        }
        for (std::size_t row = 0; row < thread.row_count; ++row) {
            describe_row(row, row == 0 ? "" : " (ranges " + std::to_string(row + 1) + ")");
        }
    }
}

void describe_streams(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu) {
    std::int64_t order = 0;
    for (const gpu_stream_rows& stream : gpu) {
        std::string name = "stream " + std::to_string(stream.stream);
        if (stream.shares_device) name.append(" of context ").append(std::to_string(stream.context));
        const std::string_view given = to.data.stream_name(stream.context, stream.stream);
        if (!given.empty()) name.append(" ").append(given);
        for (std::size_t row = 0; row <= stream.range_row_count + stream.op_row_count; ++row) {
            std::string suffix;
            if (row > stream.range_row_count) {
                suffix = " (concurrent " + std::to_string(row - stream.range_row_count + 1) + ")";
            } else if (row != 0) {
                suffix = " (ranges " + std::to_string(row + 1) + ")";
            }
            const trace_row at = gpu_row(to.gpu_pid(stream.device), stream, row);
            describe(to.events, "thread_name", at, "name", name + suffix);
            sort(to.events, "thread_sort_index", at, order++);
        }
    }
}

}  // namespace

void write_trace_metadata(trace_sheet& to, const std::vector<host_thread_rows>& host,
                          const std::vector<gpu_stream_rows>& gpu) {
    describe_processes(to, gpu);
    describe_threads(to, host);
    describe_streams(to, gpu);
}

}  // namespace prof
