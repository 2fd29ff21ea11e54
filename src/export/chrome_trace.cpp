#include "export/chrome_trace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/capture_start.hpp"
#include "analysis/kernels.hpp"
#include "export/atomic_file.hpp"
#include "export/capture_notes.hpp"
#include "export/gpu_rows.hpp"
#include "export/host_rows.hpp"
#include "export/json_text.hpp"
#include "export/kernel_shape.hpp"
#include "export/trace_events.hpp"
#include "export/trace_header.hpp"
#include "export/trace_names.hpp"

namespace prof {
namespace {

// Spill rows stand beside the row they spilled from under numbers that no thread and no stream has.
constexpr std::int64_t spill_row_step = 10'000'000;

// CUPTI's correlation id, made unique over several attachments: that of the first is unchanged, 2^32 is added for each
// one after it.
std::uint64_t trace_correlation(std::uint64_t key) { return (key >> 32) == 0 ? key : key - correlation_key(1, 0); }

// The one number by which a range is known to its slices on the host, on the GPU and to the work below it.
std::uint64_t external_id(std::uint32_t range) { return std::uint64_t{range} + 1; }

class chrome_trace_writer {
public:
    chrome_trace_writer(const timeline& data, const attribution& att, byte_sink& sink)
        : data_(data), att_(att), base_ns_(earliest_moment(data)), events_(sink, base_ns_), names_(data) {
        for (const device_record& device : data.devices) devices_.emplace(device.device, &device);
    }

    trace_counts write(std::string_view trace_name) {
        const std::vector<host_thread_rows> host = lay_out_host(data_, att_.hidden);
        const std::vector<gpu_stream_rows> gpu = lay_out_gpu(data_, att_);
        choose_host_pid(gpu);
        write_trace_header(events_, data_, base_ns_, trace_name);
        describe_processes(gpu);
        describe_threads(host);
        describe_streams(gpu);
        for (const host_thread_rows& thread : host) write_thread(thread);
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.style == range_style::start_end && !att_.hidden.contains(range)) write_process_range(i);
        }
        for (const gpu_stream_rows& stream : gpu) write_stream(stream);
        write_windows();
        write_losses();
        events_.raw("\n]}\n");
        events_.flush();
        return counts_;
    }

private:
    // GPUs stand as processes under their device's number; in a container the host's own may be as small.
    void choose_host_pid(const std::vector<gpu_stream_rows>& gpu) {
        host_pid_ = numeric_property(data_, "pid").value_or(0);
        const bool taken = devices_.contains(static_cast<std::uint32_t>(host_pid_)) ||
                           std::any_of(gpu.begin(), gpu.end(),
                                       [&](const gpu_stream_rows& stream) { return stream.device == host_pid_; });
        if (taken) host_pid_ += spill_row_step;
    }

    // A captured range has one in each launch of its graph.
    std::uint64_t replayed_id(std::uint32_t replayed) const { return data_.ranges.size() + replayed + 1; }

    trace_row host_row(std::uint32_t tid, std::size_t row = 0) const {
        return {host_pid_, tid + static_cast<std::int64_t>(row) * spill_row_step};
    }
    trace_row row_of_thread(std::uint32_t thread) const {
        return thread < data_.threads.size() ? host_row(data_.threads[thread].tid) : trace_row{host_pid_, host_pid_};
    }
    static trace_row gpu_row(const gpu_stream_rows& stream, std::size_t row) {
        return {stream.device, stream.stream + static_cast<std::int64_t>(row) * spill_row_step};
    }

    // ---- metadata

    void describe(std::string_view what, trace_row row, std::string_view key, std::string_view text) {
        events_.metadata(what, row);
        events_.arg_text(key, json_string(text));
        events_.end();
    }
    void sort(std::string_view what, trace_row row, std::int64_t index) {
        events_.metadata(what, row);
        events_.arg("sort_index", index);
        events_.end();
    }

    void describe_processes(const std::vector<gpu_stream_rows>& gpu) {
        const trace_row host{host_pid_, 0};
        describe("process_name", host, "name", process_name(data_));
        describe("process_labels", host, "labels", "CPU");
        sort("process_sort_index", host, 0);
        std::optional<std::uint32_t> described;
        for (const gpu_stream_rows& stream : gpu) {
            if (described == stream.device) continue;
            described = stream.device;
            const std::string label = "GPU " + std::to_string(stream.device);
            const auto known = devices_.find(stream.device);
            std::string name = label;
            if (known != devices_.end()) name.append(" ").append(data_.name(known->second->name));
            const trace_row row{stream.device, 0};
            describe("process_name", row, "name", name);
            describe("process_labels", row, "labels", label);
            sort("process_sort_index", row, 1 + stream.device);
        }
    }

