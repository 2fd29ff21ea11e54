// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/step_parts.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "analysis/projection/segment.hpp"
#include "base/near_search.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

// The compiler's phase, or the one in it that says what is compiled. A program without other phases may have these.
bool is_of_compiler(const timeline& data, const timeline_range& range) {
    const auto compiles = [&](const timeline_range& of) {
        return is_phase(data, of) && data.name(of.name) == compilation_phase;
    };
    return compiles(range) || (range.parent != npos && compiles(data.ranges[range.parent]));
}

// Of ranges that are visited inside out, the outermost phase below the step.
class outermost_phase {
public:
    outermost_phase(const timeline& data, const whole_steps& steps)
        : data_(data), is_below_step_(steps.source != step_source::observed) {}

    void visit(range_id index) {
        const timeline_range& range = data_.ranges[index];
        if (!is_phase(data_, range)) return;
        const std::string_view name = data_.name(range.name);
        if (name == step_phase) {
            is_below_step_ = true;
        } else if (name != startup_phase && !(range.has_phases && outermost_ != npos)) {
            outermost_ = index;
        }
    }
    // npos: there is none.
    range_id range() const noexcept { return is_below_step_ ? outermost_ : npos; }

private:
    const timeline& data_;
    bool is_below_step_;
    range_id outermost_ = npos;
};

}  // namespace

bool is_named(const timeline& data, const timeline_range& range, const range_name& wanted) {
    const auto is_like = [](const std::string& pattern, const std::string& text) {
        return text == pattern || fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    };
    if (wanted.domain && !is_like(*wanted.domain, range.domain == 0 ? "default" : data.domains[range.domain].name)) {
        return false;
    }
    const std::string name(data.name(range.name));
    return is_like(wanted.name, name) || wanted.name == fold_digits(name);
}

bool is_step_range(const timeline& data, const timeline_range& range, const whole_steps& of) {
    const std::string_view name = data.name(range.name);
    if (is_phase(data, range)) return name == step_phase;
    if (name.starts_with("ProfilerStep#")) return true;
    if (const std::string_view step_range = data.property("step_range"); !step_range.empty()) {
        if (is_named(data, range, parse_range_name(step_range).value_or(range_name(std::string(step_range))))) {
            return true;
        }
    }
    return of.range_is_step && segment_text(data, range, true) == of.range;
}

step_parts::step_parts(const timeline& data, const attribution& att, const whole_steps& of, bool phases_only)
    : data_(data), att_(att), steps_(of) {
    has_phases_ = phases_only || std::any_of(data.ranges.begin(), data.ranges.end(), [&](const timeline_range& range) {
                      return is_phase(data, range) && !att.hidden.contains(range) &&
                             data.name(range.name) != startup_phase && !is_of_compiler(data, range);
                  });
}

step_parts::found_part step_parts::find(op_id op) {
    const found_part found = of_ranges(op);
    return found.part != 0 || has_phases_ ? found : found_part{of_operators(op), npos};
}

step_parts::found_part step_parts::find_on_host(range_id range, std::int64_t at_ns) {
    // From the inside, until visit() says that there is no more to find.
    const auto for_each_around = [&](auto&& visit) {
        for (range_id at = range; is_range(at); at = att_.parent[at]) {
            if (!data_.ranges[at].takes_part() || att_.hidden.contains(data_.ranges[at])) continue;
            if (!visit(at)) return;
        }
    };
    if (has_phases_) {
        outermost_phase found(data_, steps_);
        for_each_around([&](range_id at) {
            found.visit(at);
            return true;
        });
        return numbered_part(found.range());
    }
    const std::int64_t begin_ns = begin_of(step_at(at_ns));
    range_id outermost = npos;
    for_each_around([&](range_id at) {
        const bool is_inside = data_.ranges[at].start_ns >= begin_ns && !is_step(data_.ranges[at]);
        if (is_inside) outermost = at;
        return is_inside;
    });
    return numbered_part(outermost);
}

step_parts::found_part step_parts::of_ranges(op_id op) {
    const std::size_t step = has_phases_ ? 0 : step_of(op);
    const auto find = [&] { return numbered_part(has_phases_ ? phase_of(op) : range_of(op, step)); };
    if (att_.captured[op] != npos) return find();
    const open_node_id open = att_.open[op];
    const open_node_id adopted_open = att_.adopted_open[op];
    known_part& known = known_[(open + 31 * adopted_open) % known_.size()];
    if (known.open != open || known.adopted_open != adopted_open || known.step != step) {
        known = {open, adopted_open, step, find()};
    }
    return known.found;
}

