// SPDX-License-Identifier: Apache-2.0
// The report small_kernels: runs of small kernels by place.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "analysis/breakdown/small_kernels.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/pytorch_ops.hpp"

namespace prof {
namespace {

table_row row_of(const small_kernel_place& of, std::uint64_t steps) {
    const auto in_step = [&](auto total) { return mean_over(static_cast<std::int64_t>(total), steps); };
    return {of.place.empty() ? table_cell() : table_cell(of.place),
            of.place.empty() ? std::string("outside ranges") : of.place,
            of.is_replayed,
            std::string(to_string(of.bound())),
            in_step(of.runs),
            mean_over(static_cast<std::int64_t>(of.kernels), of.runs),
            of.longest,
            in_step(of.kernel_ns),
            in_step(of.idle_ns),
            share_of(of.idle_ns, of.span_ns),
            in_step(of.starved_ns),
            mean_over(of.kernel_ns, of.kernels),
            of.intervals == 0 ? table_cell() : table_cell(mean_over(of.intervals_ns, of.intervals)),
            of.runs,
            of.kernels,
            of.span_ns,
            of.kernel_ns,
            of.idle_ns,
            of.starved_ns};
}

}  // namespace

table small_kernels_report(const report_input& input) {
    table out{"small_kernels", "Runs of small kernels", {}, {}, {}};
    out.columns = {{"place", ""},
                   {"", "place"},
                   {"is_replayed", "", quantity::flag},
                   {"bound_by", "bound by"},
                   {"runs_a_step", "runs", quantity::number, 1},
                   {"kernels_a_run", "kernels", quantity::number},
                   {"longest", "longest", quantity::count, 2},
                   {"kernel_a_step_ns", "GPU", quantity::time_ns, 1},
                   {"idle_a_step_ns", "idle", quantity::time_ns},
                   {"idle_share", "idle%", quantity::share},
                   {"starved_a_step_ns", "starved", quantity::time_ns, 3},
                   {"kernel_mean_ns", "kernel", quantity::time_ns},
                   {"launch_interval_ns", "launch", quantity::time_ns},
                   {"runs", "", quantity::count},
                   {"kernels", "", quantity::count},
                   {"span_ns", "", quantity::time_ns},
                   {"kernel_ns", "", quantity::time_ns},
                   {"idle_ns", "", quantity::time_ns},
                   {"starved_ns", "", quantity::time_ns}};
    const projected_timeline shown(input);
    const std::optional<step_time_subject> subject = step_time_of(shown, input);
    std::optional<small_kernel_list> of;
    if (subject) of = find_small_kernels(subject->data, subject->att, subject->step_function, subject->scope);
    if (!of) {
        out.instead = no_step_time(input);
        return out;
    }
    out.rows.reserve(of->places.size());
    for (const small_kernel_place& place : of->places) out.rows.push_back(row_of(place, of->steps));
    out.totals = {{"steps", of->steps},          {"devices", of->devices}, {"wall_ns", of->wall_ns},
                  {"kernels", of->kernels},      {"in_runs", of->in_runs}, {"idle_ns", of->idle_ns},
                  {"starved_ns", of->starved_ns}};
    out.unit_ns = small_kernel_ns;
    if (!of->places.empty()) {
        out.notes.push_back(
            fmt::format("{:.1f} % of the kernels are in such runs, whose idle time is {:.1f} % of {}",
                        100 * share_of(static_cast<std::int64_t>(of->in_runs), static_cast<std::int64_t>(of->kernels)),
                        100 * share_of(of->idle_ns, of->wall_ns), of->has_steps ? "the steps" : "the recorded time"));
    }
    const bool has_launch_bound =
        std::any_of(of->places.begin(), of->places.end(),
                    [](const small_kernel_place& place) { return place.bound() == run_bound::launches; });
    if (has_launch_bound) {
        out.notes.emplace_back("places bound by launches: CUDA graphs, torch.compile or fused operators need fewer");
        if (has_operators(subject->data)) {
            out.notes.emplace_back("--report small_kernel_operators has the operators and modules that launch them");
        }
    }
    out.legend = {
        {"", fmt::format("A run: {} or more kernels in a row, each below {} us, with gaps up to {} us.", fewest_in_run,
                         small_kernel_ns / 1000, launch_bound_ns / 1000)},
        {"bound by", fmt::format("bound by: launches, if the GPU waits for them in {:.0f} % of the runs' time or more.",
                                 100 * launch_bound_share)},
        {"runs", "runs, GPU, idle: a step. kernels: a run."},
        {"launch", "kernel: a kernel's mean time. launch: from one launch to the next."}};
    return or_none(std::move(out), "no run of small kernels in a step");
}

}  // namespace prof
