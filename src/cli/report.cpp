#include "cli/report.hpp"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "export/atomic_file.hpp"
#include "export/report_csv.hpp"
#include "export/report_json.hpp"
#include "export/report_text.hpp"
#include "record/error.hpp"

namespace prof {
namespace {

// Reports in one format, one capture after another.
class report_writer {
public:
    virtual ~report_writer() = default;
    virtual void begin_capture(const std::string&, const timeline&) {}
    virtual void gpu_projection(const std::string& capture, const timeline& data, const projection& projected) = 0;
    virtual void kernels(const std::string& capture, const timeline& data, const std::vector<kernel_row>& rows) = 0;
    virtual void copies(const std::string& capture, const timeline& data, const std::vector<transfer_row>& rows) = 0;
    virtual void pytorch_ops(const std::string& capture, const timeline& data, const pytorch_table& table) = 0;
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
    void gpu_projection(const std::string&, const timeline&, const projection& projected) override {
        out_ += '\n' + projection_text(projected, layout_);
        projected_notes_ = projection_notes(projected);
    }
    void kernels(const std::string&, const timeline&, const std::vector<kernel_row>& rows) override {
        out_ += '\n' + kernels_text(rows, layout_);
    }
    void copies(const std::string&, const timeline&, const std::vector<transfer_row>& rows) override {
        out_ += '\n' + transfers_text(rows, layout_);
    }
    void pytorch_ops(const std::string&, const timeline&, const pytorch_table& table) override {
        out_ += '\n' + pytorch_ops_text(table, layout_);
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

// A table for each kind of report, with the lines of all captures; an empty line between tables.
class csv_writer final : public report_writer {
public:
    void gpu_projection(const std::string& capture, const timeline&, const projection& projected) override {
        add("gpu-projection", projection_csv_header(), projection_csv(capture, projected));
    }
    void kernels(const std::string& capture, const timeline&, const std::vector<kernel_row>& rows) override {
        add("kernels", kernels_csv_header(), kernels_csv(capture, rows));
    }
    void copies(const std::string& capture, const timeline&, const std::vector<transfer_row>& rows) override {
        add("copies", transfers_csv_header(), transfers_csv(capture, rows));
    }
    void pytorch_ops(const std::string& capture, const timeline&, const pytorch_table& table) override {
        add("pytorch_ops", pytorch_ops_csv_header(), pytorch_ops_csv(capture, table));
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

    std::vector<std::string> order_;
    std::map<std::string, std::string> tables_;
};

// One report of one capture is an object; more than that an array of them.
class json_writer final : public report_writer {
public:
    explicit json_writer(bool is_one) : is_one_(is_one) {}

    void gpu_projection(const std::string& capture, const timeline& data, const projection& projected) override {
        all_.push_back(projection_json(capture, data, projected));
    }
    void kernels(const std::string& capture, const timeline& data, const std::vector<kernel_row>& rows) override {
        all_.push_back(kernels_json(capture, data, rows));
    }
    void copies(const std::string& capture, const timeline& data, const std::vector<transfer_row>& rows) override {
        all_.push_back(transfers_json(capture, data, rows));
    }
    void pytorch_ops(const std::string& capture, const timeline& data, const pytorch_table& table) override {
        all_.push_back(pytorch_ops_json(capture, data, table));
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

}  // namespace

report_command::report_command(CLI::App& app) {
    app.add_option("FILE", files_, "Captures (*.prof), one a process")->required()->type_name("");
    app.add_option(
           "--report", reports_,
           "gpu-projection (default): GPU time by range; kernels; copies; pytorch_ops: by operator of PyTorch's "
           "(prof run --pytorch ops). Repeat it, or separate by commas")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"gpu-projection", "kernels", "copies", "pytorch_ops"}).description(""))
        ->type_name("NAME");
    app.add_option("--format", format_, "table (default), csv, or json")
        ->check(CLI::IsMember({"table", "csv", "json"}).description(""))
        ->type_name("FORMAT");
    app.add_option("-o,--output", output_, "Write to FILE instead of standard output")->type_name("FILE");
    app.add_option(
           "--adopt", adopt_,
           "Threads that work for others: auto (autograd's, the default), off, or a shell pattern of thread names")
        ->type_name("PATTERN");
    app.add_flag("--no-fold", no_fold_,
                 "Give ranges whose names differ in digits only (iteration 1, iteration 2) rows of their own");
    app.add_option("--depth", depth_, "In tables, leave out ranges deeper than N (0: the outermost only)")
        ->type_name("N");
}

int report_command::operator()() const {
    projection_options wanted;
    wanted.fold_digits = !no_fold_;
    wanted.attribution = adoption_of(adopt_);

    std::unique_ptr<report_writer> writer;
    if (format_ == "json") {
        writer = std::make_unique<json_writer>(files_.size() == 1 && reports_.size() == 1);
    } else if (format_ == "csv") {
        writer = std::make_unique<csv_writer>();
    } else {
        text_layout layout;
        layout.deepest = depth_;
        layout.width = output_width(STDOUT_FILENO);
        writer = std::make_unique<table_writer>(layout);
    }

    int status = exit_ok;
    for (const std::string& file : files_) {
        try {
            const timeline data = load_capture(file);
            writer->begin_capture(file, data);
            for (const std::string& report : reports_) {
                if (report == "kernels") {
                    writer->kernels(file, data, kernel_table(data));
                } else if (report == "copies") {
                    writer->copies(file, data, transfer_table(data));
                } else if (report == "pytorch_ops") {
                    writer->pytorch_ops(file, data, pytorch_operators(data));
                } else {
                    writer->gpu_projection(file, data, project(data, wanted));
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
