#include "cli/report.hpp"
#include "options/row_limit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "analysis/projection/xla_phases.hpp"
#include "analysis/reports/reports.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/trace_names.hpp"
#include "export/report/report_csv.hpp"
#include "export/report/report_json.hpp"
#include "export/report/report_text.hpp"

namespace prof {
namespace {

// Reports in one format, one capture after another.
class report_writer {
public:
    virtual ~report_writer() = default;
    virtual void begin_capture(const std::string&, const timeline&) {}
    virtual void gpu_projection(const std::string& capture, const timeline& data,
                                const std::optional<step_figures>& steps, const projection& projected) = 0;
    virtual void table_of(const std::string& capture, const timeline& data, const report_kind& kind,
                          const table& of) = 0;
    virtual void end_capture(const timeline&) {}
    virtual std::string text() = 0;  // of all
};

class table_writer final : public report_writer {
public:
    explicit table_writer(const text_layout& layout) : layout_(layout) {}

    void begin_capture(const std::string&, const timeline& data) override {
        if (!out_.empty()) out_ += '\n';
        out_ += title_text(data, layout_);
    }
    void gpu_projection(const std::string&, const timeline&, const std::optional<step_figures>& steps,
                        const projection& projected) override {
        if (steps) out_ += '\n' + step_text(*steps, layout_);
        out_ += '\n' + projection_text(projected, layout_);
        projected_notes_ = projection_notes(projected, layout_);
    }
    void table_of(const std::string&, const timeline&, const report_kind&, const table& of) override {
        out_ += '\n' + table_text(of, layout_);
    }
    void end_capture(const timeline& data) override {
        const std::string notes = capture_notes_text(data) + projected_notes_;
        if (!notes.empty()) out_ += '\n' + notes;
        projected_notes_.clear();
    }
    std::string text() override { return out_; }

private:
    text_layout layout_;
    std::string out_;
    std::string projected_notes_;
};

// A table for each kind of report, with the lines of all captures; an empty line between tables. Nsight's tables have
// its columns and no other, unless several captures must be distinguished.
class csv_writer final : public report_writer {
public:
    explicit csv_writer(bool several_captures) : several_captures_(several_captures) {}

    void gpu_projection(const std::string& capture, const timeline&, const std::optional<step_figures>&,
                        const projection& projected) override {
        add("gpu-projection", projection_csv_header(), projection_csv(capture, projected));
    }
    void table_of(const std::string& capture, const timeline&, const report_kind& kind, const table& of) override {
        const bool with_capture = !kind.is_nsight || several_captures_;
        add(of.report, table_csv_header(of, with_capture), table_csv(capture, of, with_capture));
    }
    std::string text() override {
        std::string out;
        for (const std::string& report : order_) out.append(out.empty() ? "" : "\r\n").append(tables_.at(report));
        return out;
    }

private:
    void add(const std::string& report, const std::string& header, const std::string& lines) {
        const auto [table, is_new] = tables_.try_emplace(report, header);
        if (is_new) order_.push_back(report);
        table->second += lines;
    }

    bool several_captures_;
    std::vector<std::string> order_;
    std::map<std::string, std::string> tables_;
};

// One report of one capture is an object; more than that an array of them.
class json_writer final : public report_writer {
public:
    explicit json_writer(bool is_one) : is_one_(is_one) {}

