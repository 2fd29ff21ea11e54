// SPDX-License-Identifier: Apache-2.0
#include "cli/export.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/selection/selected_part.hpp"
#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/capture_remarks.hpp"
#include "cli/cli.hpp"
#include "cli/job_trace.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/standard_output.hpp"
#include "cli/table_folder.hpp"
#include "cli/trace_places.hpp"
#include "diagnose/path_shares.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/parquet/capture_tables.hpp"
#include "export/parquet/job_tables.hpp"
#include "export/parquet/table_schemas.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr const char* compressed = "json.gz";
constexpr const char* plain = "json";
constexpr const char* tables = "parquet";

trace_counts write_to_standard_output(const timeline& data, const attribution& att, const std::string& name,
                                      bool is_compressed, progress_observer& progress, const trace_track* track) {
    standard_output out(is_compressed);
    const trace_counts counts = write_chrome_trace(data, att, out, name, &progress, track);
    out.finish();
    return counts;
}

// Where standard output has the trace, the counts stand on standard error.
// `ranks`: whose they are; 0: of one capture.
void print_counts(const std::string& place, const trace_counts& counts, std::size_t ranks = 0) {
    const bool is_elsewhere = place == to_standard_output;
    std::string line = fmt::format(
        "{}: {} host ranges, {} CUDA calls, {} GPU operations, {} ranges on the GPU, {} arrows",
        is_elsewhere ? "standard output" : place, with_thousands(counts.host_ranges + counts.process_ranges),
        with_thousands(counts.api_calls), with_thousands(counts.gpu_ops), with_thousands(counts.projected_ranges),
        with_thousands(counts.flows));
    if (ranks != 0) {
        line += fmt::format("; {} rank{}, {} arrows between {}", with_thousands(ranks), ranks == 1 ? "" : "s",
                            with_thousands(counts.member_flows / 2), ranks == 1 ? "its captures" : "them");
    }
    is_elsewhere ? complain(line) : fmt::print("{}\n", terminal_safe(line));
}

// Of a part, that of the whole steps in it; throws nothing_selected if there are none.
trace_track critical_path_track(const timeline& data, const attribution_options& options,
                                const selection_request& request) {
    const projected_timeline shown({.data = data, .projected = {.attribution = options}});
    std::optional<whole_steps> chosen;
    if (request.has_times()) {
        chosen = choose_whole_steps(shown.data(), shown.att(), request, !shown.step_function().empty());
    }
    trace_track out{.name = "critical path", .category = "critical_path"};
    for (named_piece& piece : named_critical_path(shown.data(), shown.att(), shown.step_function(),
                                                  chosen ? &*chosen : nullptr, &shown.original())) {
        out.slices.push_back(
            {piece.start_ns, piece.end_ns, std::move(piece.kind), std::move(piece.where), std::move(piece.module)});
    }
    return out;
}

void make_folder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw error("cannot make the directory " + folder + ": " + failed.message());
}

}  // namespace

export_command::export_command(command_arguments& arguments) : format_(compressed) {
    arguments
        .add("FILE", files_,
             "Captures (*.prof), traces of torch.profiler (*.json, *.json.gz), directories of them, or - for standard "
             "input")
        .value("");
    arguments
        .add("-o,--output", output_,
             "The trace, plain (*.json) or compressed (*.json.gz), or - for standard output: of several captures one "
             "trace "
             "of their job, with aligned clocks. A directory (DIR/): a trace of each. Default: beside each FILE. Of "
             "--format parquet: the directory of the tables")
        .value("TRACE");
    arguments
        .add("--format", format_,
             "json.gz (default) or json, of traces whose names are not given, and of standard output; parquet: tables "
             "of the job, for DuckDB, Spark and their like, into the directory that -o names")
        .value("FORMAT")
        .takes(one_of({compressed, plain, tables}));
    arguments.add_flag("--critical-path", critical_path_,
                       "With a row of what the steps waited for at each moment, as prof diagnose computes it");
    arguments
        .add("--ranks", ranks_,
             "In one trace of a job: these ranks, as 0,2,8-15. The clocks are aligned by the collectives of all that "
             "are "
             "named")
        .value("LIST")
        .takes(rank_lists());
    part_.add_to(arguments);
    flags_.add_to(arguments);
}

// What of a capture a trace has.
struct export_command::shown_capture {
    shown_capture(const timeline& data, const attribution_options& options, const selection_request& request) {
        if (request.is_part()) {
            part.emplace(data, projection_options{.attribution = options}, request, false);
        } else {
            att = attribute(data, options);
        }
        shown = part ? &part->data() : &data;
        shown_att = part ? &part->att() : &att;
    }
    shown_capture(const shown_capture&) = delete;
    shown_capture& operator=(const shown_capture&) = delete;

