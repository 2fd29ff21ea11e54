// SPDX-License-Identifier: Apache-2.0
#include "export/report/report_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "export/report/report_writer.hpp"
#include "report/tables/diagnosis_tables.hpp"

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

bool is_in_csv(const table_column& column) noexcept {
    return !column.key.empty() && column.formats != column_formats::json;
}

void add_cell(csv_line& line, const table_column& column, const table_cell& cell) {
    if (std::holds_alternative<std::monostate>(cell.value)) {
        line.text({});
    } else if (const auto* const text = std::get_if<std::string>(&cell.value)) {
        line.text(*text);
    } else if (const auto* const list = std::get_if<text_list>(&cell.value)) {
        line.text(fmt::format("{}", fmt::join(*list, "\n")));
    } else if (const auto* const real = std::get_if<double>(&cell.value)) {
        if (column.decimals < 0) {
            line.number(*real);
        } else {
            line.text(fmt::format("{:.{}f}", *real, column.decimals));
        }
    } else if (const auto* const flag = std::get_if<bool>(&cell.value)) {
        line.text(*flag ? "true" : "false");
    } else if (const auto* const whole = std::get_if<std::int64_t>(&cell.value)) {
        line.number(*whole);
    } else {
        line.number(std::get<std::uint64_t>(cell.value));
    }
}

template <typename TVisit>
void for_each_csv_line(std::string_view capture, const table& of, bool with_capture, TVisit&& visit) {
    for_each_row(of, [&](const table_row& row) {
        csv_line line;
        if (with_capture) line.text(capture);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (is_in_csv(of.columns[i])) add_cell(line, of.columns[i], row[i]);
        }
        visit(std::move(line).end());
    });
}

// A table for each report, with the lines of all captures; an empty line between tables. Nsight's tables have its
// columns and no other, unless several captures must be distinguished.
class csv_writer final : public report_writer {
public:
    explicit csv_writer(bool several_captures) : several_captures_(several_captures) {}

    void add(const report_document& document) override {
        for (const report_part& part : document.parts) {
            for (const report_block& block : part.blocks) {
                if (const auto* const found = std::get_if<findings_block>(&block)) {
                    add(document, part, findings_table(found->found));
                } else if (const auto* const made = std::get_if<table>(&block)) {
                    add(document, part, *made);
                }
            }
        }
    }

    std::string text() const override {
        std::string out;
        for (const report_lines& of : reports_) out += of.lines;
        return out;
    }
    void write_to(byte_sink& destination) override { sink_ = &destination; }

private:
    static constexpr std::size_t written_at_once = 1U << 20;

    struct report_lines {
        std::string name;
        std::string lines;  // without those that the destination has
    };

    void add(const report_document& document, const report_part& part, const table& made) {
        const bool with_capture = !part.is_of_job && (!part.is_nsight || several_captures_);
        auto of = std::find_if(reports_.begin(), reports_.end(),
                               [&](const report_lines& each) { return each.name == part.name; });
        if (of == reports_.end()) {
            reports_.push_back({part.name, reports_.empty() ? "" : "\r\n"});
            of = std::prev(reports_.end());
            of->lines += table_csv_header(made, with_capture);
        }
        // The lines of several captures come together, and those of a report end where the next one's begin.
        const bool is_in_order = !several_captures_ && std::next(of) == reports_.end();
        for_each_csv_line(document.capture.path, made, with_capture, [&](std::string&& line) {
            of->lines += line;
            if (sink_ != nullptr && is_in_order && of->lines.size() >= written_at_once) write_all();
        });
    }

    void write_all() {
        for (report_lines& of : reports_) {
            sink_->write(of.lines);
            of.lines.clear();
        }
    }

    bool several_captures_;
    std::vector<report_lines> reports_;
    byte_sink* sink_ = nullptr;
};

}  // namespace

std::string table_csv_header(const table& of, bool with_capture) {
    csv_line line;
    if (with_capture) line.text("capture");
    for (const table_column& column : of.columns) {
        if (is_in_csv(column)) line.text(column.key);
    }
    return std::move(line).end();
}

std::string table_csv(std::string_view capture, const table& of, bool with_capture) {
    std::string out;
    for_each_csv_line(capture, of, with_capture, [&](std::string&& line) { out += line; });
    return out;
}

std::unique_ptr<report_writer> make_csv_writer(const writer_options& options) {
    return std::make_unique<csv_writer>(options.several_captures);
}

}  // namespace prof