    void gpu_projection(const std::string& capture, const timeline& data, const std::optional<step_figures>& steps,
                        const projection& projected) override {
        all_.push_back(projection_json(capture, data, steps, projected));
    }
    void table_of(const std::string& capture, const timeline& data, const report_kind&, const table& of) override {
        all_.push_back(table_json(capture, data, of));
    }
    std::string text() override {
        if (is_one_ && all_.empty()) return {};
        return (is_one_ ? all_.front() : all_).dump(2) + '\n';
    }

private:
    bool is_one_;
    nlohmann::ordered_json all_ = nlohmann::ordered_json::array();
};

void write_text(const std::string& text, const std::string& path) {
    if (!path.empty()) {
        atomic_file file(path);
        file.write(text);
        file.commit();
        return;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) throw error("cannot write the report to standard output");
}

constexpr std::string_view projection_name = "gpu-projection";

std::vector<std::string> report_names() {
    std::vector<std::string> out = {std::string(projection_name)};
    for (const report_kind& kind : report_kinds()) out.emplace_back(kind.name);
    return out;
}

std::string list_of_reports() {
    std::string out = fmt::format("{:<22} {}\n", projection_name,
                                  "GPU time by range, with what other threads launched for it (default)");
    for (const report_kind& kind : report_kinds()) out += fmt::format("{:<22} {}\n", kind.name, kind.purpose);
    return out;
}

kernel_name_style style_of(const std::string& name) {
    if (name == "short") return kernel_name_style::short_form;
    return name == "mangled" ? kernel_name_style::mangled : kernel_name_style::full;
}

}  // namespace

report_command::report_command(command_arguments& arguments) {
    arguments.add("FILE", files_, "Captures (*.prof), one a process").value("");
    std::vector<std::string> names = report_names();
    names.emplace_back("help");
    arguments
        .add("--report", reports_,
             "gpu-projection (default): GPU time by range; kernels; copies; modules: by torch.nn.Module; pytorch_ops: "
             "by operator of PyTorch's; "
             "and Nsight's, such as nvtx_gpu_proj_sum. help lists all of them. Repeat it, or separate by commas")
        .separated_by(',')
        .one_value_each_time()
        .takes(one_of(names))
        .value("NAME");
    arguments.add("--format", format_, "table (default), csv, or json")
        .takes(one_of({"table", "csv", "json"}))
        .value("FORMAT");
    arguments.add("-o,--output", output_, "Write to FILE instead of standard output").value("FILE");
    arguments
        .add("--kernel-names", kernel_names_,
             "full (default): as in C++; short: the function's name, over all its instances; mangled")
        .takes(one_of({"full", "short", "mangled"}))
        .value("STYLE");
    flags_.add_to(arguments);
    arguments.add_flag(
        "--no-fold", no_fold_,
        "Give ranges whose names differ in digits only (iteration 1, iteration 2) rows of their own, and "
        "all that XLA pushes");
    arguments.add("--depth", depth_, "In tables, leave out ranges deeper than N (0: the outermost only)")
        .takes(
            {"a whole number", [](const std::string& text) { return parse_number<std::uint32_t>(text).has_value(); }})
        .value("N");
    arguments
        .add("--rows", rows_,
             "In the table of ranges, show N rows at most (default: 40), those with the most GPU time, or all")
        .takes({std::string(accepted_row_limit),
                [](const std::string& text) { return parse_row_limit(text).has_value(); }})
        .value("N");
}

int report_command::operator()() const {
    if (const std::string problem = output_problem(output_, files_); !problem.empty()) {
        complain(problem);
        return exit_usage;
    }
    if (std::find(reports_.begin(), reports_.end(), "help") != reports_.end()) {
        write_text(list_of_reports(), output_);
        return exit_ok;
    }
    if (files_.empty()) throw usage_error("FILE is required");
    projection_options wanted;
    wanted.fold_digits = !no_fold_;
    wanted.attribution = flags_.options();

    std::unique_ptr<report_writer> writer;
    if (format_ == "json") {
        writer = std::make_unique<json_writer>(files_.size() == 1 && reports_.size() == 1);
    } else if (format_ == "csv") {
        writer = std::make_unique<csv_writer>(files_.size() > 1);
    } else {
        text_layout layout;
        layout.deepest = depth_;
        layout.rows = parse_row_limit(rows_).value_or(layout.rows);
        layout.width = output_width(STDOUT_FILENO);
        writer = std::make_unique<table_writer>(layout);
    }

    int status = exit_ok;
    for (const std::string& file : files_) {
        try {
            const timeline data = load_capture(file);
            writer->begin_capture(file, data);
            const report_input input{
                .data = data,
                .names = style_of(kernel_names_),
                .hidden = hidden_domains(data, wanted.attribution.domains),
                .projected = wanted,
                .deepest = depth_,
                .rows = format_ == "table" ? parse_row_limit(rows_).value_or(text_layout{}.rows) : SIZE_MAX,
                .call_name = api_call_name};
            for (const std::string& report : reports_) {
                if (const report_kind* const kind = find_report(report)) {
                    writer->table_of(file, data, *kind, kind->make(input));
                } else {
                    const shown_timeline shown{data, wanted};
                    const attribution att = attribute(shown.data(), wanted.attribution);
                    writer->gpu_projection(file, data, measure_steps(shown.data(), att, shown.step_function()),
                                           project(shown.data(), att, wanted));
                }
            }
            writer->end_capture(data);
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    write_text(writer->text(), output_);
    return status;
}

}  // namespace prof
