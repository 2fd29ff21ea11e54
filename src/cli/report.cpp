// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/page_output.hpp"
#include "cli/perf_input.hpp"
#include "cli/progress_line.hpp"
#include "export/report/report_writer.hpp"
#include "report/reports.hpp"
#include "report/row_order.hpp"

namespace prof {
namespace {

// A part of the manual.
constexpr std::string_view title_of_tables = "Which tables are made";
constexpr std::string_view title_of_place = "Format and place";

std::string list_of_reports() {
    std::string out;
    for (const report_kind& kind : report_kinds()) out += fmt::format("{:<22} {}\n", kind.name, kind.purpose);
    return out;
}

accepted_values whole_number() {
    return {"a whole number", [](const std::string& text) { return parse_number<std::uint32_t>(text).has_value(); }};
}

std::optional<double> positive(const std::string& text) {
    constexpr double least = 1e-300;
    return parse_number<double>(text, least);
}

accepted_values positive_number() {
    return {"a number above 0, such as 1.2e15", [](const std::string& text) { return positive(text).has_value(); }};
}

}  // namespace

report_command::report_command(command_arguments& arguments) {
    arguments
        .add("FILE", files_,
             "Captures (*.prof), traces of torch.profiler (*.json, *.json.gz), directories of them, or - for standard "
             "input")
        .value("");
    arguments
        .add("--report", reports_,
             std::string(reports_at_a_glance()) +
                 ". all: all that have rows; help lists them. Repeat it, or separate by commas")
        .separated_by(',')
        .one_value_each_time()
        .takes(report_words({"help"}))
        .value("NAME")
        .group(title_of_tables);
    arguments
        .add_flag("--full", full_,
                  "The first screen, then the tables that most questions need: ranges, idle time, kernels, copies, "
                  "operators, modules, and the critical path. Without it a terminal gets the first screen alone")
        .group(title_of_tables);
    arguments
        .add("--kernel-names", kernel_names_,
             "full (default): as in C++; short: the function's name, over all its instances; mangled")
        .takes(one_of({"full", "short", "mangled"}))
        .value("STYLE")
        .group(title_of_tables);
    part_.add_to(arguments);
    arguments
        .add_flag(
            "--whole-run", whole_run_,
            "Tables of all that was recorded, added up. Without it text, Markdown and HTML have them of one step, "
            "the mean of those that count; CSV and JSON have sums")
        .group(title_of_tables);
    flags_.add_to(arguments);
    const option& fold = *find_option("fold");
    const auto parse_fold = [this, &fold](const std::string& text) { return fold.parse(options_, text); };
    arguments
        .add_parsed("--fold", {accepts_of(fold), parse_fold, accepted_words(fold)},
                    "Which ranges whose names differ in numbers only are one row: counters (default): those whose "
                    "number counts (iteration 17), and not those whose number names (layer 3); all; none; or the "
                    "names given, with # for each number: \"layer #,iteration #\"")
        .value(std::string(fold.value_name))
        .group(title_of_ranges);
    arguments.add_flag("--no-fold", no_fold_, "As --fold none: a row for each name, and all that XLA pushes")
        .group(title_of_ranges);
    arguments.add("--depth", depth_, "In tables, leave out ranges deeper than N (0: the outermost only)")
        .takes(whole_number())
        .value("N")
        .group(title_of_ranges);
    add_option(arguments, *find_option("rows"),
               "In the table of ranges, show N rows at most (default: 40), those with the most GPU time, or all",
               options_);
    arguments.add("--sort", sort_, "Sort the rows of a list, such as kernels, by this column")
        .value("COLUMN")
        .group(title_of_tables);
    arguments.add("--limit", limit_, "Of lists, show the first N rows; sums are of all")
        .takes(whole_number())
        .value("N")
        .group(title_of_tables);
    arguments
        .add("--flops-per-step", flops_per_step_, "For mfu: the floating-point operations of a step of this process")
        .takes(positive_number())
        .value("N")
        .group(title_of_tables);
    arguments
        .add("--perf", perf_,
             "The functions of each range, by samples that `perf record -k CLOCK_MONOTONIC` has taken beside: its "
             "perf.data, or the text of `perf script -F tid,time,ip,sym,dso --ns`")
        .value("FILE")
        .group(title_of_tables);
    arguments
        .add("--html", html_,
             "Write a page for the browser to FILE: one file with the answer, what to change, every step, kernels and "
             "a step in time, that needs no network")
        .value("FILE")
        .group(title_of_place);
    output_.add_to(arguments);
}

std::vector<const report_kind*> report_command::kinds_asked_for() const {
    if (full_ && !reports_.empty()) throw usage_error("--full and --report exclude each other");
    if (full_) return full_reports();
    if (reports_.empty() && !perf_.empty()) return reports_named({"functions"});
    if (reports_.empty()) return {&report_kinds().front()};
    return reports_named(reports_);
}

std::string report_command::place_of_page() const {
    if (!html_.empty()) {
        if (!reports_.empty() || full_) throw usage_error("--html has a page of its own, without --report and --full");
        const std::string_view format = output_.format().name;
        if (format != report_formats().front().name && format != "html") {
            throw usage_error("--html writes a page, and no " + std::string(format) + ": leave out --format");
        }
        if (!output_.place().empty()) throw usage_error("--html and --output exclude each other: each names the file");
        return html_;
    }
    // Into a file, and of no tables that were asked for: else it is HTML for another page.
    const bool is_page = output_.format().name == "html" && !output_.place().empty() && reports_.empty() && !full_;
    return is_page ? output_.place() : std::string();
}

int report_command::operator()() const {
    const bool wants_list = std::find(reports_.begin(), reports_.end(), "help") != reports_.end();
    const capture_inputs inputs = wants_list ? capture_inputs{} : captures_or_newest_run(files_);
    if (const outcome usable = output_.check(inputs.files); !usable.ok()) {
        complain(usable.message());
        return exit_usage;
    }
    if (wants_list) {
        output_.write(list_of_reports());
        return exit_ok;
    }
    if (inputs.files.empty()) return exit_failure;
    if (inputs.runs > 1) {
        complain(fmt::format("these are captures of {} runs; PROF_OUTPUT_DIR=DIR prof report has the newest run alone",
                             inputs.runs));
    }
    report_settings settings;
    settings.may_use_threads = true;
    settings.sort = sort_;
    if (limit_ != UINT32_MAX) settings.limit = limit_;
    settings.flops_per_step = positive(flops_per_step_);
    settings.shown = {.rows = options_.rows, .deepest = depth_};
    if (output_.format().is_for_people) settings.most_rows = settings.shown.rows;
    settings.of_a_step = output_.format().is_for_people && !whole_run_;
    settings.projected.fold = options_.fold;
    if (no_fold_) settings.projected.fold.mode = fold_mode::none;
    settings.projected.attribution = flags_.options();
    settings.selection = part_.request();
    // count_steps() changes the timeline, without a copy.
    settings.counted_by = std::exchange(settings.selection.step_range, {});
    settings.names = parse_kernel_name_style(kernel_names_).value_or(settings.names);

    perf_samples samples;
    if (!perf_.empty()) {
        samples = read_perf_file(perf_);
        settings.samples = &samples;
    }
    if (const std::string place = place_of_page(); !place.empty()) return write_page(inputs, place, settings);

    settings.leaves_out_empty = full_;
    std::vector<const report_kind*> kinds = kinds_asked_for();
    const bool only_screen = reports_.empty() && perf_.empty() && !full_;
    // The screen of a job has the verdict on its ranks.
    const bool adds_ranks =
        reports_.empty() && perf_.empty() && inputs.files.size() > 1 && output_.format().name == "table";
    if (adds_ranks) kinds.push_back(find_report("ranks"));
    job_reports job(kinds, inputs.files.size());
    const std::unique_ptr<report_writer> writer =
        output_.make_writer(job.of_captures().empty() ? 1 : inputs.files.size(), kinds.size(), !inputs.are_listed,
                            settings.shown, only_screen);
    report_stream output(output_.place(), output_.is_on_terminal() && output_.has_pager());
    writer->write_to(output);
    const progress_display progress;
    int status = inputs.all_found ? exit_ok : exit_failure;
    parts_not_found without;
    for (const std::string& file : inputs.files) {
        try {
            timeline data = load_input(file, progress);
            const progress_line computing(progress, "computing the reports of " + file);
            flags_.apply_to(data);
            part_.count_steps(data);
            if (output_.format().is_for_people) {
                const report_document made = make_reports(data, file, settings, job.of_captures(), &job);
                if (!made.parts.empty()) writer->add(made);
            } else {
                // One after another: some have a row for each range or launch.
                const auto add = [&](const report_document& one) { writer->add(one); };
                make_reports(data, file, settings, job.of_captures(), add, &job);
            }
        } catch (const nothing_selected& failure) {
            without.add(file, failure.what());
        } catch (const impossible_order& failure) {
            complain(failure.what());
            return exit_usage;
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    if (!without.report(inputs.files.size())) status = exit_failure;
    std::optional<report_document> together = job.finish(settings);
    // What nobody asked for is shown of a job alone, and not of programs side by side, or of the one file that was
    // read.
    if (together && adds_ranks) std::erase_if(together->parts, is_of_one_rank);
    if (together && !together->parts.empty()) writer->add(*together);
    output.write(writer->text());
    output.finish();
    return status;
}

int report_command::write_page(const capture_inputs& inputs, const std::string& place,
                               const report_settings& settings) const {
    if (const outcome usable = check_output(place, inputs.files); !usable.ok()) {
        complain(usable.message());
        return exit_usage;
    }
    if (const outcome possible = place == "-" ? outcome() : check_place(place); !possible.ok()) {
        throw error(possible.message());
    }
    page_order order{.files = inputs.files, .place = place == "-" ? std::string() : place, .settings = settings};
    order.settings.may_use_threads = true;
    order.prepare = [this](timeline& data) {
        flags_.apply_to(data);
        part_.count_steps(data);
    };
    const progress_display progress;
    const bool all_read = write_page_of(order, progress) && inputs.all_found;
    std::error_code failed;
    if (!order.place.empty() && std::filesystem::is_regular_file(order.place, failed)) print_saved_page(order.place);
    return all_read ? exit_ok : exit_failure;
}

}  // namespace prof
