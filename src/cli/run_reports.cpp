// SPDX-License-Identifier: Apache-2.0
#include "cli/run_reports.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/path_from_here.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/capture_remarks.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/page_output.hpp"
#include "export/atomic_file.hpp"
#include "export/capture_files/exports.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/page/page_writer.hpp"
#include "export/report/report_text.hpp"
#include "export/report/screen/first_screen.hpp"
#include "options/plans.hpp"
#include "report/make_reports.hpp"

namespace prof {
namespace {

bool is_empty(const timeline& data) {
    return data.ranges.empty() && data.marks.empty() && data.api_calls.empty() && data.ops.empty();
}

// Where people see the tables.
int descriptor_of(const run_output& output) noexcept { return output.file() == "-" ? STDOUT_FILENO : STDERR_FILENO; }
bool is_to_file(const run_output& output) { return !output.file().empty() && output.file() != "-"; }

void print_text(const run_output& output, const std::string& text, bool has_blank_lines) {
    if (output.file() == "-") {
        fmt::print("{}", text);
    } else if (!output.file().empty()) {
        atomic_file file(output.file());
        file.write(text);
        file.commit();
    } else if (!output.quiet() && !text.empty()) {
        print_error(has_blank_lines ? '\n' + text + '\n' : text);
    }
}

class run_reporter {
public:
    run_reporter(const session_options& options, const run_output& output, std::string directory, std::size_t captures,
                 const progress_display& progress, bool only_files = false)
        : options_(options),
          output_(output),
          progress_(progress),
          directory_(std::move(directory)),
          kinds_(output.kinds()),
          reports_(kinds_, captures),
          is_one_(captures == 1),
          only_files_(only_files),
          settings_{.projected = projection_options_of(options), .shown = {.rows = options.rows}} {
        const int shown_on = descriptor_of(output);
        const bool is_file = is_to_file(output);
        if (output.format().is_for_people) settings_.most_rows = settings_.shown.rows;
        settings_.of_a_step = output.format().is_for_people;
        shown_limits shown = settings_.shown;
        if (!is_one_ && kinds_.empty()) shown.deepest = 1;  // `prof report` has the rest
        const bool is_on_terminal = !is_file && isatty(shown_on) == 1;
        shows_screen_ = is_on_terminal && kinds_.empty() && output.format().is_for_people;
        const text_layout layout{.width = output_width(shown_on),
                                 .color = !is_file && has_color("auto", shown_on),
                                 .lines = shows_screen_ ? lines_for_screen(shown_on) : SIZE_MAX,
                                 .only_screen = shows_screen_,
                                 .is_ascii = !has_utf8_locale(),
                                 .wrap_lines = !is_file && isatty(shown_on) == 1,
                                 .shown = shown};
        writer_ = output.format().make({.layout = layout,
                                        .several_captures = !is_one_ && has_documents_of_captures(),
                                        .several_reports = kinds_.size() > 1,
                                        .outline = true});
    }

    void add(const run_capture& capture) {
        try {
            timeline data = load_input(capture.path, progress_);
            if (is_empty(data)) {
                ++empty_count_;
                remarks_.add(data, capture.path);  // what it recorded may be lost
                return;
            }
            paths_.push_back(capture.path);
            has_gpu_work_ = has_gpu_work_ || !data.ops.empty();
            std::optional<report_document> summary;
            if (needs_summary(data, capture)) summary = summary_of(data, capture.path);
            if (summary) has_screen_ = has_screen_ || has_first_screen(*summary);
            if (has_tables()) add_tables(kinds_.empty() ? *summary : reports_of(data, capture.path));
            if (!shows_tables()) remarks_.add(data, capture.path);
            // The table of one capture comes before its trace, which takes longer.
            if (is_one_) print_tables();
            export_files(data, capture, summary);
            if (options_.exports.html) add_to_page(data, capture);
        } catch (const std::exception& failure) {
            complain(failure.what());
        }
    }

    void finish() {
        if (const std::optional<report_document> together = reports_.finish(settings_)) writer_->add(*together);
        if (!is_one_) print_tables();
        if (!job_.is_empty()) write_page_of_job();
        if (empty_count_ != 0) {
            complain(fmt::format("{} process{} recorded nothing", empty_count_, empty_count_ == 1 ? "" : "es"));
        }
        remarks_.print();
        if (!paths_.empty()) print_places();
        if (!paths_.empty() && has_tables() && !output_.quiet()) print_next();
    }

private:
    // Two lines of the program's own output stay in view above the screen; below it stand the places of files and the
    // shell's prompt.
    std::size_t lines_for_screen(int descriptor) const {
        const std::size_t width = std::max<std::size_t>(output_width(descriptor), 1);
        // The longest name of a file in the directory is not known yet.
        const std::size_t lines_a_file = 1 + (path_from_here(directory_).size() + 60) / width;
        const std::size_t others = 2 + (is_one_ ? lines_a_file * (options_.exports.trace ? 2 : 1) : 1) + 1;
        const std::size_t all = output_lines(descriptor);
        return all > others + 4 ? all - others : 4;
    }

