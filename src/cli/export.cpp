// SPDX-License-Identifier: Apache-2.0
#include "cli/export.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "analysis/selection/selected_part.hpp"
#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/capture_remarks.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/standard_output.hpp"
#include "cli/trace_places.hpp"
#include "diagnose/path_shares.hpp"
#include "export/atomic_file.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr const char* compressed = "json.gz";
constexpr const char* plain = "json";

trace_counts write_to_standard_output(const timeline& data, const attribution& att, const std::string& name,
                                      bool is_compressed, progress_observer& progress, const trace_track* track) {
    standard_output out(is_compressed);
    const trace_counts counts = write_chrome_trace(data, att, out, name, &progress, track);
    out.finish();
    return counts;
}

// Where standard output has the trace, the counts stand on standard error.
void print_counts(const std::string& place, const trace_counts& counts) {
    const bool is_elsewhere = place == to_standard_output;
    const std::string line = fmt::format(
        "{}: {} host ranges, {} CUDA calls, {} GPU operations, {} ranges on the GPU, {} arrows",
        is_elsewhere ? "standard output" : place, with_thousands(counts.host_ranges + counts.process_ranges),
        with_thousands(counts.api_calls), with_thousands(counts.gpu_ops), with_thousands(counts.projected_ranges),
        with_thousands(counts.flows));
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
             "The trace, plain (*.json) or compressed (*.json.gz); of several captures a directory (DIR/); or - for "
             "standard output. Default: beside each FILE")
        .value("TRACE")
        .takes(trace_outputs());
    arguments
        .add("--format", format_,
             "json.gz (default) or json, of traces whose names are not given, and of standard output")
        .value("FORMAT")
        .takes(one_of({compressed, plain}));
    arguments.add_flag("--critical-path", critical_path_,
                       "With a row of what the steps waited for at each moment, as prof diagnose computes it");
    part_.add_to(arguments);
    flags_.add_to(arguments);
}

trace_counts export_command::write(const timeline& data, const std::string& name, const std::string& place,
                                   const progress_display& progress) const {
    progress_line writing(progress, "writing the trace of " + name);
    std::optional<selected_part> part;
    if (part_.request().is_part())
        part.emplace(data, projection_options{.attribution = flags_.options()}, part_.request(), false);
    const timeline& shown = part ? part->data() : data;
    const attribution att = part ? part->att() : attribute(data, flags_.options());
    std::optional<trace_track> path;
    if (critical_path_) {
        try {
            path = critical_path_track(data, flags_.options(), part_.request());
        } catch (const nothing_selected& failure) {
            complain(fmt::format("{}: the trace has no critical path: {}", name, failure.what()));
        }
    }
    const trace_track* const track = path ? &*path : nullptr;
    if (place != to_standard_output) {
        atomic_file file(place, compressing_threads());
        const trace_counts counts = write_chrome_trace(shown, att, file, place, &writing, track);
        file.commit();
        return counts;
    }
    return write_to_standard_output(shown, att, trace_file_name(name, format_), format_ == compressed, writing, track);
}

int export_command::operator()() const {
    const capture_inputs inputs = captures_or_newest_run(files_);
    const std::vector<std::string> places = trace_places(inputs.files, output_, format_);
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
    capture_remarks remarks{note_weight::warning, note_weight::heading};
    int status = inputs.all_found ? exit_ok : exit_failure;
    parts_not_found without;
    for (std::size_t i = 0; i < places.size(); ++i) {
        try {
            const std::string& file = inputs.files[i];
            timeline data = load_input(file, progress);
            flags_.apply_to(data);
            part_.count_steps(data);
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
