// SPDX-License-Identifier: Apache-2.0
#include "analysis/step_table/step_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/projection/same_things.hpp"
#include "analysis/projection/segment.hpp"

namespace prof {
namespace {

// Of ranges that are visited inside out, the outermost of the program's inside the step. `startup` is no part of a
// step, but of a recording.
class outermost_range {
public:
    outermost_range(const timeline& data, const whole_steps& steps, code_places& where, std::int64_t begin_ns)
        : data_(data), steps_(steps), where_(where), begin_ns_(begin_ns) {}

    void visit(range_id index) {
        const timeline_range& range = data_.ranges[index];
        is_inside_ = is_inside_ && range.start_ns >= begin_ns_ && !is_step_range(data_, range, steps_);
        if (is_inside_) visit_captured(index);
    }
    // One that was open at a graph's capture, which may have been before the step.
    void visit_captured(range_id index) {
        const timeline_range& range = data_.ranges[index];
        const bool is_row = !is_phase(data_, range) || data_.name(range.name) == startup_phase;
        if (is_row && where_.adds_to_path(index)) found = index;
    }

    range_id found = npos;

private:
    const timeline& data_;
    const whole_steps& steps_;
    code_places& where_;
    std::int64_t begin_ns_;
    bool is_inside_ = true;
};

}  // namespace

step_rows::step_rows(const timeline& data, const attribution& att, const whole_steps& of, code_places& where,
                     const row_tree& tree)
    : data_(data),
      att_(att),
      steps_(of),
      where_(where),
      tree_(tree),
      parts_(data, att, of),
      step_at_(of.steps),
      outer_of_(data.ranges.size(), npos) {
    if (parts_.are_phases()) take_names_of_the_program();
}

void step_rows::take_names_of_the_program() {
    std::map<step_row_id, std::uint64_t> calls;                           // by row
    std::map<std::pair<step_row_id, step_row_id>, std::uint64_t> around;  // row of a phase, of a range around it
    const auto length = [](const timeline_range& range) {
        return static_cast<double>(range.inside_until_ns() - range.start_ns);
    };
    for (const range_id i : data_.ranges.ids()) {
        const timeline_range& range = data_.ranges[i];
        if (range.style != range_style::push_pop || !range.takes_part() || att_.hidden.contains(range)) continue;
        if (step_at_.at(range.start_ns) == npos || continues_phase(data_, range)) continue;
        const found_row found = on_host(i, range.start_ns);
        if (found.range != i) continue;
        ++calls[found.row];
        if (!is_phase(data_, range)) continue;
        const range_id outer = outermost_around(att_.parent[i], step_at_.begun(range.start_ns));
        if (outer == npos || is_of_pytorch(data_.name(data_.ranges[outer].name))) continue;
        if (length(range) < share_of_phase * length(data_.ranges[outer])) continue;
        ++around[{found.row, row_of(outer, node_of_range(outer))}];
    }
    for (const auto& [rows, times] : around) {
        const auto [phase, range] = rows;
        const double least = share_of_calls * static_cast<double>(std::max(calls[phase], calls[range]));
        if (phase != range && static_cast<double>(times) >= least) name_phase(phase, range);
    }
}

// What belongs to the range's row belongs to the phase's from now on.
void step_rows::name_phase(step_row_id phase, step_row_id range) {
    numbers_[names_[range]] = phase;
    names_[phase] = names_[range];
    for (auto& [node, row] : by_node_) {
        if (row == range) row = phase;
    }
    of_ops_ = {};
    on_host_ = {};
}

range_id step_rows::outermost_around(range_id range, std::size_t step) {
    outermost_range outermost(data_, steps_, where_, begin_of(step));
    for (; is_range(range); range = att_.parent[range]) outermost.visit(range);
    return outermost.found;
}

step_rows::found_row step_rows::of_op(op_id op) {
    const call_id launch = data_.ops[op].launch;
    const std::size_t step = launch == npos ? 0 : step_at_.begun(data_.api_calls[launch].start_ns);
    const open_node_id open = att_.open[op];
    const open_node_id adopted_open = att_.adopted_open[op];
    const bool has_ranges = open != npos || adopted_open != npos;
    if (att_.captured[op] != npos || !has_ranges) return find(op, step);
    known_op_row& known = of_ops_[(open + 31 * adopted_open) % of_ops_.size()];
    if (known.open != open || known.adopted_open != adopted_open || known.step != step) {
        known = {open, adopted_open, step, find(op, step)};
    }
    return known.found;
}

step_rows::found_row step_rows::find(op_id op, std::size_t step) {
    const step_parts::found_part part = parts_.find(op);
    range_id range = execution_around(part.range);
    if (part.part == 0 && parts_.are_phases()) {
        outermost_range outermost(data_, steps_, where_, begin_of(step));
        for_each_replayed_range(att_, op,
                                [&](replayed_id replayed) { outermost.visit_captured(att_.replayed[replayed].range); });
        for_each_open_range(data_, att_, op, [&](range_id index) { outermost.visit(index); });
        range = outermost.found;
    }
    if (range == npos) return {part.part == 0 ? rest : numbered(parts_.name(part.part)), npos, npos};
    const row_tree::node_id node = node_of_replayed(op, range);
    return {row_of(range, node), range, node};
}

step_rows::found_row step_rows::on_host(range_id range, std::int64_t at_ns) {
    if (range == npos) return {};
    const std::size_t step = step_at_.begun(at_ns);
    known_host_row& known = on_host_[range % on_host_.size()];
    if (known.range == range && known.step == step) return known.found;
    known = {range, step, find_on_host(range, at_ns, step)};
    return known.found;
}

// A range has the row of the one around it, in so far as that began in this step, too: its answer is kept, so that the
// cost does not grow with the depth.
step_rows::found_row step_rows::find_on_host(range_id range, std::int64_t at_ns, std::size_t step) {
    const auto began_in_step = [&](range_id index) { return data_.ranges[index].start_ns >= begin_of(step); };
    const range_id parent = att_.parent[range];
    range_id outer = is_range(parent) && began_in_step(parent) ? outer_of_[parent] : npos;
    if (outer == npos || !adds_nothing(range)) outer = walk_on_host(range, at_ns, step);
    if (began_in_step(range)) outer_of_[range] = outer;
    if (outer == npos) return {};
    const row_tree::node_id node = node_of_range(outer);
    return {row_of(outer, node), outer, node};
}

// The range that makes the row; npos: there is none.
range_id step_rows::walk_on_host(range_id range, std::int64_t at_ns, std::size_t step) {
    const range_id outer = execution_around(parts_.find_on_host(range, at_ns).range);
    return outer == npos && parts_.are_phases() ? outermost_around(range, step) : outer;
}

// Whether the row is that of the range around it, if that has one.
bool step_rows::adds_nothing(range_id index) {
    const timeline_range& range = data_.ranges[index];
    return !is_phase(data_, range) && !range.has_phases && !parts_.is_step(range);
}

std::int64_t step_rows::begin_of(std::size_t step) const {
    return step == 0 ? INT64_MIN : steps_.steps[step - 1].host_start_ns();
}

// A jitted function's own phases are on the GPU: the host is in its execution, of which they are parts here.
range_id step_rows::execution_around(range_id range) const {
    while (range != npos && is_range(att_.parent[range]) && data_.ranges[att_.parent[range]].has_phases) {
        range = att_.parent[range];
    }
    return range;
}

// Of one that shares the row of a range around it, that one's.
row_tree::node_id step_rows::node_of_range(range_id range) const {
    for (range_id at = range; is_range(at); at = att_.parent[at]) {
        if (const row_tree::node_id node = tree_.node_of(at); node != npos) return node;
    }
    return npos;
}

// Where the range was open when the operation's graph was captured it has another node.
row_tree::node_id step_rows::node_of_replayed(op_id op, range_id range) const {
    row_tree::node_id node = npos;
    for_each_replayed_range(att_, op, [&](replayed_id replayed) {
        if (att_.replayed[replayed].range == range) node = tree_.node_of_replayed(replayed);
    });
    return node == npos ? node_of_range(range) : node;
}

step_row_id step_rows::row_of(range_id range, row_tree::node_id node) {
    if (node == npos) return numbered(segment_text(data_, data_.ranges[range], true));
    const auto [known, is_new] = by_node_.try_emplace(node, rest);
    if (is_new) known->second = numbered(tree_.nodes()[node].text);
    return known->second;
}

step_row_id step_rows::numbered(std::string_view name) {
    const auto add = [&](std::string_view text) {
        const auto [known, is_new] = numbers_.try_emplace(std::string(text), names_.end_id());
        if (is_new) names_.emplace_back(text);
        return known->second;
    };
    if (names_.size() < most_rows) return add(name);
    const auto known = numbers_.find(std::string(name));
    return known == numbers_.end() ? add(other_ranges_text) : known->second;
}

}  // namespace prof
