// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/kernel_sums.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/hta/state_times.hpp"

namespace prof {
namespace {

std::string name_of(type_set types) {
    std::string out;
    for (std::size_t i = 0; i < kernel_types; ++i) {
        const auto type = static_cast<kernel_type>(i);
        if ((types & bit_of(type)) == 0) continue;
        if (!out.empty()) out += " overlapping ";
        out += to_string(type);
    }
    return out;
}

}  // namespace

std::vector<kernel_type_time> measure_types(const hta_input& input, hta_scope scope, bool with_memory) {
    const scope_rows rows(input, scope);
    type_classifier type_of(input.data, scope, input.op_name);
    state_times times(nullptr);
    for (const gpu_op& op : input.data.ops) {
        if (rows.has(op)) times.add(type_of(op), op.start_ns, op.end_ns);
    }
    if (!times.has_work()) return {};
    times.finish();
    type_set wanted = bit_of(kernel_type::computation) | bit_of(kernel_type::communication);
    if (with_memory) wanted |= bit_of(kernel_type::memory);
    std::map<type_set, std::int64_t> sums_ns;
    for (unsigned state = 0; state < 1U << kernel_types; ++state) {
        const auto of_these = static_cast<type_set>(state & wanted);
        const std::int64_t ns = times.of_state(static_cast<type_set>(state));
        if (of_these != 0 && ns != 0) sums_ns[of_these] += ns;
    }
    std::vector<kernel_type_time> out;
    out.reserve(sums_ns.size());
    for (const auto& [types, ns] : sums_ns) out.push_back({name_of(types), ns});
    std::stable_sort(out.begin(), out.end(),
                     [](const kernel_type_time& a, const kernel_type_time& b) { return a.sum_ns > b.sum_ns; });
    return out;
}

std::vector<kernel_sum> measure_kernels(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    type_classifier type_of(data, scope, input.op_name);
    std::map<std::pair<kernel_type, std::string>, kernel_sum> sums;
    std::unordered_map<name_id, kernel_sum*> by_symbol;  // of kernels, whose names are costly
    const auto sum_of = [&](const gpu_op& op) {
        kernel_sum& sum = sums[{type_of(op), input.op_name(op)}];
        return &sum;
    };
    for (const gpu_op& op : data.ops) {
        if (!rows.has(op)) continue;
        kernel_sum* sum = nullptr;
        if (op.kind == op_kind::kernel) {
            const auto [found, is_new] = by_symbol.try_emplace(name_id(data.kernels[op.detail].name), nullptr);
            if (is_new) found->second = sum_of(op);
            sum = found->second;
        } else {
            sum = sum_of(op);
        }
        sum->durations_ns.push_back(op.end_ns - op.start_ns);
        sum->sum_ns += op.end_ns - op.start_ns;
    }
    std::vector<kernel_sum> out;
    for (auto& [key, sum] : sums) {
        sum.type = key.first;
        sum.name = key.second;
        out.push_back(std::move(sum));
    }
    std::stable_sort(out.begin(), out.end(), [](const kernel_sum& a, const kernel_sum& b) {
        return a.type != b.type ? a.type < b.type : a.sum_ns > b.sum_ns;
    });
    return out;
}

}  // namespace prof
