// SPDX-License-Identifier: Apache-2.0
#include "cli/baseline_command.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/report_output.hpp"
#include "compare/baseline.hpp"

namespace prof {
namespace {

void check(const outcome& usable) {
    if (!usable.ok()) throw usage_error("-o: " + usable.message());
}

// "2 runs of train on node7, NVIDIA H200"
std::string machine_text(const baseline& made) {
    std::string out;
    for (const auto& [fact, value] : made.machine) {
        out.append(out.empty() ? "" : ", ").append(fact).append(" ").append(terminal_safe(value));
    }
    return out.empty() ? "any machine" : out;
}

}  // namespace

baseline_command::baseline_command(command_arguments& arguments) {
    arguments.add("RUN", words_, "The runs: captures (*.prof), traces of torch.profiler, or directories of them")
        .value("");
    arguments.add("-o,--output", output_, "Write to FILE, whose name ends in .json; - is standard output")
        .value("FILE")
        .required();
    arguments.add_flag("--any-host", any_host_,
                       "Valid for each machine with the same GPU: for runners whose host names change");
    part_.add_to(arguments);
}

int baseline_command::operator()() const {
    if (words_.empty()) throw usage_error("there are no runs: prof baseline RUN... -o FILE.json");
    const std::string place = output_ == "-" ? "" : output_;
    if (!place.empty() && !place.ends_with(".json")) throw usage_error("-o: the file's name ends in .json");
    const capture_inputs inputs = named_captures(words_);
    if (inputs.files.empty()) throw error(words_.front() + ": there is no run");
    if (!inputs.all_found) return exit_failure;  // which was reported
    if (!place.empty()) {
        check(check_output(place, inputs.files));
        check(check_place(place));
    }
    const progress_display progress;
    std::vector<std::string> warnings;
    std::vector<run_profile> runs = read_runs(part_.reading(inputs.files), progress, warnings);
    for (const std::string& warning : warnings) complain("warning: " + warning);
    for (const run_profile& run : runs) {
        if (!(run.step_ns > 0)) throw error(run.files.front() + ": nothing was recorded that takes time");
        if (run.has_steps != runs.front().has_steps) {
            throw error(fmt::format("{}: it {} steps, unlike {}; --step-range names the range that is a step",
                                    run.files.front(), run.has_steps ? "has" : "has no", runs.front().files.front()));
        }
    }
    const baseline made = baseline_of(std::move(runs), any_host_);
    report_stream to(place);
    to.write(baseline_text(made));
    to.finish();
    if (!place.empty()) {
        complain(fmt::format("{}: {} run{}, valid for {}", place, made.runs.size(), made.runs.size() == 1 ? "" : "s",
                             machine_text(made)));
    }
    return exit_ok;
}

}  // namespace prof
