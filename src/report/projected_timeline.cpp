// SPDX-License-Identifier: Apache-2.0
#include "report/projected_timeline.hpp"

#include "analysis/step_table/make_step_table.hpp"
namespace prof {

projected_timeline::projected_timeline(const report_input& input)
    : shown_(input.selected != nullptr ? shown_timeline::as_it_is(input.data, input.selected->step_function())
                                       : shown_timeline(input.data, input.projected)),
      given_(input.att) {
    if (given_ == nullptr || shown_.is_changed()) made_ = attribute(shown_.data(), input.projected.attribution);
}

std::optional<step_figures> step_figures_of(const projected_timeline& shown, const report_input& input) {
    const selected_part* const part = input.selected;
    if (part == nullptr) return measure_steps(shown.data(), shown.att(), shown.step_function());
    if (part->has_ranges()) return {};
    const step_scope& scope = part->scope();
    return measure_steps(part->whole(), part->whole_att(), part->step_function(),
                         scope.steps ? &*scope.steps : nullptr);
}

std::optional<step_time_subject> step_time_of(const projected_timeline& shown, const report_input& input) {
    // Never destroyed: a thread may still use it while the process ends.
    static const auto& all = *new const step_scope;
    const selected_part* const part = input.selected;
    if (part == nullptr)
        return step_time_subject{shown.data(), shown.att(), shown.step_function(), all, shown.original()};
    if (part->has_ranges()) return {};
    return step_time_subject{part->whole(), part->whole_att(), part->step_function(), part->scope(), part->recorded()};
}

std::string no_step_time(const report_input& input) {
    if (input.selected != nullptr && input.selected->has_ranges()) {
        return "this report covers whole steps: leave out --range, and look for the range in its rows";
    }
    return "no GPU operation was recorded; the first screen and the table of ranges have the CPU's time";
}

std::optional<step_breakdown> breakdown_of(const projected_timeline& shown, const report_input& input) {
    const std::optional<step_time_subject> of = step_time_of(shown, input);
    if (!of) return {};
    return break_down(of->data, of->att, of->step_function, of->scope);
}

std::optional<step_table> step_table_of(const projected_timeline& shown, const report_input& input) {
    const std::optional<step_time_subject> of = step_time_of(shown, input);
    if (!of) return {};
    return make_step_table(of->data, of->att, of->step_function, of->scope, &of->original, input.projected.fold);
}

std::optional<run_parts> run_parts_of(const projected_timeline& shown, const report_input& input) {
    const std::optional<step_time_subject> of = step_time_of(shown, input);
    if (!of) return {};
    return make_run_parts(of->data, of->att, of->step_function, of->scope);
}

}  // namespace prof
