// SPDX-License-Identifier: Apache-2.0
// The host part of a Chrome trace: ranges, calls and marks of each thread, and the ranges of the process.
#include <bit>
#include <cmath>
#include <string>

#include "analysis/projection/code_line_text.hpp"
#include "base/json_text.hpp"
#include "export/chrome/trace_parts.hpp"
#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

class host_part_writer : trace_part {
public:
    host_part_writer(trace_sheet& to, const numbered_steps& steps) : trace_part(to), steps_(steps) {}

    void write_thread(const host_thread_rows& thread) {
        for (const host_item& item : thread.items) {
            to_.progress.step();
            const trace_row row = to_.host_row(thread.tid, item.row);
            switch (item.kind) {
                case host_item_kind::step:
                    write_step(steps_.steps[item.index], row);
                    break;
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

    void write_process_ranges() {
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.style == range_style::start_end && !att_.hidden.contains(range)) write_process_range(i);
        }
    }

    // Of a device, one track each.
    void write_memory() {
        for (const timeline_series& series : data_.series) {
            if (series.source != series_source::memory) continue;
            const std::string name = json_string("GPU " + std::to_string(series.device) + " memory " + series.name);
            for (const series_sample& sample : series.samples) {
                events_.counter("memory", name, row_of_thread(npos), sample.time_ns);
                events_.arg("bytes", sample.value);
                events_.end();
                ++counts_.counters;
            }
        }
    }

private:
    trace_row row_of_thread(std::uint32_t thread) const {
        return thread < data_.threads.size() ? to_.host_row(data_.threads[thread].tid)
                                             : trace_row{to_.host_pid, to_.host_pid};
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
                return events_.exact_arg("payload", payload);
            case payload_type::bytes:
                return events_.exact_arg("bytes", payload);
            case payload_type::i64:
                return events_.exact_arg("payload", static_cast<std::int64_t>(payload));
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
                return events_.exact_arg("Record function id", payload);
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

    void write_step(const numbered_step& step, trace_row row) {
        events_.complete("user_annotation", "\"ProfilerStep#" + std::to_string(step.number) + '"', row, step.start_ns,
                         step.end_ns);
        events_.arg_text("source", json_string(step_source_name(steps_.source)));
        events_.end();
        ++counts_.host_ranges;
    }

    void write_range(std::uint32_t index, trace_row row) {
        const timeline_range& range = data_.ranges[index];
        const char* const category = range.is_operator ? "cpu_op" : range.is_module ? "module" : "user_annotation";
        events_.complete(category, names_.name(range.name), row, range.start_ns, range.end_ns);
        events_.arg("External id", to_.external_id(index));
        annotation_args(range);
        if (range.sequence >= 0) {
            events_.arg(range.is_module ? "next sequence number" : "Sequence number",
                        static_cast<std::uint64_t>(range.sequence));
        }
        if (range.open_at_end) events_.arg("open at end", true);
        events_.end();
        ++counts_.host_ranges;
    }

    void write_mark(std::uint32_t index, trace_row row) {
        const timeline_mark& mark = data_.marks[index];
        if (const std::optional<double> value = counter_value(data_, mark); value && std::isfinite(*value)) {
            events_.counter("user_annotation", names_.name(mark.name), row, mark.time_ns);
            events_.arg("value", *value);
            events_.end();
            ++counts_.counters;
            return;
        }
        events_.instant("user_annotation", names_.name(mark.name), row, mark.time_ns, 't');
        annotation_args(mark);
        events_.end();
        ++counts_.instants;
    }

    void write_process_range(std::uint32_t index) {
        const timeline_range& range = data_.ranges[index];
        const std::string_view name = names_.name(range.name);
        const std::uint64_t id = to_.external_id(index);
        events_.async_begin("user_annotation", name, row_of_thread(range.thread), range.start_ns, id);
        events_.arg("External id", id);
        annotation_args(range);
        if (range.open_at_end) events_.arg("open at end", true);
        events_.end();
        events_.async_end("user_annotation", name, row_of_thread(range.end_thread), range.end_ns, id);
        events_.end();
        ++counts_.process_ranges;
    }

    void write_call(const host_item& item, trace_row row) {
        const timeline_api_call& call = data_.api_calls[item.index];
        const std::string_view observed = names_.api_call(call.domain, call.cbid);
        const std::string_view shown = names_.shown_call(call);
        const bool is_renamed = shown != observed;
        events_.complete(call.domain == api_domain::driver && !is_renamed ? "cuda_driver" : "cuda_runtime", shown, row,
                         item.start_ns, item.end_ns);
        if (const std::uint32_t range = att_.hidden.innermost_kept(data_, call.open); range != npos) {
            events_.arg("External id", to_.external_id(range));
        }
        if (is_renamed) events_.arg_text("call", observed);
        events_.arg("cbid", call.cbid);
        events_.arg("correlation", to_.correlation(call.correlation));
        if (call.end_ns == 0) events_.arg("returned", false);
        if (call.op_count == 0 && call.kernel_name != 0) events_.arg_text("kernel", names_.kernel(call.kernel_name));
        if (!data_.call_stacks.empty()) {
            write_stack(call_id(item.index), stack_role::call, "stack");
            write_stack(call_id(item.index), stack_role::before, "stack before");
            write_stack(call_id(item.index), stack_role::during, "stack while other code ran before");
        }
        events_.end();
        ++counts_.api_calls;
        if (call.is_unfinished) write_unfinished(call, row);
        for (const std::uint32_t op : ops_of(data_, call)) {
            events_.flow_start(to_.flow_id(op), row, item.start_ns);
            ++counts_.flows;
        }
    }

    template <std::size_t Size>
    void write_stack(call_id call, stack_role role, const char (&key)[Size]) {
        const call_stack* const found = stack_of_call(data_, call, role);
        if (found != nullptr) events_.arg_text(key, json_string(stack_text(data_, found->stack)));
    }

    void write_unfinished(const timeline_api_call& call, trace_row row) {
        events_.instant("libprof", "\"not completed\"", row, call.start_ns, 't');
        events_.arg_text("kernel", names_.kernel(call.kernel_name));
        events_.arg("correlation", to_.correlation(call.correlation));
        events_.end();
        ++counts_.instants;
    }

    const numbered_steps& steps_;
};

}  // namespace

void write_trace_host(trace_sheet& to, const std::vector<host_thread_rows>& host, const numbered_steps& steps) {
    host_part_writer writer(to, steps);
    for (const host_thread_rows& thread : host) writer.write_thread(thread);
    writer.write_process_ranges();
    writer.write_memory();
}

}  // namespace prof
