// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/scope.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/steps/numbered_steps.hpp"
#include "base/ascii.hpp"

namespace prof {
namespace {

bool is_profiler_step(const timeline& data, const timeline_range& range) {
    constexpr std::string_view prefix = "ProfilerStep#";
    const std::string_view name = data.name(range.name);
    return range.style == range_style::push_pop && name.size() > prefix.size() && name.starts_with(prefix) &&
           name[prefix.size()] >= '0' && name[prefix.size()] <= '9';
}

// The latest start of a program's own step: on the host, and on each stream that worked for it. None if there are not
// two of different names.
std::optional<std::int64_t> last_own_step(const hta_input& input) {
    const timeline& data = input.data;
    std::set<std::string_view> names;
    row_values<range_id, bool> is_step(data.ranges.size());
    std::int64_t last_ns = INT64_MIN;
    for (const range_id i : data.ranges.ids()) {
        const timeline_range& range = data.ranges[i];
        if (input.hidden.contains(range) || !is_profiler_step(data, range)) continue;
        is_step[i] = true;
        names.insert(data.name(range.name));
        last_ns = std::max(last_ns, range.start_ns);
    }
    if (names.size() < 2) return std::nullopt;

    // A trace that was read says itself where its rows of the GPU have steps, if they have.
    if (!data.property("trace").empty()) return std::max(last_ns, data.number("last_step_on_gpu_ns").value_or(last_ns));

    std::optional<attribution> made;
    if (input.att == nullptr) made = attribute(data, input.attributed);
    const attribution& att = made ? *made : *input.att;
    // Operations come in order of their start: the first of a range on a stream is where the range's projection begins.
    std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        for_each_open_range(data, att, i, [&](range_id range) {
            if (!is_step[range]) return;
            const gpu_place& place = data.place_of(op);
            if (seen.emplace(range, std::uint64_t{place.device} << 32 | place.stream).second)
                last_ns = std::max(last_ns, op.start_ns);
        });
    }
    return last_ns;
}

std::optional<std::int64_t> start_of_last_step(const hta_input& input) {
    const numbered_steps numbered = number_steps(input.data, input.hidden);
    if (numbered.steps.empty()) return last_own_step(input);
    const bool differ = std::any_of(numbered.steps.begin(), numbered.steps.end(), [&](const numbered_step& step) {
        return step.number != numbered.steps.front().number;
    });
    if (!differ) return std::nullopt;
    return std::max_element(numbered.steps.begin(), numbered.steps.end(),
                            [](const numbered_step& a, const numbered_step& b) { return a.start_ns < b.start_ns; })
        ->start_ns;
}

}  // namespace

traced_launch hta_launch(std::string_view name) noexcept {
    if (name == "cudaLaunchKernel" || name == "cudaLaunchKernelExC") return traced_launch::kernel;
    if (name == "cuLaunchKernel" || name == "cuLaunchKernelEx") return traced_launch::driver_kernel;
    if (name == "cudaMemcpyAsync" || name == "cudaMemsetAsync") return traced_launch::transfer;
    return traced_launch::none;
}

traced_launch traced_launches::operator()(const timeline_api_call& call) {
    const auto [found, is_new] = known_.try_emplace(call_name_key(call), traced_launch::none);
    if (is_new && input_->call_name) found->second = hta_launch(input_->call_name(call));
    return found->second;
}

scope_rows::scope_rows(const hta_input& input, hta_scope scope) : input_(&input) {
    if (scope == hta_scope::hta) before_ns_ = start_of_last_step(input);
}

}  // namespace prof
