// SPDX-License-Identifier: Apache-2.0
// The report small_kernels: runs of small kernels by place.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/breakdown/small_kernels.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/pytorch_ops.hpp"

namespace prof {
namespace {

report_columns<small_kernel_place> place_columns(std::uint64_t steps) {
    using row = small_kernel_place;
    const auto in_step = [steps](auto total) {
        return [=](const row& place) { return mean_over(static_cast<std::int64_t>(place.*total), steps); };
    };
    return {{{"place", ""}, text_or_none(&row::place)},
            {{"", "place"}, [](const row& place) { return place.place.empty() ? "outside ranges" : place.place; }},
            {{"is_replayed", "", quantity::flag}, &row::is_replayed},
            {{"bound_by", "bound by"}, [](const row& place) { return to_string(place.bound()); }},
            {{"runs_a_step", "runs", quantity::number, 1}, in_step(&row::runs)},
            {{"kernels_a_run", "kernels", quantity::number},
             [](const row& place) { return mean_over(static_cast<std::int64_t>(place.kernels), place.runs); }},
            {{"longest", "longest", quantity::count, 2}, &row::longest},
            {{"kernel_a_step_ns", "GPU", quantity::time_ns, 1}, in_step(&row::kernel_ns)},
            {{"idle_a_step_ns", "idle", quantity::time_ns}, in_step(&row::idle_ns)},
            {{"idle_share", "idle%", quantity::share}, share_of(&row::idle_ns, &row::span_ns)},
            {{"starved_a_step_ns", "starved", quantity::time_ns, 3}, in_step(&row::starved_ns)},
            {{"kernel_mean_ns", "kernel", quantity::time_ns},
             [](const row& place) { return mean_over(place.kernel_ns, place.kernels); }},
            {{"launch_interval_ns", "launch", quantity::time_ns},
             [](const row& place) {
                 return none_unless(place.intervals != 0, mean_over(place.intervals_ns, place.intervals));
             }},
            {{"runs", "", quantity::count}, &row::runs},
            {{"kernels", "", quantity::count}, &row::kernels},
            {{"span_ns", "", quantity::time_ns}, &row::span_ns},
            {{"kernel_ns", "", quantity::time_ns}, &row::kernel_ns},
            {{"idle_ns", "", quantity::time_ns}, &row::idle_ns},
            {{"starved_ns", "", quantity::time_ns}, &row::starved_ns}};
}

}  // namespace

table small_kernels_report(const report_input& input) {
    const projected_timeline shown(input);
    const std::optional<step_time_subject> subject = step_time_of(shown, input);
    std::optional<small_kernel_list> of;
    if (subject) of = find_small_kernels(subject->data, subject->att, subject->step_function, subject->scope);
    table out = make_table("small_kernels", "Runs of small kernels", place_columns(of ? of->steps : 0),
                           of ? of->places : std::vector<small_kernel_place>());
    if (!of) {
        out.instead = no_step_time(input);
        return out;
    }
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
