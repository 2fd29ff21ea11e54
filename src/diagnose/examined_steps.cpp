// SPDX-License-Identifier: Apache-2.0
#include "diagnose/examined_steps.hpp"

#include <algorithm>
#include <cstdint>

#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

constexpr std::size_t records_of_part = 400'000;
constexpr std::size_t least_steps_of_part = 16;
constexpr std::size_t calls_before = 2'048;  // of a part: a GPU's queue holds fewer
constexpr std::size_t calls_after = 256;

// The first of these that begins at or after a moment.
template <typename TEntity>
std::size_t first_from(const std::vector<TEntity>& all, std::int64_t ns) {
    const auto found = std::lower_bound(all.begin(), all.end(), ns,
                                        [](const TEntity& each, std::int64_t at) { return each.start_ns < at; });
    return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

graph_part part_around(const timeline& data, std::int64_t start_ns, std::int64_t end_ns, bool is_first, bool is_last) {
    const std::size_t first_call = first_from(data.api_calls, start_ns);
    const std::size_t end_call = std::min(first_from(data.api_calls, end_ns) + calls_after, data.api_calls.size());
    graph_part out{.first_call = call_id(first_call - std::min(first_call, calls_before)),
                   .end_call = call_id(end_call)};
    if (is_first) out.first_call = call_id(0);
    if (is_last) out.end_call = data.api_calls.end_id();
    const std::int64_t from_ns =
        out.first_call < data.api_calls.size() ? std::min(data.api_calls[out.first_call].start_ns, start_ns) : start_ns;
    std::size_t first_op = is_first ? 0 : first_from(data.ops, from_ns);
    std::size_t end_op = is_last ? data.ops.size() : first_from(data.ops, end_ns);
    for (call_id call = out.first_call; call < out.end_call; ++call) {
        for (const op_id op : ops_of(data, data.api_calls[call])) {
            first_op = std::min<std::size_t>(first_op, op);
            end_op = std::max<std::size_t>(end_op, op + std::size_t{1});
        }
    }
    out.first_op = op_id(first_op);
    out.end_op = op_id(end_op);
    return out;
}

examined_steps::examined_steps(const timeline& data, const attribution& att, std::string_view step_function,
                               const whole_steps* given)
    : steps(given != nullptr ? *given : steps_that_count(data, att, !step_function.empty())),
      host(data, att),
      where(data, att, steps),
      launching(data, att, host, where, steps.steps),
      captured(data),
      data_(data),
      att_(att) {
    divide();
}

dependency_graph examined_steps::graph_of(std::size_t part) const {
    const auto& [of, first_step, end_step] = parts_[part];
    whole_steps chosen = steps;
    chosen.steps.assign(joined_.begin() + static_cast<std::ptrdiff_t>(first_step),
                        joined_.begin() + static_cast<std::ptrdiff_t>(end_step));
    return {data_, att_, chosen, of, first_step};
}

void examined_steps::divide() {
    joined_ = dependency_graph::joined_steps(data_, steps.steps);
    const auto records_until = [&](std::int64_t ns) {
        return first_from(data_.api_calls, ns) + first_from(data_.ops, ns);
    };
    std::size_t count = 1;
    std::size_t before = 0;
    std::size_t records = 0;
    if (!joined_.empty()) {
        before = records_until(joined_.front().start_ns);
        records = records_until(joined_.back().end_ns) - before;
        count = std::clamp<std::size_t>(records / records_of_part, 1,
                                        std::max<std::size_t>(joined_.size() / least_steps_of_part, 1));
    }
    if (count == 1) {
        parts_.push_back({whole_of(data_), 0, joined_.size()});
        return;
    }
    // Ends where so many of the records have passed, but after enough steps.
    std::size_t first = 0;
    for (std::size_t i = 0; i < joined_.size(); ++i) {
        const std::size_t passed = records_until(joined_[i].end_ns) - before;
        const bool is_last = i + 1 == joined_.size();
        const bool is_full = passed * count >= (parts_.size() + 1) * records && i + 1 - first >= least_steps_of_part &&
                             joined_.size() - i > least_steps_of_part;
        if (!is_full && !is_last) continue;
        parts_.push_back(
            {part_around(data_, joined_[first].start_ns, joined_[i].end_ns, first == 0, is_last), first, i + 1});
        first = i + 1;
    }
}

}  // namespace prof
