#include "export/report_csv.hpp"

#include <fmt/format.h>

namespace prof {
namespace {

class csv_line {
public:
    csv_line& text(std::string_view value) {
        separate();
        if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
            out_ += value;
            return *this;
        }
        out_ += '"';
        for (const char c : value) {
            if (c == '"') out_ += '"';
            out_ += c;
        }
        out_ += '"';
        return *this;
    }

    template <typename TNumber>
    csv_line& number(TNumber value) {
        separate();
        fmt::format_to(std::back_inserter(out_), "{}", value);
        return *this;
    }

    std::string end() && { return std::move(out_) + "\r\n"; }

private:
    void separate() {
        if (!is_first_) out_ += ',';
        is_first_ = false;
    }

    std::string out_;
    bool is_first_ = true;
};

std::string_view row_type(const projection_row& row, bool is_process_range) {
    if (is_process_range) return "start_end";
    switch (row.kind) {
        case row_kind::range:
            return row.is_captured ? "captured" : "push_pop";
        case row_kind::no_range:
            return "no_range";
        case row_kind::ambiguous:
            return "ambiguous";
        case row_kind::unmatched:
            break;
    }
    return "unmatched";
}

std::string projection_line(std::string_view capture, const projection_row& row, bool is_process_range) {
    csv_line line;
    line.text(capture).text(row_type(row, is_process_range)).text(row.path).number(row.depth).number(row.instances);
    line.number(row.host_ns).number(row.gpu_sum_ns).number(row.gpu_self_ns).number(row.gpu_child_ns);
    line.number(row.gpu_busy_ns).number(row.gpu_span_ns).number(row.ops).number(row.self_ops);
    line.number(row.adopted_ops).number(row.adopted_ns).number(row.instance_min_ns).number(row.instance_median_ns);
    line.number(row.instance_max_ns).number(row.instance_stddev_ns);
    line.number(row.communication_ns).number(row.wait_ns).number(row.payload_bytes);
    return std::move(line).end();
}

void add_statistics(csv_line& line, double share, const duration_statistics& time) {
    line.number(share).number(time.instances).number(time.total_ns).number(time.min_ns).number(time.median_ns);
    line.number(time.mean_ns).number(time.max_ns).number(time.stddev_ns);
}

}  // namespace

std::string projection_csv_header() {
    return "capture,type,path,depth,instances,host_ns,gpu_sum_ns,gpu_self_ns,gpu_child_ns,gpu_busy_ns,gpu_span_ns,ops,"
           "self_ops,adopted_ops,adopted_ns,instance_min_ns,instance_median_ns,instance_max_ns,instance_stddev_ns,"
           "communication_ns,wait_ns,payload_bytes\r\n";
}

std::string projection_csv(std::string_view capture, const projection& projected) {
    std::string out;
    for (const projection_row& row : projected.rows) out += projection_line(capture, row, false);
    for (const projection_row& row : projected.process_ranges) out += projection_line(capture, row, true);
    return out;
}

std::string kernels_csv_header() {
    return "capture,name,symbol,share,instances,total_ns,min_ns,median_ns,mean_ns,max_ns,stddev_ns,"
           "registers_per_thread,class\r\n";
}

std::string kernels_csv(std::string_view capture, const std::vector<kernel_row>& rows) {
    std::string out;
    for (const kernel_row& row : rows) {
        csv_line line;
        line.text(capture).text(row.name).text(row.symbol);
        add_statistics(line, row.share, row.time);
        line.number(row.registers_per_thread).text(to_string(row.kind));
        out += std::move(line).end();
    }
    return out;
}

std::string pytorch_ops_csv_header() {
    return "capture,name,calls,cpu_total_ns,cpu_self_ns,gpu_total_ns,gpu_self_ns,gpu_ops,backward_gpu_ns,"
           "backward_calls\r\n";
}

std::string pytorch_ops_csv(std::string_view capture, const pytorch_table& table) {
    std::string out;
    for (const pytorch_row& row : table.rows) {
        csv_line line;
        line.text(capture).text(row.name).number(row.calls).number(row.cpu_total_ns).number(row.cpu_self_ns);
        line.number(row.gpu_total_ns).number(row.gpu_self_ns).number(row.gpu_ops).number(row.backward_gpu_ns);
        line.number(row.backward_calls);
        out += std::move(line).end();
    }
    return out;
}

std::string transfers_csv_header() {
    return "capture,operation,share,instances,total_ns,min_ns,median_ns,mean_ns,max_ns,stddev_ns,bytes,min_bytes,"
           "max_bytes,gigabytes_per_s\r\n";
}

std::string transfers_csv(std::string_view capture, const std::vector<transfer_row>& rows) {
    std::string out;
    for (const transfer_row& row : rows) {
        csv_line line;
        line.text(capture).text(row.operation);
        add_statistics(line, row.share, row.time);
        line.number(row.bytes).number(row.min_bytes).number(row.max_bytes).number(row.gigabytes_per_s);
        out += std::move(line).end();
    }
    return out;
}

}  // namespace prof