    std::optional<selected_part> part;
    attribution att;
    const timeline* shown = nullptr;
    const attribution* shown_att = nullptr;
    const kept_entities* kept() const noexcept { return part ? &part->kept() : nullptr; }
};

std::optional<trace_track> export_command::track_of(const timeline& data, const std::string& name) const {
    if (!critical_path_) return {};
    try {
        return critical_path_track(data, flags_.options(), part_.request());
    } catch (const nothing_selected& failure) {
        complain(fmt::format("{}: the trace has no critical path: {}", name, failure.what()));
        return {};
    }
}

timeline export_command::read(const std::string& file, const progress_display& progress) const {
    timeline data = load_input(file, progress);
    flags_.apply_to(data);
    part_.count_steps(data);
    return data;
}

// One trace of the job's ranks.
int export_command::write_job(const capture_inputs& inputs, const progress_display& progress) const {
    int status = inputs.all_found ? exit_ok : exit_failure;
    capture_remarks remarks{note_weight::warning, note_weight::heading};
    parts_not_found without;
    job_trace job(parse_ranks(ranks_).value_or(std::vector<number_range>()));
    for (const std::string& file : inputs.files) {
        try {
            const timeline data = read(file, progress);
            const progress_line computing(progress, "comparing the collectives of " + file);
            remarks.add(data, file);
            const projected_timeline whole({.data = data, .projected = {.attribution = flags_.options()}});
            try {
                const shown_capture part(data, flags_.options(), part_.request());
                job.survey(file, whole.data(), whole.att(), whole.step_function(), *part.shown, part.kept());
            } catch (const nothing_selected& failure) {
                without.add(file, failure.what());
            }
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    if (!without.report(inputs.files.size())) return exit_failure;
    job.plan();
    for (const std::string& remark : job.remarks()) complain(remark);

    const bool is_stream = output_ == to_standard_output;
    std::optional<atomic_file> file;
    std::optional<standard_output> stream;
    if (is_stream) {
        stream.emplace(format_ == compressed);
    } else {
        file.emplace(output_, compressing_threads());
    }
    byte_sink& sink = is_stream ? static_cast<byte_sink&>(*stream) : static_cast<byte_sink&>(*file);
    progress_line writing(progress, "writing the trace of the job");
    chrome_trace trace(sink, is_stream ? std::string("job.trace.") + format_ : output_, &writing);
    trace.begin(job.headings());
    trace_counts counts;
    std::set<std::uint32_t> ranks;
    for (const job_trace::member& capture : job.members()) {
        const timeline data = read(capture.path, progress);
        const shown_capture part(data, flags_.options(), part_.request());
        const trace_member member = job.take(capture, part.kept());
        const std::optional<trace_track> track = track_of(data, capture.path);
        counts += trace.add(*part.shown, *part.shown_att, track ? &*track : nullptr, &member);
        ranks.insert(capture.rank);
    }
    trace.end();
    if (is_stream) {
        stream->finish();
    } else {
        file->commit();
    }
    print_counts(output_, counts, ranks.size());
    remarks.print();
    return status;
}

trace_counts export_command::write(const timeline& data, const std::string& name, const std::string& place,
                                   const progress_display& progress) const {
    progress_line writing(progress, "writing the trace of " + name);
    const shown_capture part(data, flags_.options(), part_.request());
    const timeline& shown = *part.shown;
    const attribution& att = *part.shown_att;
    const std::optional<trace_track> path = track_of(data, name);
    const trace_track* const track = path ? &*path : nullptr;
    if (place != to_standard_output) {
        atomic_file file(place, compressing_threads());
        const trace_counts counts = write_chrome_trace(shown, att, file, place, &writing, track);
        file.commit();
        return counts;
    }
    return write_to_standard_output(shown, att, trace_file_name(name, format_), format_ == compressed, writing, track);
}

// Tables of all captures, by their job and rank.
int export_command::write_tables(const capture_inputs& inputs, const progress_display& progress) const {
    int status = inputs.all_found ? exit_ok : exit_failure;
    capture_remarks remarks{note_weight::warning, note_weight::heading};
    job_tables jobs;
    std::optional<timeline> only;  // a capture alone is read once
    const auto input_of = [&](const timeline& data, const std::string& file) {
        return report_input{.data = data, .capture = file, .projected = {.attribution = flags_.options()}};
    };
    for (const std::string& file : inputs.files) {
        try {
            timeline data = read(file, progress);
            const progress_line computing(progress, "looking at the steps of " + file);
            if (!jobs.survey(file, input_of(data, file))) {
                complain(file + ": this capture was given twice");
                continue;
            }
            remarks.add(data, file);
            if (inputs.files.size() == 1) only = std::move(data);
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    jobs.plan();
    if (jobs.captures().empty()) return exit_failure;
    const table_folder folder(output_);
    std::map<std::string_view, std::uint64_t> rows;
    for (std::size_t job = 0; job < jobs.jobs(); ++job) {
        const progress_line writing(progress, "writing the tables of " + jobs.job_name(job));
        const auto write = [&](const parquet_table& table, void (job_tables::*make)(std::size_t, parquet_file&) const) {
            rows[table.name] +=
                folder.write(table, jobs.job_name(job), {}, "0", [&](parquet_file& out) { (jobs.*make)(job, out); });
        };
        write(processes_schema, &job_tables::write_processes);
        write(steps_schema, &job_tables::write_steps);
        write(collectives_schema, &job_tables::write_collectives);
        write(notes_schema, &job_tables::write_notes);
    }
    jobs.forget_summaries();
    for (const exported_capture& place : jobs.captures()) {
        try {
            const timeline again = only ? timeline() : read(place.path, progress);
            const timeline& data = only ? *only : again;
            const progress_line writing(progress, "writing the tables of " + place.path);
            const projected_timeline shown(input_of(data, place.path));
            capture_tables made(shown.data(), shown.att(), !shown.step_function().empty(), place);
            const auto write = [&](const parquet_table& table, void (capture_tables::*make)(parquet_file&)) {
                rows[table.name] +=
                    folder.write(table, place.job, place.rank, place.id, [&](parquet_file& out) { (made.*make)(out); });
            };
            write(gpu_operations_schema, &capture_tables::write_gpu_operations);
            write(ranges_schema, &capture_tables::write_ranges);
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    const auto counted = [](std::uint64_t count, const char* noun) {
        return fmt::format("{} {}{}", with_thousands(count), noun, count == 1 ? "" : "s");
    };
    fmt::print("{}: {} of {}: {}, {}, {}, {}\n", terminal_safe(output_), counted(jobs.captures().size(), "capture"),
               counted(jobs.jobs(), "job"), counted(rows["gpu_operations"], "GPU operation"),
               counted(rows["ranges"], "range"), counted(rows["steps"], "step"),
               counted(rows["collectives"], "collective"));
    remarks.print();
    return status;
}

void export_command::check_tables() const {
    check_table_folder(output_);
    if (critical_path_) throw usage_error("--critical-path is for traces, and not for --format parquet");
    if (!ranks_.empty() || part_.request().is_part()) {
        throw usage_error("--format parquet exports whole captures: choose ranks, steps and ranges in queries");
    }
}

int export_command::operator()() const {
    const bool are_tables = format_ == tables;
    if (are_tables) {
        check_tables();
    } else if (!output_.empty() && !trace_outputs().contains(output_)) {
        throw usage_error("--output: " + refusal(output_, trace_outputs()));
    }
    const capture_inputs inputs = captures_or_newest_run(files_);
    if (are_tables) {
        const bool has_stream = std::any_of(inputs.files.begin(), inputs.files.end(), is_stream);
        if (has_stream && inputs.files.size() > 1) {
            throw usage_error("--format parquet reads captures twice, which a pipe is not: give it alone");
        }
        if (inputs.files.empty()) return exit_failure;
        return write_tables(inputs, progress_display());
    }
    const bool is_one = is_one_trace(output_) && (inputs.files.size() > 1 || !ranks_.empty());
    if (!ranks_.empty() && !is_one && !inputs.files.empty()) {
        throw usage_error("--ranks is for one trace of a job: give its name (-o TRACE.json.gz)");
    }
    const std::vector<std::string> places = is_one && !inputs.files.empty()
                                                ? std::vector<std::string>{output_}
                                                : trace_places(inputs.files, output_, format_);
    if (output_ == to_standard_output && format_ == compressed && isatty(STDOUT_FILENO) == 1) {
        throw usage_error("standard output is a terminal; send it to a file or a pipe, or give --format json");
    }
    for (const std::string& place : places) {
        const outcome usable = place == to_standard_output ? outcome{} : check_output(place, inputs.files);
        if (usable.ok()) continue;
        complain(usable.message());
        return exit_usage;
    }
    if (output_.ends_with('/') && !places.empty()) make_folder(output_);
    const progress_display progress;
    if (is_one && !places.empty()) return write_job(inputs, progress);
    capture_remarks remarks{note_weight::warning, note_weight::heading};
    int status = inputs.all_found ? exit_ok : exit_failure;
    parts_not_found without;
    for (std::size_t i = 0; i < places.size(); ++i) {
        try {
            const std::string& file = inputs.files[i];
            const timeline data = read(file, progress);
            remarks.add(data, file);
            print_counts(places[i], write(data, file, places[i], progress));
        } catch (const nothing_selected& failure) {
            without.add(inputs.files[i], failure.what());
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    if (!without.report(places.size())) status = exit_failure;
    remarks.print();
    return status;
}

}  // namespace prof
