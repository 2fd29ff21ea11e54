// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/launches.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "timeline/launched_ops.hpp"

namespace prof {
namespace {

bool is_wanted(traced_launch call, bool with_memory) noexcept {
    return call == traced_launch::kernel || (with_memory && call == traced_launch::transfer);
}

}  // namespace

std::vector<launch> find_launches(const hta_input& input, hta_scope scope, bool with_memory) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    traced_launches kind_of(input);
    const bool is_own = scope == hta_scope::all;
    std::vector<launch> out;
    for (const call_id i : data.api_calls.ids()) {
        const timeline_api_call& call = data.api_calls[i];
        const bool has_returned = call.end_ns != 0;
        if (call.op_count == 0 || (is_own && !has_returned) || !rows.has(call)) continue;
        if (!is_own && !is_wanted(kind_of(call), with_memory)) continue;
        const std::int64_t call_end_ns = has_returned ? call.end_ns : call.start_ns;
        const auto ops = ops_of(data, call);
        if (is_own && !with_memory && is_transfer(data.ops[ops.front()].kind)) continue;
        for (const op_id index : ops) {
            const gpu_op& op = data.ops[index];
            if (!is_own || index == ops.front()) {
                out.push_back({.call = i,
                               .first_op = index,
                               .cpu_ns = call_end_ns - call.start_ns,
                               .delay_ns = std::max<std::int64_t>(op.start_ns - call_end_ns, 0)});
            }
            out.back().gpu_ns += op.end_ns - op.start_ns;
        }
    }
    return out;
}

double quantile(const std::vector<std::int64_t>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const double below = std::floor(position);
    const auto low = static_cast<double>(sorted[static_cast<std::size_t>(below)]);
    const auto high = static_cast<double>(sorted[static_cast<std::size_t>(std::ceil(position))]);
    return low + (high - low) * (position - below);
}

}  // namespace prof