std::uint32_t step_parts::of_operators(op_id op) {
    const call_id launch = data_.ops[op].launch;
    if (launch == npos) return 0;
    switch (autograd_part_of(data_.api_calls[launch].torch_open)) {
        case autograd_part::forward:
            return numbered("forward");
        case autograd_part::backward:
            return numbered("backward");
        case autograd_part::unknown:
        case autograd_part::none:
            break;
    }
    return 0;
}

// A backward node decides, however deep: checkpointing computes forward again in it.
step_parts::autograd_part step_parts::autograd_part_of(torch_node_id node) {
    autograd_parts_.resize(data_.torch_nodes.size());
    std::vector<torch_node_id> path;
    torch_node_id at = node;
    for (; at != npos && autograd_parts_[at] == autograd_part::unknown; at = data_.torch_nodes[at].below) {
        path.push_back(at);
    }
    autograd_part part = at == npos ? autograd_part::none : autograd_parts_[at];
    for (auto each = path.rbegin(); each != path.rend(); ++each) {
        const timeline_range& range = data_.ranges[data_.torch_nodes[*each].range];
        if (range.is_operator && part != autograd_part::backward) {
            const auto [known, is_new] = is_node_.try_emplace(range.name, false);
            if (is_new) known->second = is_backward_node(data_.name(range.name));
            if (known->second) {
                part = autograd_part::backward;
            } else if (range.sequence >= 0) {
                part = autograd_part::forward;
            }
        }
        autograd_parts_[*each] = part;
    }
    return part;
}

// The number of steps that had begun when the operation was launched.
std::size_t step_parts::step_of(op_id op) {
    const call_id launch = data_.ops[op].launch;
    return launch == npos ? 0 : step_at(data_.api_calls[launch].start_ns);
}

std::size_t step_parts::step_at(std::int64_t host_ns) {
    latest_step_ = partition_point_near(steps_.steps.size(), latest_step_, [&](std::size_t step) {
        return steps_.steps[step].host_start_ns() <= host_ns;
    });
    return latest_step_;
}

// `step`: as step_of() has it.
std::int64_t step_parts::begin_of(std::size_t step) const {
    return step == 0 ? INT64_MIN : steps_.steps[step - 1].host_start_ns();
}

range_id step_parts::phase_of(op_id op) {
    outermost_phase found(data_, steps_);
    // Inside out: what was open at a graph's capture is below what is open at its launch.
    for_each_replayed_range(att_, op, [&](replayed_id replayed) { found.visit(att_.replayed[replayed].range); });
    for_each_open_range(data_, att_, op, [&](range_id index) { found.visit(index); });
    return found.range();
}

// `step`: step_of() the operation.
range_id step_parts::range_of(op_id op, std::size_t step) {
    const std::int64_t begin_ns = begin_of(step);
    range_id outermost = npos;
    bool is_inside = true;
    for_each_replayed_range(att_, op, [&](replayed_id replayed) { outermost = att_.replayed[replayed].range; });
    for_each_open_range(data_, att_, op, [&](range_id index) {
        const timeline_range& range = data_.ranges[index];
        is_inside = is_inside && range.start_ns >= begin_ns && !is_step(range);
        if (is_inside) outermost = index;
    });
    return outermost;
}

step_parts::found_part step_parts::numbered_part(range_id range) {
    return range == npos ? found_part{} : found_part{numbered(data_.ranges[range]), range};
}

bool step_parts::is_step(const timeline_range& range) {
    const auto [found, is_new] = is_step_.try_emplace(range.name_key(), false);
    if (is_new) found->second = is_step_range(data_, range, steps_);
    return found->second;
}

std::uint32_t step_parts::numbered(const timeline_range& range) {
    const auto [known, is_new] = by_name_.try_emplace(range.name_key(), 0);
    if (is_new) {
        known->second = numbered(has_phases_ ? std::string(data_.name(range.name)) : segment_text(data_, range, true));
    }
    return known->second;
}

std::uint32_t step_parts::numbered(std::string text) {
    const auto [number, is_first] = by_text_.try_emplace(std::move(text), static_cast<std::uint32_t>(names_.size()));
    if (is_first) names_.push_back(number->first);
    return number->second;
}

}  // namespace prof