    void describe_threads(const std::vector<host_thread_rows>& host) {
        std::int64_t order = 0;
        for (const host_thread_rows& thread : host) {
            std::string name;
            constexpr std::size_t most_names = 16;  // of threads that had the same tid
            const std::size_t shown = std::min(thread.threads.size(), most_names);
            for (const std::uint32_t index : std::span{thread.threads}.first(shown)) {
                const std::string& part = data_.threads[index].name;
                if (name.find(part) == std::string::npos) name.append(name.empty() ? "" : ", ").append(part);
            }
            if (shown < thread.threads.size()) name += ", …";
            if (name.empty()) name = "thread " + std::to_string(thread.tid);
            for (std::size_t row = 0; row < thread.row_count; ++row) {
                const std::string suffix = row == 0 ? "" : " (ranges " + std::to_string(row + 1) + ")";
                describe("thread_name", host_row(thread.tid, row), "name", name + suffix);
                sort("thread_sort_index", host_row(thread.tid, row), order++);
            }
        }
    }

    void describe_streams(const std::vector<gpu_stream_rows>& gpu) {
        std::int64_t order = 0;
        for (const gpu_stream_rows& stream : gpu) {
            std::string name = "stream " + std::to_string(stream.stream);
            const auto given = data_.stream_names.find(stream.stream);
            if (given != data_.stream_names.end()) name.append(" ").append(data_.name(given->second));
            for (std::size_t row = 0; row <= stream.range_row_count + stream.op_row_count; ++row) {
                std::string suffix;
                if (row > stream.range_row_count) {
                    suffix = " (concurrent " + std::to_string(row - stream.range_row_count + 1) + ")";
                } else if (row != 0) {
                    suffix = " (ranges " + std::to_string(row + 1) + ")";
                }
                describe("thread_name", gpu_row(stream, row), "name", name + suffix);
                sort("thread_sort_index", gpu_row(stream, row), order++);
            }
        }
    }

    // ---- the host

    void write_thread(const host_thread_rows& thread) {
        for (const host_item& item : thread.items) {
            const trace_row row = host_row(thread.tid, item.row);
            switch (item.kind) {
                case host_item_kind::range:
                    write_range(item.index, row);
                    break;
                case host_item_kind::call:
                    write_call(item, row);
                    break;
                case host_item_kind::mark:
                    write_mark(item.index, row);
                    break;
            }
        }
    }

    template <typename TAnnotation>
    void annotation_args(const TAnnotation& annotation) {
        if (annotation.domain != 0) events_.arg_text("domain", names_.domain(annotation.domain));
        if (annotation.category != 0) {
            events_.arg_text("category", names_.category(annotation.domain, annotation.category));
        }
        if (annotation.color != 0) {
            char text[12] = "\"#";
            for (int digit = 0; digit < 8; ++digit) {
                text[2 + digit] = "0123456789ABCDEF"[annotation.color >> (28 - 4 * digit) & 15];
            }
            text[10] = '"';
            events_.arg_text("color", {text, 11});
        }
        payload_arg(annotation.payload_kind, annotation.payload);
    }

    void payload_arg(payload_type kind, std::uint64_t payload) {
        const auto low = static_cast<std::uint32_t>(payload);
        switch (kind) {
            case payload_type::none:
                return;
            case payload_type::u64:
                return events_.arg("payload", payload);
            case payload_type::bytes:
                return events_.arg("bytes", payload);
            case payload_type::i64:
                return events_.arg("payload", static_cast<std::int64_t>(payload));
            case payload_type::u32:
                return events_.arg("payload", low);
            case payload_type::i32:
                return events_.arg("payload", static_cast<std::int32_t>(low));
            case payload_type::f64:
                return float_payload_arg(std::bit_cast<double>(payload));
            case payload_type::f32:
                return float_payload_arg(std::bit_cast<float>(low));
            case payload_type::torch:
            case payload_type::torch_sequence:
                return events_.arg("Record function id", payload);
        }
    }

