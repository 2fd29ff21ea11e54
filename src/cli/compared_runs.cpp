// SPDX-License-Identifier: Apache-2.0
#include "cli/compared_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/selection/step_choice.hpp"
#include "analysis/steps/step_figures.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/capture_heading.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

// The processes of one run, which are those with one run id, or else those of one job's ranks in one directory.
struct processes_of_run {
    std::string run_id;
    std::vector<std::string> ranks;
    std::vector<run_profile> profiles;
};

// The run to which a process belongs: of those without a run id the one that has no process of its rank yet, if there
// are ranks.
processes_of_run& run_of(std::vector<processes_of_run>& runs, const timeline& data) {
    const std::string& id = data.property("run_id");
    const std::string& rank = data.property("rank");
    const bool has_ranks = data.number("world_size").value_or(1) > 1;
    for (processes_of_run& run : runs) {
        if (run.run_id != id) continue;
        const bool is_new_rank = std::find(run.ranks.begin(), run.ranks.end(), rank) == run.ranks.end();
        if (!id.empty() || (has_ranks && is_new_rank)) {
            run.ranks.push_back(rank);
            return run;
        }
    }
    runs.push_back({.run_id = id, .ranks = {rank}, .profiles = {}});
    return runs.back();
}

run_profile profile_with_findings(const timeline& data, const std::string& file, const report_settings& with,
                                  bool wants_findings) {
    if (!wants_findings) return profile_of(data, file, with.projected, with.selection, nullptr);
    capture_diagnosis diagnosed(data, with.projected, with.least_share, with.selection, true);
    const diagnosis* found = nullptr;
    if (with.selection.has_times()) {
        found = &diagnosed.get();
    } else {
        const projected_timeline shown({.data = data, .projected = with.projected});
        const std::optional<step_figures> figures = measure_steps(shown.data(), shown.att(), shown.step_function());
        if (figures) found = diagnosed.of_screen(*figures);
    }
    return profile_of(data, file, with.projected, with.selection, found);
}

}  // namespace

std::vector<run_profile> read_runs(const runs_to_read& order, const progress_display& progress,
                                   std::vector<std::string>& warnings, bool* all_read) {
    std::vector<processes_of_run> runs;
    std::optional<error> last;
    for (const std::string& file : order.files) {
        timeline data;
        try {
            data = load_input(file, progress);
        } catch (const error& failure) {
            if (all_read == nullptr) throw;
            complain(failure.what());
            *all_read = false;
            last = failure;
            continue;
        }
        const progress_line computing(progress, "comparing " + file);
        try {
            if (order.prepare) order.prepare(data);
            for (const std::string& warning : heading_of(data, file).warnings) {
                warnings.push_back(fmt::format("{}: {}", terminal_safe(file), warning));
            }
            processes_of_run& run = run_of(runs, data);
            const bool is_of_first_run = &run == runs.data();
            run.profiles.push_back(profile_with_findings(data, file, order.settings, is_of_first_run));
        } catch (const nothing_selected& failure) {
            throw error(fmt::format("{}: {}", file, failure.what()));
        }
    }
    if (runs.empty() && last) throw *last;
    std::vector<run_profile> out;
    out.reserve(runs.size());
    for (processes_of_run& run : runs) out.push_back(merged(std::move(run.profiles)));
    return out;
}

void compared_part::add_to(command_arguments& arguments) {
    part_.add_times_to(arguments);
    flags_.add_to(arguments);
}

runs_to_read compared_part::reading(std::vector<std::string> files) const {
    runs_to_read out{.files = std::move(files)};
    out.settings.may_use_threads = true;
    out.settings.projected.attribution = flags_.options();
    out.settings.selection = part_.request();
    out.settings.selection.step_range.clear();  // count_steps() changes the timeline
    out.prepare = [this](timeline& data) {
        flags_.apply_to(data);
        part_.count_steps(data);
    };
    return out;
}

}  // namespace prof
