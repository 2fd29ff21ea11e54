// SPDX-License-Identifier: Apache-2.0
#include "report/capture_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/projection/call_names.hpp"
#include "analysis/selection/step_choice.hpp"
#include "analysis/selection/time_slices.hpp"
#include "base/json_text.hpp"
#include "base/path_from_here.hpp"
#include "diagnose/diagnosis.hpp"
#include "report/projected_timeline.hpp"

namespace prof {

namespace {

// The findings, in their order.
std::vector<priced_change> dearest_changes(const diagnosis& of) {
    constexpr std::size_t most_places = 3;
    std::vector<priced_change> out;
    for (const finding& found : of.findings) {
        priced_change change{.rule = found.rule,
                             .title = found.title,
                             .gain_ns = of.per_step(found.gain_ns),
                             .share = of.share_of(found.gain_ns),
                             .noun = found.noun,
                             .brief_advice = found.brief_advice,
                             .is_rough = found.trust == confidence::low,
                             .changes_results = found.changes_results};
        if (found.places != 0 && !found.is_of_gpu) {
            for (const finding_part& part : found.parts) {
                const auto known = std::find(change.places.begin(), change.places.end(), part.place);
                if (known != change.places.end()) continue;
                if (change.places.size() == most_places) break;
                change.places.push_back(part.place);
            }
            change.more_places = found.places - std::min<std::uint64_t>(found.places, change.places.size());
        }
        out.push_back(std::move(change));
    }
    return out;
}

}  // namespace

namespace {

// The column of the table of a step whose time the change would remove; `other`: none.
step_column column_of(std::string_view rule) noexcept {
    if (rule == "launch_bound") return step_column::launches;
    if (rule == "host_code" || rule == "data_loader") return step_column::cpu_code;
    if (rule == "synchronization" || rule == "blocking_copies") return step_column::syncs;
    if (rule == "pageable_copies") return step_column::unpinned_copies;
    if (rule == "allocation") return step_column::memory_calls;
    if (rule == "compilation" || rule == "graph_capture") return step_column::compilation;
    return step_column::other;
}

// Says of each change whether it gains more than its column has.
void compare_with(const step_table& where, priced_changes& changes) {
    constexpr double much = 0.05;  // of a step
    if (where.devices == 0 || where.steps == 0) return;
    const double count = static_cast<double>(where.steps) * where.devices;
    for (priced_change& change : changes.dearest) {
        const step_column column = column_of(change.rule);
        if (column == step_column::other) continue;
        std::int64_t column_ns = 0;
        for (const step_table_row& row : where.rows) column_ns += row.of(column);
        const double more_ns = change.gain_ns - static_cast<double>(column_ns) / count;
        change.is_on_cpu = more_ns > much * static_cast<double>(where.wall_ns) / count;
    }
}

}  // namespace

priced_changes priced_changes_of(const diagnosis& of, const step_table* where) {
    priced_changes out{.dearest = dearest_changes(of),
                       .together_ns = of.per_step(of.together_ns),
                       .together_share = of.share_of(of.together_ns)};
    if (where != nullptr) compare_with(*where, out);
    return out;
}

diagnosis capture_diagnosis::diagnosed(const projected_timeline& shown, const whole_steps* steps,
                                       bool is_sample) const {
    return diagnose(shown.data(), shown.att(),
                    {.least_share = least_share_,
                     .step_function = shown.step_function(),
                     .original = &shown.original(),
                     .call_name = call_names(shown.data()),
                     .steps = steps,
                     .may_use_threads = may_use_threads_,
                     .wants_sets = wants_sets_,
                     .is_sample = is_sample});
}

diagnosis capture_diagnosis::of_chosen_steps(const projected_timeline& shown) const {
    try {
        const whole_steps steps = choose_whole_steps(shown.data(), shown.att(), part_, !shown.step_function().empty());
        diagnosis out = diagnosed(shown, &steps);
        const std::size_t chosen = choose_times(shown.data(), shown.att(), part_).steps.size();
        const std::size_t whole = steps.steps.size() + steps.warm_up;
        if (chosen > whole) {
            out.remarks.push_back(fmt::format("{} of the {} chosen steps {} not recorded as a whole, and left out",
                                              chosen - whole, chosen, chosen - whole == 1 ? "was" : "were"));
        }
        return out;
    } catch (const nothing_selected& failure) {
        diagnosis out;
        out.least_share = least_share_;
        out.not_looked.push_back(fmt::format("nothing could be examined: {}", failure.what()));
        return out;
    }
}

const diagnosis& capture_diagnosis::get() {
    if (!made_) {
        const projected_timeline shown({.data = data_, .projected = projected_});
        made_ = part_.has_times() ? of_chosen_steps(shown) : diagnosed(shown);
    }
    return *made_;
}

const diagnosis* capture_diagnosis::of_screen(const step_figures& of) {
    const bool is_small = data_.api_calls.size() + data_.ops.size() <= limits_.records + limits_.records / 2;
    if (made_ || is_small) {
        sampled_ = 0;
        return get().has_steps && get().steps != 0 ? &get() : nullptr;
    }
    if (of_sample_) return &*of_sample_;
    step_sample sample = sample_steps(data_, of.whole.steps, limits_);
    if (sample.steps.empty()) return nullptr;
    const timeline slices = slices_of(data_, sample.spans);
    whole_steps steps = of.whole;
    steps.steps = std::move(sample.steps);
    diagnosis priced = diagnosed(projected_timeline({.data = slices, .projected = projected_}), &steps, true);
    if (priced.steps == 0) return nullptr;
    sampled_ = priced.steps;
    extend_to_all(priced, of.whole.steps, wants_sets_);
    of_sample_ = std::move(priced);
    return &*of_sample_;
}

std::optional<priced_changes> capture_diagnosis::gains(const answer_block& of) {
    const diagnosis* const priced = of_screen(*of.step);
    if (priced == nullptr) return {};
    priced_changes out = priced_changes_of(*priced, of.where ? &*of.where : nullptr);
    out.sampled = sampled_;
    return out;
}

void capture_diagnosis::add_gains(report_document& document) {
    if (document.capture.selection) return;
    for (report_part& part : document.parts) {
        auto* const answer = block_in<answer_block>(part);
        if (answer == nullptr || !answer->step) continue;
        answer->gains = gains(*answer);
    }
}

namespace {

// As a shell reads it.
std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=@%:,";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string out = "'";
    for (const char each : text) out += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return out + "'";
}

// The flags that choose what the report is of, " --steps 3:8".
std::string flags_of(const selection_request& part, const std::string& counted_by) {
    std::string out;
    const auto add = [&](std::string_view flag, const std::string& value) {
        if (!value.empty()) out += fmt::format(" {} {}", flag, shell_word(value));
    };
    add("--steps", part.steps);
    add("--skip-first", part.skip_first == 0 ? std::string() : fmt::format("{}", part.skip_first));
    add("--from", part.from);
    add("--to", part.to);
    add("--step-range", counted_by);
    return out;
}

}  // namespace

void add_place(report_document& document, const std::string& counted_by) {
    const std::optional<selection_facts>& chosen = document.capture.selection;
    if (chosen && !chosen->request.ranges.empty()) return;  // no other command has such a part
    const std::string flags = flags_of(chosen ? chosen->request : selection_request(), counted_by);
    std::error_code failed;
    const std::filesystem::file_status file = std::filesystem::status(document.capture.path, failed);
    // A pipe cannot be read again. A file removed since it was opened changes nothing of its report.
    const bool is_pipe = std::filesystem::exists(file) && !std::filesystem::is_regular_file(file);
    const std::string& path = document.capture.path;
    if (is_pipe || path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")) return;
    for (report_part& part : document.parts) {
        auto* const answer = block_in<answer_block>(part);
        if (answer != nullptr)
            answer->place = terminal_safe(flags + " " + shell_word(path_from_here(document.capture.path)));
    }
}

}  // namespace prof
