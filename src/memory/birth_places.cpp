// SPDX-License-Identifier: Apache-2.0
#include "memory/birth_places.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "analysis/projection/segment.hpp"

namespace prof {
namespace {

constexpr std::uint32_t ambiguous_place = npos - 1;
constexpr std::uint32_t exact_bit = 1U << 31;
constexpr std::size_t most_exact = 16'384;
constexpr std::size_t most_single = 64;

bool contains(std::string_view text, std::string_view word) {
    const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    return std::search(text.begin(), text.end(), word.begin(), word.end(), is_same) != text.end();
}

// Of the outermost part that says it.
phase_role role_in(std::string_view path) {
    if (path == ambiguous_text) return phase_role::other;
    while (!path.empty()) {
        const std::string_view part = path.substr(0, path.find('/'));
        if (part == "startup") return phase_role::startup;
        if (contains(part, "backward")) return phase_role::backward;
        if (contains(part, "optim")) return phase_role::optimizer;
        if (contains(part, "forward") || contains(part, "loss") || part == "evaluation") return phase_role::forward;
        path.remove_prefix(std::min(path.size(), part.size() + 1));
    }
    return phase_role::other;
}

}  // namespace

birth_places::birth_places(const timeline& data, const attribution& att, const whole_steps& steps,
                           const timeline& original)
    : data_(data),
      att_(att),
      adoption_(data, att.adopt_pattern, extra_nodes_),
      places_(data, att, steps),
      segment_of_(data),
      exact_by_range_(data.ranges.size(), npos),
      modules_(data, att, original) {
    find_recurring(steps);
}

range_id birth_places::range_of(const memory_event& event) {
    if (const range_id own = att_.hidden.innermost_kept(data_, event.open); own != npos) return own;
    if (event.works_for != npos) {
        const work_parent& parent = data_.work_parents[event.works_for];
        return att_.hidden.innermost_kept(data_, parent.open);
    }
    if (event.thread == npos || !adoption_.works_for_others(event.thread)) return npos;
    const adoption found = adoption_.decide(event.time_ns, event.thread);
    if (found.kind == adoption::outcome::ambiguous) return owner_ambiguous;
    const auto own = static_cast<std::uint32_t>(data_.open_nodes.size());
    for (open_node_id node = found.open; node != npos;) {
        const open_node& at = node < own ? data_.open_nodes[node] : extra_nodes_[node - own];
        if (!att_.hidden.contains(data_.ranges[at.range])) return at.range;
        node = at.below;
    }
    return npos;
}

std::uint32_t birth_places::exact_of(range_id range) {
    if (range == npos || !is_range(range) || exact_.size() >= most_exact) return 0;
    if (exact_by_range_[range] != npos) return exact_by_range_[range];
    std::vector<range_id> unknown;
    range_id at = range;
    for (; at != npos && is_range(at) && exact_by_range_[at] == npos; at = att_.parent[at]) unknown.push_back(at);
    std::uint32_t above = at != npos && is_range(at) ? exact_by_range_[at] : 0;
    for (auto next = unknown.rbegin(); next != unknown.rend(); ++next) {
        if (places_.adds_to_path(*next)) {
            const std::string name = segment_of_(data_.ranges[*next], false);
            if (name != exact_[above].name) {
                const auto [known, is_new] =
                    exact_below_.try_emplace({above, name}, static_cast<std::uint32_t>(exact_.size()));
                if (is_new) exact_.push_back({.path = texts_.of(path_below(exact_[above].path, name)), .name = name});
                above = known->second;
            }
        }
        exact_by_range_[*next] = above;
    }
    return above;
}

void birth_places::find_recurring(const whole_steps& steps) {
    for (const memory_event& event : data_.memory) {
        if (event.kind != memory_kind::allocated) continue;
        const std::uint32_t exact = exact_of(range_of(event));
        if (exact == 0) continue;
        exact_place& of = exact_[exact];
        const auto after = std::partition_point(steps.steps.begin(), steps.steps.end(),
                                                [&](const whole_step& each) { return each.start_ns <= event.time_ns; });
        const std::int64_t step = (after - steps.steps.begin()) - 1;
        of.recurs = of.recurs || (of.step != -2 && of.step != step);
        if (of.step == -2) of.step = step;
    }
    // What never recurs is folded only where there is much of it.
    const auto single = static_cast<std::size_t>(
        std::count_if(exact_.begin(), exact_.end(), [](const exact_place& each) { return !each.recurs; }));
    if (single > most_single) return;
    for (exact_place& each : exact_) each.recurs = true;
}

std::uint32_t birth_places::place_of(const memory_event& event) {
    const range_id range = range_of(event);
    if (range == owner_ambiguous) return ambiguous_place;
    const std::uint32_t exact = exact_of(range);
    if (exact != 0 && exact_[exact].recurs) return exact_bit | exact;
    return range == npos ? 0 : places_.of(range);
}

std::string birth_places::exact_path(const memory_event& event) {
    const std::uint32_t exact = exact_of(range_of(event));
    return exact == 0 ? path(place_of(event)) : exact_[exact].path;
}

std::string birth_places::path(std::uint32_t place) const {
    if (place == ambiguous_place) return std::string(ambiguous_text);
    return (place & exact_bit) != 0 ? exact_[place & ~exact_bit].path : places_.path(code_place_id(place));
}

std::string birth_places::phase(std::uint32_t place) const {
    const std::string all = path(place);
    return all.substr(0, all.find('/'));
}

phase_role birth_places::role_of(const memory_event& event, std::uint32_t place) {
    const auto [known, is_new] = roles_.try_emplace(place, phase_role::other);
    if (is_new) known->second = role_in(path(place));
    // Autograd's threads do nothing but backward.
    const bool is_autograd = event.thread != npos && adoption_.works_for_others(event.thread);
    return known->second == phase_role::other && is_autograd ? phase_role::backward : known->second;
}

const std::string& birth_places::module_of(const memory_event& event) {
    if (!modules_.is_recorded() || event.thread == npos) return no_module_;
    return modules_.at(event.thread, event.time_ns);
}

}  // namespace prof