    // Without a place, `prof report` takes the newest run.
    bool is_newest_place() const {
        std::error_code failed;
        return std::filesystem::equivalent(directory_of_runs(), directory_, failed);
    }
    void add_place(report_document& document) const {
        if (!is_one_ || !is_newest_place()) return;
        for (report_part& part : document.parts) {
            if (auto* const answer = block_in<answer_block>(part); answer != nullptr && answer->place)
                answer->place = "";
        }
    }

    bool has_tables() const noexcept {
        return !only_files_ &&
               (!kinds_.empty() || (options_.exports.summary && (!output_.quiet() || !output_.file().empty())));
    }

    // Where people see them now, and the warnings above them.
    bool shows_tables() const noexcept {
        return has_tables() && !output_.quiet() && output_.file().empty() && output_.format().is_for_people;
    }

    bool has_files(const timeline& data, const run_capture& capture) const {
        // Forked workers without GPU work have no files of their own: there may be hundreds.
        return is_one_ || !capture.is_forked_childs() || !data.ops.empty();
    }
    bool needs_summary(const timeline& data, const run_capture& capture) const {
        return (has_tables() && kinds_.empty()) || (options_.exports.summary && has_files(data, capture));
    }

    bool has_documents_of_captures() const noexcept { return kinds_.empty() || !reports_.of_captures().empty(); }
    void add_tables(const report_document& document) {
        if (has_documents_of_captures()) writer_->add(document);
    }
    report_document reports_of(const timeline& data, const std::string& path) {
        const progress_line computing(progress_, "computing the reports of " + path);
        return make_reports(data, path, settings_, reports_.of_captures(), &reports_);
    }
    report_document summary_of(const timeline& data, const std::string& path) const {
        const progress_line computing(progress_, "computing the summary of " + path);
        report_document out = make_summary(data, path, settings_);
        add_place(out);
        return out;
    }

    // The file is for people, whatever is printed.
    report_document summary_for_people(const timeline& data, const run_capture& capture,
                                       const report_document& summary) const {
        if (settings_.of_a_step) return summary;
        report_settings settings = settings_;
        settings.of_a_step = true;
        return make_summary(data, capture.path, settings);
    }

    void print_tables() {
        if (!has_tables()) return;
        print_text(output_, writer_->text(), !shows_screen_);
    }

    void export_files(const timeline& data, const run_capture& capture, const std::optional<report_document>& summary) {
        if (!has_files(data, capture)) return;
        if (options_.exports.summary)
            write_summary(summary_for_people(data, capture, *summary), capture.path, settings_.shown);
        if (options_.exports.trace) {
            const std::string trace = stem_of(capture.path) + ".trace.json.gz";
            progress_line writing(progress_, "writing " + trace);
            atomic_file file(trace, compressing_threads());
            write_chrome_trace(data, attribute_for_trace(data, settings_.projected.attribution), file, trace, &writing);
            file.commit();
        }
        ++exported_;
    }

    // Of one process its page; of several one page, when all are there.
    void add_to_page(const timeline& data, const run_capture& capture) {
        if (is_one_) {
            page_ = stem_of(capture.path) + ".html";
            const progress_line making(progress_, "making the page of " + capture.path);
            atomic_file file(page_);
            write_page(data, capture.path, page_settings(), file);
            file.commit();
            return;
        }
        job_.add(data, capture.path, page_settings());
        job_paths_.push_back(capture.path);
    }
    void write_page_of_job() {
        const std::string& path = job_paths_[job_.shown()];
        const timeline data = load_input(path, progress_);
        page_ = directory_ + "/job.html";
        const progress_line making(progress_, "making the page of " + directory_);
        atomic_file file(page_);
        write_page(data, path, page_settings(), file, job_.members().size() > 1 ? &job_ : nullptr);
        file.commit();
    }
    report_settings page_settings() const {
        report_settings out = settings_;
        out.may_use_threads = true;
        return out;
    }

