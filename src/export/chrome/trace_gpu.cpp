// SPDX-License-Identifier: Apache-2.0
// The GPU part of a Chrome trace: the operations of each stream, and the ranges projected on it.
#include <algorithm>
#include <vector>

#include "analysis/projection/operation_name.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "base/json_text.hpp"
#include "export/chrome/collective_args.hpp"
#include "export/chrome/kernel_shape.hpp"
#include "export/chrome/trace_parts.hpp"

namespace prof {
namespace {

class gpu_part_writer : trace_part {
public:
    explicit gpu_part_writer(trace_sheet& to) : trace_part(to), collectives_(to.data) {}

    void write_stream(const gpu_stream_rows& stream) {
        const std::int64_t pid = to_.gpu_pid(stream.device);
        auto range = stream.ranges.begin();
        for (std::size_t i = 0; i < stream.ops.size(); ++i) {
            to_.progress.step();
            const gpu_op& op = data_.ops[stream.ops[i]];
            // A range begins together with its first operation. Written before that in the file, it is drawn around it.
            for (; range != stream.ranges.end() && range->start_ns <= op.start_ns; ++range) {
                write_projected_range(*range, gpu_row(pid, stream, range->row));
            }
            write_op(stream.ops[i], gpu_row(pid, stream, stream.op_row[i]));
        }
    }

private:
    void write_projected_range(const projected_range& projected, trace_row row) {
        const timeline_range& range = data_.ranges[projected.range];
        events_.complete("gpu_user_annotation", names_.name(range.name), row, projected.start_ns, projected.end_ns);
        events_.arg("External id", projected.replayed == npos ? to_.external_id(projected.range)
                                                              : to_.replayed_id(projected.replayed));
        if (range.domain != 0) events_.arg_text("domain", names_.domain(range.domain));
        if (projected.replayed != npos) events_.arg("captured", true);
        events_.arg("ops", projected.ops);
        events_.arg("gpu sum (ns)", projected.gpu_sum_ns);
        events_.end();
        ++counts_.projected_ranges;
    }

    void write_op(op_id index, trace_row row) {
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
        if (op.launch != npos) events_.flow_end(to_.flow_id(index), row, op.start_ns);
        if (to_.member != nullptr) write_arrows(index, row);
    }

    void write_arrows(std::uint32_t index, trace_row row) {
        const std::vector<trace_member::arrow_end>& all = to_.member->arrows;
        auto each = std::lower_bound(all.begin(), all.end(), index,
                                     [](const trace_member::arrow_end& of, std::uint32_t op) { return of.op < op; });
        for (; each != all.end() && each->op == index; ++each) {
            events_.member_flow(each->is_start, each->id, row, each->trace_ns);
            ++counts_.member_flows;
        }
    }

    void op_args(op_id index, const gpu_op& op) {
        if (att_.captured[index] != npos) {
            events_.arg("External id", to_.replayed_id(att_.captured[index]));
        } else if (is_range(att_.owner[index])) {
            events_.arg("External id", to_.external_id(att_.owner[index]));
        }
        const gpu_place& on = data_.place_of(op);
        events_.arg("device", on.device);
        events_.arg("context", on.context);
        events_.arg("stream", on.stream);
        events_.arg("correlation", to_.correlation(op.correlation));
    }

    void closing_op_args(op_id index, std::uint32_t graph_id, std::uint64_t graph_node_id) {
        collectives_.write(events_, index);
        if (graph_id != 0) events_.arg("graph id", graph_id);
        if (graph_node_id != 0) events_.exact_arg("graph node id", graph_node_id);
        if (att_.adopted[index] != 0) events_.arg("adopted", true);
        events_.end();
    }

    void write_kernel(op_id index, const gpu_op& op, trace_row row) {
        const kernel_record& kernel = data_.kernels[op.detail];
        events_.complete("kernel", names_.kernel(kernel.name), row, op.start_ns, op.end_ns);
        op_args(index, op);
        events_.arg("queued", kernel.queued_ns / 1000);
        events_.args(shapes_.of(kernel, to_.device(data_.place_of(op).device)));
        closing_op_args(index, kernel.graph_id, kernel.graph_node_id);
    }

    void write_transfer(op_id index, const gpu_op& op, trace_row row) {
        const transfer_record& transfer = data_.transfers[op.detail];
        events_.complete(op.kind == op_kind::memset ? "gpu_memset" : "gpu_memcpy", json_string(transfer_name(transfer)),
                         row, op.start_ns, op.end_ns);
        op_args(index, op);
        if (transfer.kind == transfer_kind::memcpy_peer) {
            events_.arg("fromDevice", transfer.source_device);
            events_.arg("toDevice", transfer.destination_device);
        }
        events_.exact_arg("bytes", transfer.bytes);
        const std::int64_t duration_ns = op.end_ns - op.start_ns;
        // One byte per nanosecond is one gigabyte per second.
        events_.arg("memory bandwidth (GB/s)",
                    duration_ns == 0 ? 0.0 : static_cast<double>(transfer.bytes) / static_cast<double>(duration_ns));
        closing_op_args(index, transfer.graph_id, transfer.graph_node_id);
    }

    // Tools handle the category "kernel", and count events of that category as GPU work.
    void write_graph(op_id index, const gpu_op& op, trace_row row) {
        const graph_record& graph = data_.graphs[op.detail];
        events_.complete("kernel", json_string(graph_name(graph)), row, op.start_ns, op.end_ns);
        op_args(index, op);
        closing_op_args(index, graph.graph_id, 0);
    }

    kernel_shape_args shapes_;
    collective_args collectives_;
};

}  // namespace

void write_trace_gpu(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu) {
    gpu_part_writer writer(to);
    for (const gpu_stream_rows& stream : gpu) writer.write_stream(stream);
}

}  // namespace prof
