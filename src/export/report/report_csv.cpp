#include "export/report/report_csv.hpp"

#include <fmt/format.h>

#include <variant>

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

std::string projection_line(std::string_view capture, const projection_row& row, std::string_view type) {
    csv_line line;
    line.text(capture).text(type).text(row.path).number(row.depth).number(row.instances);
    line.number(row.host_ns).number(row.gpu_sum_ns).number(row.gpu_self_ns).number(row.gpu_child_ns);
    line.number(row.gpu_busy_ns).number(row.gpu_span_ns).number(row.ops).number(row.self_ops);
    line.number(row.adopted_ops).number(row.adopted_ns).number(row.instance_min_ns).number(row.instance_median_ns);
    line.number(row.instance_max_ns).number(row.instance_stddev_ns);
    line.number(row.communication_ns).number(row.wait_ns).number(row.payload_bytes);
    return std::move(line).end();
}

void add_cell(csv_line& line, const table_column& column, const table_cell& cell) {
    if (std::holds_alternative<std::monostate>(cell.value)) {
        line.text({});
    } else if (const auto* const text = std::get_if<std::string>(&cell.value)) {
        line.text(*text);
    } else if (const auto* const real = std::get_if<double>(&cell.value)) {
        if (column.decimals < 0) {
            line.number(*real);
        } else {
            line.text(fmt::format("{:.{}f}", *real, column.decimals));
        }
    } else if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) {
        line.number(*whole);
    } else {
        line.number(std::get<std::uint64_t>(cell.value));
    }
}

}  // namespace

std::string projection_csv_header() {
    return "capture,type,path,depth,instances,host_ns,gpu_sum_ns,gpu_self_ns,gpu_child_ns,gpu_busy_ns,gpu_span_ns,ops,"
           "self_ops,adopted_ops,adopted_ns,instance_min_ns,instance_median_ns,instance_max_ns,instance_stddev_ns,"
           "communication_ns,wait_ns,payload_bytes\r\n";
}

std::string projection_csv(std::string_view capture, const projection& projected) {
    std::string out;
    for (const projection_row& row : projected.rows) {
        out += projection_line(capture, row, row_type(row.kind, row.is_captured, row.is_observed));
    }
    for (const projection_row& row : projected.process_ranges) out += projection_line(capture, row, "start_end");
    return out;
}

std::string table_csv_header(const table& of, bool with_capture) {
    csv_line line;
    if (with_capture) line.text("capture");
    for (const table_column& column : of.columns) {
        if (!column.key.empty()) line.text(column.key);
    }
    return std::move(line).end();
}

std::string table_csv(std::string_view capture, const table& of, bool with_capture) {
    std::string out;
    for (const auto& row : of.rows) {
        csv_line line;
        if (with_capture) line.text(capture);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (!of.columns[i].key.empty()) add_cell(line, of.columns[i], row[i]);
        }
        out += std::move(line).end();
    }
    return out;
}

}  // namespace prof
