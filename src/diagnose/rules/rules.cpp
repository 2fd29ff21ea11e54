// SPDX-License-Identifier: Apache-2.0
// The rules in their order, and what they have in common.
#include <fmt/format.h>

#include <array>

#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

bool is_for(written_with whom, const frameworks& used) noexcept {
    switch (whom) {
        case written_with::torch:
            return used.has_torch;
        case written_with::jax:
            return used.has_jax;
        case written_with::neither:
            return !used.has_torch && !used.has_jax;
        case written_with::any:
            break;
    }
    return true;
}

std::span<const advice_line> advice_for(const rule& asked, const rule_input& input) noexcept {
    return input.parts == nullptr ? asked.advice : asked.advice_without_gpu;
}

}  // namespace

std::string rule_input::place(code_place_id number) const {
    return number == 0 ? std::string("outside ranges") : "in " + where.path(number);
}

std::string rule_input::place(const host_group& group) const {
    return parts == nullptr ? place(group.place) : parts->text(group.place, group.after);
}

std::string rule_input::place_path(const host_group& group) const {
    if (parts == nullptr) return where.path(group.place);
    std::string text = place(group);
    for (const std::string_view prefix : {"in ", "outside phases, "}) {
        if (text.starts_with(prefix)) text.erase(0, prefix.size());
    }
    return text == "outside phases" ? std::string() : text;
}

std::string rule_input::call(const host_group& group) const {
    if (group.call == npos) return group.cause == idle_cause::waiting ? "XLA's runtime" : "";
    const timeline_api_call& of = data.api_calls[group.call];
    std::string name = call_name ? call_name(of) : std::string();
    if (name.empty()) name = "a call";
    const std::string_view op = data.name(group.op_name);
    return op.find("::") == std::string_view::npos ? name : fmt::format("{} in {}", name, op);
}

bool rule_input::is_in_pieces(const host_group& group) const noexcept {
    const bool is_awaited = group.cause != idle_cause::launching;
    if (group.direction != copy_direction::to_device && (group.direction != copy_direction::to_host || is_awaited)) {
        return false;
    }
    const std::uint64_t count = group.tally.count;
    return count >= least_pieces * steps && group.bytes / count < small_copy_bytes;
}

bool rule_input::is_scattered(const host_group& group) const noexcept { return launching.contains(group.place); }

chosen_advice advice_of(const rule& asked, const rule_input& input, const std::string& place) {
    chosen_advice out;
    std::optional<place_advice> here;
    if (asked.advice_at != nullptr) here = asked.advice_at(input, place);
    const bool replaces = here && !here->text.empty();
    if (asked.recorded_advice != nullptr) out.all = asked.recorded_advice(input);
    if (replaces) out.all.push_back(here->text);
    const auto add = [&](std::span<const advice_line> lines) {
        for (const advice_line& line : lines) {
            if (!is_for(line.whom, input.used) || (replaces && line.whom == written_with::any)) continue;
            if (here && here->replaces_briefs && !line.brief.empty()) continue;
            out.all.emplace_back(line.text);
            if (!here && out.brief.empty()) out.brief = line.brief;
        }
    };
    add(advice_for(asked, input));
    if (input.data.call_stacks.empty()) add(asked.advice_without_lines);
    if (here) out.brief = here->brief;
    return out;
}

std::span<const rule> all_rules() noexcept {
    static const std::array rules{data_loader_rule,  synchronization_rule, pageable_copies_rule, blocking_copies_rule,
                                  small_copies_rule, allocation_rule,      compilation_rule,     graph_capture_rule,
                                  host_code_rule,    launch_bound_rule,    communication_rule,   copy_overlap_rule,
                                  precision_rule,    serial_streams_rule};
    return rules;
}

}  // namespace prof