    template <typename TFloat>
    void float_payload_arg(TFloat value) {
        if (std::isfinite(value)) {
            events_.arg("payload", value);
        } else {
            events_.arg_text("payload", std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
        }
    }

    void write_range(std::uint32_t index, trace_row row) {
        const timeline_range& range = data_.ranges[index];
        events_.complete(range.is_operator ? "cpu_op" : "user_annotation", names_.name(range.name), row, range.start_ns,
                         range.end_ns);
        events_.arg("External id", external_id(index));
        annotation_args(range);
        if (range.sequence >= 0) events_.arg("Sequence number", range.sequence);
        if (range.open_at_end) events_.arg("open at end", true);
        events_.end();
        ++counts_.host_ranges;
    }

    void write_mark(std::uint32_t index, trace_row row) {
        const timeline_mark& mark = data_.marks[index];
        events_.instant("user_annotation", names_.name(mark.name), row, mark.time_ns, 't');
        annotation_args(mark);
        events_.end();
        ++counts_.instants;
    }

    void write_process_range(std::uint32_t index) {
        const timeline_range& range = data_.ranges[index];
        const std::string_view name = names_.name(range.name);
        const std::uint64_t id = external_id(index);
        events_.async_begin("user_annotation", name, row_of_thread(range.thread), range.start_ns, id);
        events_.arg("External id", id);
        annotation_args(range);
        if (range.open_at_end) events_.arg("open at end", true);
        events_.end();
        events_.async_end("user_annotation", name, row_of_thread(range.end_thread), range.end_ns, id);
        events_.end();
        ++counts_.process_ranges;
    }

    std::uint32_t innermost_kept(std::uint32_t node) const noexcept {
        for (; node != npos; node = data_.open_nodes[node].below) {
            const std::uint32_t range = data_.open_nodes[node].range;
            if (!att_.hidden.contains(data_.ranges[range])) return range;
        }
        return npos;
    }

    void write_call(const host_item& item, trace_row row) {
        const timeline_api_call& call = data_.api_calls[item.index];
        events_.complete(call.domain == api_domain::driver ? "cuda_driver" : "cuda_runtime",
                         names_.api_call(call.domain, call.cbid), row, item.start_ns, item.end_ns);
        if (const std::uint32_t range = innermost_kept(call.open); range != npos) {
            events_.arg("External id", external_id(range));
        }
        events_.arg("cbid", call.cbid);
        events_.arg("correlation", trace_correlation(call.correlation));
        if (call.end_ns == 0) events_.arg("returned", false);
        if (call.op_count == 0 && call.kernel_name != 0) events_.arg_text("kernel", names_.kernel(call.kernel_name));
        events_.end();
        ++counts_.api_calls;
        if (call.is_unfinished) write_unfinished(call, row);
        for (std::uint32_t i = 0; i < call.op_count; ++i) {
            events_.flow_start(flow_id(data_.ops_by_launch[call.first_op + i]), row, item.start_ns);
            ++counts_.flows;
        }
    }

    void write_unfinished(const timeline_api_call& call, trace_row row) {
        events_.instant("libprof", "\"not completed\"", row, call.start_ns, 't');
        events_.arg_text("kernel", names_.kernel(call.kernel_name));
        events_.arg("correlation", trace_correlation(call.correlation));
        events_.end();
        ++counts_.instants;
    }

    // One call may launch many operations (a graph), so an arrow is known by the operation it ends in.
    static std::uint64_t flow_id(std::uint32_t op) { return std::uint64_t{op} + 1; }

    // ---- the GPU

    void write_stream(const gpu_stream_rows& stream) {
        auto range = stream.ranges.begin();
        for (std::size_t i = 0; i < stream.ops.size(); ++i) {
            const gpu_op& op = data_.ops[stream.ops[i]];
            // A range begins with its first operation: before it in the file, it is drawn around it.
            for (; range != stream.ranges.end() && range->start_ns <= op.start_ns; ++range) {
                write_projected_range(*range, gpu_row(stream, range->row));
            }
            write_op(stream.ops[i], gpu_row(stream, stream.op_row[i]));
        }
    }

    void write_projected_range(const projected_range& projected, trace_row row) {
        events_.complete("gpu_user_annotation", names_.name(data_.ranges[projected.range].name), row,
                         projected.start_ns, projected.end_ns);
        events_.arg("External id",
                    projected.replayed == npos ? external_id(projected.range) : replayed_id(projected.replayed));
        if (projected.replayed != npos) events_.arg("captured", true);
        events_.arg("ops", projected.ops);
        events_.arg("gpu sum (ns)", projected.gpu_sum_ns);
        events_.end();
        ++counts_.projected_ranges;
    }

    void write_op(std::uint32_t index, trace_row row) {
        const gpu_op& op = data_.ops[index];
        switch (op.kind) {
            case op_kind::kernel:
                write_kernel(index, op, row);
                break;
            case op_kind::memcpy:
            case op_kind::memset:
                write_transfer(index, op, row);
                break;
            case op_kind::graph:
                write_graph(index, op, row);
                break;
        }
        ++counts_.gpu_ops;
        if (op.launch != npos) events_.flow_end(flow_id(index), row, op.start_ns);
    }

    void op_args(std::uint32_t index, const gpu_op& op) {
        if (att_.captured[index] != npos) {
            events_.arg("External id", replayed_id(att_.captured[index]));
        } else if (is_range(att_.owner[index])) {
            events_.arg("External id", external_id(att_.owner[index]));
        }
        events_.arg("device", op.device);
        events_.arg("context", op.context);
        events_.arg("stream", op.stream);
        events_.arg("correlation", trace_correlation(op.correlation));
    }

    void closing_op_args(std::uint32_t index, std::uint32_t graph_id, std::uint64_t graph_node_id) {
        if (graph_id != 0) events_.arg("graph id", graph_id);
        if (graph_node_id != 0) events_.arg("graph node id", graph_node_id);
        if (att_.adopted[index] != 0) events_.arg("adopted", true);
        events_.end();
    }

    void write_kernel(std::uint32_t index, const gpu_op& op, trace_row row) {
        const kernel_record& kernel = data_.kernels[op.detail];
        events_.complete("kernel", names_.kernel(kernel.name), row, op.start_ns, op.end_ns);
        op_args(index, op);
        events_.arg("queued", kernel.queued_ns / 1000);
        const auto device = devices_.find(op.device);
        events_.args(shapes_.of(kernel, device == devices_.end() ? nullptr : device->second));
        closing_op_args(index, kernel.graph_id, kernel.graph_node_id);
    }

    void write_transfer(std::uint32_t index, const gpu_op& op, trace_row row) {
        const transfer_record& transfer = data_.transfers[op.detail];
        events_.complete(op.kind == op_kind::memset ? "gpu_memset" : "gpu_memcpy", json_string(transfer_name(transfer)),
                         row, op.start_ns, op.end_ns);
        op_args(index, op);
        if (transfer.kind == transfer_kind::memcpy_peer) {
            events_.arg("fromDevice", transfer.source_device);
            events_.arg("toDevice", transfer.destination_device);
        }
        events_.arg("bytes", transfer.bytes);
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        // A byte a nanosecond is a gigabyte a second.
        events_.arg("memory bandwidth (GB/s)",
                    duration_ns == 0 ? 0.0 : static_cast<double>(transfer.bytes) / static_cast<double>(duration_ns));
        closing_op_args(index, transfer.graph_id, transfer.graph_node_id);
    }

    // Tools know kernels, and take what they find under that category for work of the GPU's.
    void write_graph(std::uint32_t index, const gpu_op& op, trace_row row) {
        const graph_record& graph = data_.graphs[op.detail];
        events_.complete("kernel", json_string(graph_name(graph)), row, op.start_ns, op.end_ns);
        op_args(index, op);
        closing_op_args(index, graph.graph_id, 0);
    }

    // Where not all was recorded: why there is nothing between.
    void write_windows() {
        if (windows_line(data_).empty()) return;
        std::uint64_t number = 0;
        for (const timeline_window& window : data_.windows) {
            ++number;
            write_window_edge("\"recording begins\"", window.start_ns, number, "step", window.first_step);
            write_window_edge("\"recording ends\"", window.end_ns, number, "last step", window.last_step);
        }
    }

    void write_window_edge(std::string_view json_name, std::int64_t time_ns, std::uint64_t window,
                           std::string_view step_key, std::uint64_t step) {
        events_.instant("libprof", json_name, {host_pid_, host_pid_}, std::max(time_ns, base_ns_), 'p');
        events_.arg("window", window);
        events_.arg(step_key, step);
        events_.end();
        ++counts_.instants;
    }

    // What is missing, where people look: at the trace's end.
    void write_losses() {
        if (data_.quality.dropped.empty()) return;
        events_.instant("libprof", "\"records dropped\"", {host_pid_, host_pid_}, std::max(data_.end_ns, base_ns_),
                        'p');
        for (const auto& [cause, count] : data_.quality.dropped) events_.arg(cause, count);
        events_.end();
        ++counts_.instants;
    }

    const timeline& data_;
    const attribution& att_;
    std::int64_t base_ns_;
    trace_events events_;
    trace_names names_;
    kernel_shape_args shapes_;
    std::unordered_map<std::uint32_t, const device_record*> devices_;
    std::int64_t host_pid_ = 0;
    trace_counts counts_;
};

}  // namespace

trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name) {
    return chrome_trace_writer(data, att, sink).write(trace_name);
}

trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path) {
    atomic_file file(path);
    const trace_counts counts = write_chrome_trace(data, att, file, path);
    file.commit();
    return counts;
}

}  // namespace prof
