// SPDX-License-Identifier: Apache-2.0
#include "cli/selection_flags.hpp"

#include "analysis/selection/step_marks.hpp"
#include "base/number.hpp"
#include "cli/cli.hpp"

namespace prof {
namespace {

constexpr std::string_view title_of_part = "Which part of a capture";

}  // namespace

void selection_flags::add_to(command_arguments& arguments) {
    arguments
        .add("--range", request_.ranges,
             "Only what counts for these ranges, as the table of ranges shows them: a name (backward, iteration #), "
             "the end of a path (backward/layer 5), a shell pattern, or (no range). Repeat it for several")
        .one_value_each_time()
        .value("PATTERN")
        .group(title_of_part);
    add_times_to(arguments);
}

void selection_flags::add_times_to(command_arguments& arguments) {
    const accepted_values slice = {std::string(step_slice_words),
                                   [](const std::string& text) { return parse_step_slice(text).has_value(); }};
    arguments
        .add("--steps", request_.steps,
             "Only what was launched in these steps, by their numbers in traces: A:B is A to B-1, A: and :B have an "
             "open end, A is one step")
        .takes(slice)
        .value("A:B")
        .group(title_of_part);
    const accepted_values count = {"a whole number", [this](const std::string& text) {
                                       const auto number = parse_number<std::uint64_t>(text);
                                       if (number) request_.skip_first = *number;
                                       return number.has_value();
                                   }};
    arguments.add_parsed("--skip-first", count, "Without the first N steps, and what was before")
        .value("N")
        .group(title_of_part);
    const accepted_values moments = {std::string(moment_words),
                                     [](const std::string& text) { return parse_moment(text).has_value(); }};
    arguments
        .add("--from", request_.from,
             "Only what was launched from this time on: seconds since the capture's beginning (or 20ms, 500us), or UTC "
             "as 2026-01-31T12:30:59.5")
        .takes(moments)
        .value("TIME")
        .group(title_of_part);
    arguments.add("--to", request_.to, "Likewise, before this time").takes(moments).value("TIME").group(title_of_part);
    arguments
        .add("--step-range", request_.step_range,
             "Each push of this range begins a step (NAME or NAME@DOMAIN, # for numbers), whatever was recorded as one")
        .value("NAME")
        .group(title_of_part);
}

const selection_request& selection_flags::request() const {
    const std::optional<moment> begin = parse_moment(request_.from);
    const std::optional<moment> end = parse_moment(request_.to);
    if (begin && end && begin->is_absolute == end->is_absolute && end->ns <= begin->ns) {
        throw usage_error("--to " + request_.to + " is not after --from " + request_.from);
    }
    return request_;
}

bool parts_not_found::report(std::size_t all) const {
    if (captures_.empty()) return true;
    const capture& first = captures_.front();
    const std::size_t others = captures_.size() - 1;
    std::string line = first.file + ": " + first.reason;
    if (others != 0) line += " (and " + std::to_string(others) + (others == 1 ? " other capture)" : " other captures)");
    complain(line);
    return captures_.size() < all;
}

void selection_flags::count_steps(timeline& data) const {
    if (!request_.step_range.empty()) count_steps_by(data, request_.step_range);
}

}  // namespace prof