    void print_places() const {
        if (!page_.empty()) {
            if (shows_screen_) {
                print_saved_page(page_);
            } else {
                complain("page:    " + page_);
            }
        }
        if (paths_.size() > 1 && shows_screen_) {
            fmt::print(stderr, "saved {} captures in {}\n", with_thousands(paths_.size()),
                       terminal_safe(path_from_here(directory_)));
            return;
        }
        if (paths_.size() > 1) {
            complain(fmt::format("captures: {} in {}", with_thousands(paths_.size()), directory_));
            if (options_.exports.trace && exported_ != 0) complain("traces:   " + directory_ + "/*.trace.json.gz");
            return;
        }
        if (shows_screen_) {
            if (options_.exports.trace)
                fmt::print(stderr, "saved {}\n",
                           terminal_safe(path_from_here(stem_of(paths_.front()) + ".trace.json.gz")));
            fmt::print(stderr, "saved {}\n", terminal_safe(path_from_here(paths_.front())));
            return;
        }
        complain("capture: " + paths_.front());
        if (options_.exports.trace) {
            complain("trace:   " + stem_of(paths_.front()) + ".trace.json.gz");
        }
        if (options_.exports.summary) complain("summary: " + stem_of(paths_.front()) + ".summary.txt");
    }

    void print_next() const {
        if (shows_screen_) return;  // the screen has it
        if (shows_tables() && has_screen_ && is_one_) {
            if (options_.exports.trace && exported_ != 0) complain("https://ui.perfetto.dev opens the trace");
            return;
        }
        const std::string place = is_newest_place() ? "" : " " + (paths_.size() == 1 ? paths_.front() : directory_);
        complain("next:    prof report" + place + (has_gpu_work_ ? " --report breakdown,kernels" : " --wide"));
        if (has_gpu_work_) complain("         prof diagnose" + place + "    (what to change, and what it would gain)");
        complain("         prof report --report help    (all reports)");
        if (options_.exports.trace && exported_ != 0) complain("         https://ui.perfetto.dev opens the trace");
    }

    const session_options& options_;
    const run_output& output_;
    const progress_display& progress_;
    std::string directory_;
    std::vector<const report_kind*> kinds_;
    job_reports reports_;
    bool is_one_;
    bool only_files_;
    bool shows_screen_ = false;
    bool has_screen_ = false;  // one of the documents
    report_settings settings_;
    std::unique_ptr<report_writer> writer_;
    capture_remarks remarks_{note_weight::warning};
    std::vector<std::string> paths_;
    bool has_gpu_work_ = false;
    std::size_t empty_count_ = 0;
    std::size_t exported_ = 0;
    std::string page_;  // "": none was made
    page_job job_;
    std::vector<std::string> job_paths_;
};

}  // namespace

void run_output::add_to(command_arguments& arguments) {
    constexpr std::string_view group = "What is printed at the end";
    arguments
        .add("--report", reports_, "Print these reports instead of the summary; `prof report --report help` lists them")
        .separated_by(',')
        .one_value_each_time()
        .takes(report_words())
        .value("NAME")
        .group(group);
    arguments.add("--format", format_, list_of_formats()).takes(format_words()).value("FORMAT").group(group);
    arguments.add("--report-file", file_, "Write them to FILE; - is standard output (default: standard error)")
        .value("FILE")
        .group(group);
    arguments.add_flag("-q,--quiet", quiet_, "Print no tables, only warnings and where the captures are").group(group);
}

void run_output::check() const {
    if (file_.empty() || file_ == "-") return;
    for (const outcome& usable : {check_output(file_, {}), check_place(file_)}) {
        if (!usable.ok()) throw usage_error("--report-file: " + usable.message());
    }
}

std::vector<const report_kind*> run_output::kinds() const { return reports_named(reports_); }

const report_format& run_output::format() const { return *find_report_format(format_); }

void report_run(const session_options& options, const run_output& output, const std::string& directory,
                const std::vector<run_capture>& captures, const progress_display& progress) {
    run_reporter reporter(options, output, directory, captures.size(), progress);
    for (const run_capture& capture : captures) reporter.add(capture);
    try {
        reporter.finish();
    } catch (const std::exception& failure) {
        complain(failure.what());
    }
}

void export_capture(const session_options& options, const run_output& output, const run_capture& capture,
                    const progress_display& progress) {
    run_reporter(options, output, "", 1, progress, true).add(capture);
}

void print_document(const session_options& options, const run_output& output, const report_document& document) {
    const int shown_on = descriptor_of(output);
    const bool is_file = is_to_file(output);
    const text_layout layout{.width = output_width(shown_on),
                             .color = !is_file && has_color("auto", shown_on),
                             .is_ascii = !has_utf8_locale(),
                             .wrap_lines = !is_file && isatty(shown_on) == 1,
                             .shown = {.rows = options.rows}};
    const std::unique_ptr<report_writer> writer =
        output.format().make({.layout = layout, .several_reports = document.parts.size() > 1});
    writer->add(document);
    print_text(output, writer->text(), true);
}

}  // namespace prof
